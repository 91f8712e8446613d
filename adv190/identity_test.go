package adv190

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/identity"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

func rec(s *locktest.Server, e *lockwheel.Engine) bool { return s.Exists("lockwheel:engine:" + e.ID()) }

// E1: a rejection that passes.
func TestE1_ReadOnlyForAWhile_RecordBack(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{Name: "x"})
	locktest.Eventually(t, "rec", func() bool { return rec(s, e) })
	s.Do("CONFIG", "SET", "maxmemory", "1")
	require.Eventually(t, func() bool { return e.Stats().UnwrittenRecords > 0 }, 30*time.Second, 50*time.Millisecond)
	s.Do("CONFIG", "SET", "maxmemory", "0")
	s.Do("DEL", "lockwheel:engine:"+e.ID())
	at := time.Now()
	require.Eventually(t, func() bool { return rec(s, e) }, 90*time.Second, 50*time.Millisecond)
	t.Logf("back after %v", time.Since(at))
	require.Less(t, time.Since(at), 15*time.Second)
}

// E3: flood, then still told and answered.
func TestE3_Flood(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{Name: "x", CallTimeout: 3 * time.Second})
	o := s.Open(lockwheel.Options{Name: "y", CallTimeout: 3 * time.Second})
	h := locktest.Lock(t, e.Mutex("n"))
	ch := "lockwheel:engine:" + e.ID()
	locktest.Eventually(t, "listens", func() bool { return fmt.Sprint(s.Do("PUBSUB", "NUMSUB", ch)) == "["+ch+" 1]" })
	c := s.Client()
	texts := []string{"forced n", "forced nn", "forced ", "since x", "since 00000000-0000-4000-8000-000000000001 1 n", "forced " + strings.Repeat("k", 64<<10), strings.Repeat("z", 1<<20), "", "forced n\x00", "since 00000000-0000-4000-8000-000000000001 18446744073709551615 n"}
	for range 300 {
		var cmds rueidis.Commands
		for i := range 100 {
			cmds = append(cmds, c.B().Publish().Channel(ch).Message(texts[i%len(texts)]).Build())
		}
		c.DoMulti(context.Background(), cmds...)
	}
	require.NoError(t, h.Err())
	for range 20 {
		locktest.Eventually(t, "an answer", func() bool {
			hh, err := o.Mutex("n").Holder(t.Context())
			require.NoError(t, err)
			return !hh.Since.IsZero()
		})
	}
	at := time.Now()
	locktest.ForceUnlock(t, o.Mutex("n"))
	locktest.Receive(t, h.Done())
	t.Logf("told after %v, stats %+v", time.Since(at), e.Stats().Lost)
}

// E12/E13 kinds of hold told; forging does not extend.
func TestE13_ForgedLease(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{Name: "x", CallTimeout: 3 * time.Second})
	o := s.Open(lockwheel.Options{Name: "y", CallTimeout: 3 * time.Second})
	ch := "lockwheel:engine:" + e.ID()
	for name, m := range map[string]func(*lockwheel.Engine) lockwheel.Mutex{
		"plain":  func(e *lockwheel.Engine) lockwheel.Mutex { return e.Mutex("p") },
		"fair":   func(e *lockwheel.Engine) lockwheel.Mutex { return e.FairMutex("f") },
		"fenced": func(e *lockwheel.Engine) lockwheel.Mutex { return e.FencedMutex("fe") },
		"read":   func(e *lockwheel.Engine) lockwheel.Mutex { return e.RWMutex("r").RLocker() },
		"write":  func(e *lockwheel.Engine) lockwheel.Mutex { return e.RWMutex("w").Writer() },
	} {
		h := locktest.Lock(t, m(e), lockwheel.Lease(8*time.Second))
		h2, err := m(e).Lock(h.Context(), lockwheel.Lease(5*time.Second))
		require.NoError(t, err)
		locktest.Eventually(t, "listens", func() bool { return fmt.Sprint(s.Do("PUBSUB", "NUMSUB", ch)) == "["+ch+" 1]" })
		time.Sleep(1500 * time.Millisecond)
		d1, d2 := h.Deadline(), h2.Deadline()
		for range 20 {
			s.Do("PUBLISH", ch, "forced "+m(e).Name())
			time.Sleep(5 * time.Millisecond)
		}
		ttl := s.PTTL(m(e).Name())
		t.Log(name, "ttl", ttl, "deadlines moved", h.Deadline().Sub(d1), h2.Deadline().Sub(d2))
		require.NoError(t, h.Err())
		require.LessOrEqual(t, ttl, 6500*time.Millisecond)
		locktest.ForceUnlock(t, m(o))
		locktest.Receive(t, h.Done())
		locktest.Receive(t, h2.Done())
		require.ErrorIs(t, h.Unlock(t.Context()), lockwheel.ErrLost)
		require.ErrorIs(t, h2.Unlock(t.Context()), lockwheel.ErrLost)
	}
	mu := e.Multi(e.Mutex("m1"), e.Mutex("m2"), e.FairMutex("m3"))
	h, err := mu.Lock(t.Context())
	require.NoError(t, err)
	locktest.ForceUnlock(t, o.Mutex("m2"))
	locktest.Receive(t, h.Done())
	require.ErrorIs(t, h.Unlock(t.Context()), lockwheel.ErrLost)
	require.Eventually(t, func() bool { return !s.Exists("m1") && !s.Exists("m3") }, 5*time.Second, time.Millisecond)
}

