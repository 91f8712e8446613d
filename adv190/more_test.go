package adv190

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
	"github.com/lockwheel/lockwheel/leader"
)

// E22: a stranger's record has huge fields.
func TestE22_HugeRecord_Memory(t *testing.T) {
	s := locktest.RealServer(t, "--proto-max-bulk-len", "512mb")
	o := s.Open(lockwheel.Options{Name: "y", CallTimeout: 3 * time.Second})
	id := "11111111-1111-4111-8111-111111111111"
	s.Do("HSET", "z", id+":7", 1)
	for _, f := range []string{"name", "program", "host", "page"} {
		s.Do("HSET", "lockwheel:engine:"+id, f, strings.Repeat("x", 16<<20))
	}
	s.Do("HSET", "lockwheel:engine:"+id, "pid", 99)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	h, err := o.Mutex("z").Holder(t.Context())
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	t.Logf("allocated %d MB, name %d", (after.TotalAlloc-before.TotalAlloc)>>20, len(h.Engine.Name))
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.Logf("kept %d MB while the Holder lives", (int64(after.HeapAlloc)-int64(before.HeapAlloc))>>20)
	runtime.KeepAlive(h)
}

// E23: the permission for the own channel is taken away and given while waiters listen.
func TestE23_ACLChanges(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.As(lockwheel.Options{Name: "x", Lease: time.Minute, CallTimeout: 3 * time.Second}, "~* &* +@all")
	o := s.Open(lockwheel.Options{Name: "y", Lease: time.Minute, CallTimeout: 3 * time.Second})
	a := locktest.Lock(t, e.Mutex("a"))
	b := locktest.Lock(t, o.Mutex("b"))
	q := locktest.Locking(t.Context(), e.Mutex("b"))
	ch := "lockwheel:engine:" + e.ID()
	locktest.Eventually(t, "listens", func() bool { return len(chans(s)) >= 2 })
	t.Log(chans(s))
	s.Do("ACL", "SETUSER", "limited", "resetchannels", "&redisson_lock__channel:*")
	locktest.Eventually(t, "resubscribed", func() bool {
		return strings.Contains(fmt.Sprint(chans(s)), "redisson_lock__channel:{b}") && !strings.Contains(fmt.Sprint(chans(s)), ch)
	})
	t.Log(chans(s), e.Stats().Polling)
	at := time.Now()
	locktest.Unlock(t, b)
	locktest.Unlock(t, locktest.Granted(t, q))
	t.Log("granted", time.Since(at))
	s.Do("ACL", "SETUSER", "limited", "allchannels")
	require.NoError(t, a.Err())
	at = time.Now()
	locktest.CheckRange(t, 70*time.Second, "told again", func() bool { return strings.Contains(fmt.Sprint(chans(s)), ch) })
	t.Log("own channel back after", time.Since(at))
	locktest.ForceUnlock(t, o.Mutex("a"))
	locktest.Receive(t, a.Done())
}

// E24: forces against locks that the holder's engine has just been granted: how often is one not told at once?
func TestE24_ForceAtGrant(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	e := s.OpenAt(p.Addr(), lockwheel.Options{Name: "x", Lease: 20 * time.Second, CallTimeout: 3 * time.Second})
	o := s.Open(lockwheel.Options{Name: "y", CallTimeout: 3 * time.Second})
	w := locktest.Lock(t, e.Mutex("warm"))
	ch := "lockwheel:engine:" + e.ID()
	locktest.Eventually(t, "listens", func() bool { return strings.Contains(fmt.Sprint(chans(s)), ch) })
	_ = w
	p.SetFor(proxy.Existing, proxy.Replies, proxy.Delay(5*time.Millisecond))
	p.SetFor(proxy.ExistingSubscribers, proxy.Replies, proxy.Pass)
	late := 0
	for i := range 60 {
		name := fmt.Sprint("n", i)
		q := locktest.Locking(t.Context(), e.Mutex(name))
		for !s.Exists(name) {
		}
		locktest.ForceUnlock(t, o.Mutex(name))
		h := locktest.Granted(t, q)
		select {
		case <-h.Done():
		case <-time.After(150 * time.Millisecond):
			late++
		}
		h.Unlock(t.Context())
	}
	t.Logf("of 60, %d were not told at once", late)
}