// E14: odd receivers.
func TestE14_HolderOdd(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{Name: "x\n\"'<b>", PageAddress: "javascript:alert(1)"})
	o := s.Open(lockwheel.Options{Name: "y", Foreign: true})
	_, err := lockwheel.Mutex{}.Holder(t.Context())
	t.Log(err)
	var z lockwheel.Engine
	_, err = z.Mutex("a").Holder(t.Context())
	t.Log(err)
	_, err = o.Mutex("").Holder(t.Context())
	t.Log(err)
	_, err = o.Mutex("a").Holder(nil)
	t.Log(err)
	s.Do("SET", "str", "x")
	hh, err := o.Mutex("str").Holder(t.Context())
	t.Log(hh, err)
	h1 := locktest.Lock(t, e.RWMutex("r").RLocker())
	hh, err = o.RWMutex("r").RLocker().Holder(t.Context())
	t.Logf("%+v %v", hh, err)
	locktest.Eventually(t, "since", func() bool {
		hh, err = o.RWMutex("r").RLocker().Holder(t.Context())
		return err == nil && !hh.Since.IsZero()
	})
	h2 := locktest.Lock(t, o.RWMutex("r").RLocker())
	hh, err = o.RWMutex("r").RLocker().Holder(t.Context())
	t.Logf("two readers %+v %v", hh, err)
	_, _ = h1, h2
	locktest.Lock(t, e.Mutex("c"))
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			for range 5 {
				_, err := o.Mutex("c").Holder(t.Context())
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = o.Mutex("c").Holder(ctx)
	t.Log(err)
	// a record of garbage types
	id := "11111111-1111-4111-8111-111111111111"
	s.HoldAsOther("z", time.Minute)
	s.Do("DEL", "z")
	s.Do("HSET", "z", id+":7", 1)
	s.Do("SET", "lockwheel:engine:"+id, "string")
	hh, err = o.Mutex("z").Holder(t.Context())
	t.Logf("%+v %v", hh, err)
	s.Do("DEL", "lockwheel:engine:"+id)
	s.Do("HSET", "lockwheel:engine:"+id, "name", "\x1b[31mx\xff", "pid", 99)
	at := time.Now()
	hh, err = o.Mutex("z").Holder(t.Context())
	t.Logf("%+v %v %v", hh, err, time.Since(at))
	// negative thread
	s.Do("DEL", "z")
	s.Do("HSET", "z", id+":-7", 1)
	hh, err = o.Mutex("z").Holder(t.Context())
	t.Logf("%+v %v", hh, err)
	o.Close()
	_, err = o.Mutex("c").Holder(t.Context())
	t.Log(err)
}

// E9 secrets in PageAddress.
func TestE9_PageSecrets(t *testing.T) {
	for _, p := range []string{"http://user:p/s3cret@host/x", "http://user:p?s3cret@host/x", "http://user:p#s3cret@host/x", "http:/user:s3cret@host", "http:\\\\user:s3cret@host", "https://h/?password=s3cret", "//u:s3cret@h"} {
		t.Log(p, identity.CheckPage(p))
	}
}

// E20: Close at odd moments of the record's write, with a server that is frozen at that moment.
func TestE20_CloseDuringRecord_FrozenServer(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	for i := range 30 {
		e := s.Open(lockwheel.Options{Name: "x", CallTimeout: time.Second, Lease: 9 * time.Second})
		h := e.Mutex("n").LockAsync(t.Context())
		_ = h
		time.Sleep(time.Duration(i*10) * time.Millisecond) // the write is due at 0 and sent at 250
		s.Real.Pause()
		at := time.Now()
		if i%2 == 0 {
			e.Close()
		} else {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			e.Shutdown(ctx)
			cancel()
		}
		took := time.Since(at)
		s.Real.Continue()
		if took > 3*time.Second {
			t.Errorf("%d: Close took %v", i, took)
		}
		s.Do("DEL", "n")
	}
	time.Sleep(300 * time.Millisecond)
	t.Log(s.Do("KEYS", "*"))
}

// E21: quick open/close leaves no record.
func TestE21_OpenClose_NoRecordLeft(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	for i := range 200 {
		e := s.Open(lockwheel.Options{Name: "x"})
		if i%2 == 0 {
			go e.Mutex("n").TryLock(t.Context())
		}
		time.Sleep(time.Duration(i%10) * 30 * time.Millisecond)
		e.Close()
	}
	require.Empty(t, s.Do("KEYS", "lockwheel*"))
}