func TestLeader_Odd(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{Lease: 3 * time.Second})
	free := func() { locktest.Eventually(t, "free", func() bool { return !s.Exists("l") }) }
	done := make(chan struct{})
	go func() {
		defer close(done)
		leader.Run(t.Context(), e.Mutex("l"), func(ctx context.Context, h *lockwheel.Hold) error { runtime.Goexit(); return nil }, leader.Options{})
	}()
	<-done
	free()
	func() {
		defer func() { t.Log("nil work:", recover()) }()
		leader.Run(t.Context(), e.Mutex("l"), nil, leader.Options{})
	}()
	free()
	func() {
		defer func() { t.Log("zero mutex:", recover()) }()
		t.Log(leader.Run(t.Context(), lockwheel.Mutex{}, nil, leader.Options{}))
		t.Log(leader.Run(t.Context(), lockwheel.Multi{}, nil, leader.Options{}))
		t.Log(leader.Run(nil, lockwheel.Mutex{}, nil, leader.Options{}))
		t.Log(leader.Run(t.Context(), e.Mutex("l"), nil, leader.Options{Pause: -1}))
	}()
	// work unlocks the hold itself
	err := leader.Run(t.Context(), e.Mutex("l"), func(ctx context.Context, h *lockwheel.Hold) error {
		h.Unlock(ctx)
		return errors.New("mine")
	}, leader.Options{Ended: func(err error) { t.Log("ended", err) }})
	t.Log("self-unlocked:", err)
	// MaxHold
	e2 := s.Open(lockwheel.Options{Lease: 3 * time.Second, MaxHold: 500 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	n := 0
	err = leader.Run(ctx, e2.Mutex("l"), func(ctx context.Context, h *lockwheel.Hold) error {
		n++
		<-ctx.Done()
		return ctx.Err()
	}, leader.Options{Pause: 10 * time.Millisecond, Ended: func(err error) { t.Log("ended", n, err) }})
	t.Log("maxhold:", n, err)
	free()
	// engine closed
	err = leader.Run(t.Context(), e2.Mutex("l"), func(ctx context.Context, h *lockwheel.Hold) error {
		go e2.Close()
		<-ctx.Done()
		return ctx.Err()
	}, leader.Options{})
	t.Log("closed:", err)
}

func chans(s *locktest.Server) []any { return s.Do("PUBSUB", "CHANNELS").([]any) }

func TestE25_ForceAtGrantMulti(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	e := s.OpenAt(p.Addr(), lockwheel.Options{Name: "x", Lease: 20 * time.Second, CallTimeout: 3 * time.Second})
	o := s.Open(lockwheel.Options{Name: "y", CallTimeout: 3 * time.Second})
	locktest.Lock(t, e.Mutex("warm"))
	ch := "lockwheel:engine:" + e.ID()
	locktest.Eventually(t, "listens", func() bool { return strings.Contains(fmt.Sprint(chans(s)), ch) })
	p.SetFor(proxy.Existing, proxy.Replies, proxy.Delay(5*time.Millisecond))
	p.SetFor(proxy.ExistingSubscribers, proxy.Replies, proxy.Pass)
	late := 0
	for i := range 30 {
		name := fmt.Sprint("n", i)
		got := make(chan *lockwheel.Hold)
		go func() {
			h, _ := e.Multi(e.Mutex(name+"a"), e.Mutex(name), e.Mutex(name+"z")).Lock(t.Context())
			got <- h
		}()
		for !s.Exists(name) {
		}
		locktest.ForceUnlock(t, o.Mutex(name))
		h := <-got
		if h == nil {
			continue
		}
		select {
		case <-h.Done():
		case <-time.After(150 * time.Millisecond):
			late++
		}
		h.Unlock(t.Context())
	}
	t.Logf("of 30, %d were not told at once", late)
}
