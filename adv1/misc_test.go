package adv1

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/leader"
)

func TestMain(m *testing.M) { locktest.RunTests(m) }

type badTracer struct{ panicOn atomic.Value }

func (b *badTracer) CallStart(ctx context.Context, c lockwheel.TracedCall) context.Context {
	if b.panicOn.Load() == "start "+c.Op {
		panic("tracer")
	}
	return nil
}
func (b *badTracer) CallEnd(ctx context.Context, c lockwheel.TracedCall, h *lockwheel.Hold, err error) {
	if b.panicOn.Load() == "end "+c.Op {
		panic("tracer end")
	}
}

func try(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

func TestTracerPanicsAtUnlock(t *testing.T) {
	s := locktest.RealServer(t)
	tr := &badTracer{}
	tr.panicOn.Store("")
	e := s.Open(lockwheel.Options{Tracer: tr, Lease: time.Second})
	h := locktest.Lock(t, e.Mutex("n"))
	tr.panicOn.Store("start unlock")
	t.Log("panic:", try(func() { h.Unlock(t.Context()) }))
	t.Log("err:", h.Err(), e.Stats().Held)
	time.Sleep(2 * time.Second)
	t.Log("err after 2 leases:", h.Err(), e.Stats().Held)
	tr.panicOn.Store("")
	h.Unlock(t.Context())

	tr.panicOn.Store("start unlock")
	t.Log("do panic:", try(func() { e.Mutex("n").Do(t.Context(), func(context.Context) error { return nil }) }))
	t.Log(e.Stats().Held)
	tr.panicOn.Store("end unlock")
}

func TestCallSites(t *testing.T) {
	s := locktest.RealServer(t)
	var log bytes.Buffer
	o := lockwheel.Options{CallSites: true, HeldTooLong: 50 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	e := s.Open(o)
	e2 := s.Open(o)
	e3 := s.Open(o)
	show := func() {
		for _, x := range []*lockwheel.Engine{e, e2, e3} {
			for l, err := range x.Locks(t.Context()) {
				fmt.Println(l.Name, l.Kind, l.CallSite, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() {
		done <- leader.Run(ctx, e.Mutex("leader"), func(ctx context.Context, h *lockwheel.Hold) error { <-ctx.Done(); return nil }, leader.Options{})
	}()
	p := e.Mutex("async").LockAsync(ctx)
	<-p.Done()
	h, _ := p.Hold()
	q, err := lockwheel.Quorum(e.Mutex("q1"), e2.Mutex("q2"), e3.Mutex("q3")).Lock(ctx)
	require.NoError(t, err)
	defer q.Unlock(ctx)
	m, err := e.Multi(e.Mutex("m1"), e.FencedMutex("m2")).Lock(ctx)
	require.NoError(t, err)
	m3, err := e.Multi(e.Mutex("m3"), e.Mutex("m4")).Lock(ctx)
	require.NoError(t, err)
	l := e.Mutex("locker").Locker()
	l.Lock()
	go e.Mutex("do").Do(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil })
	time.Sleep(100 * time.Millisecond)
	show()
	h.Unlock(ctx)
	m.Unlock(ctx)
	m3.Unlock(ctx)
	l.Unlock()
	cancel()
	<-done
	e.Close()
	fmt.Println(log.String())
}

func TestHeldTooLongOnce(t *testing.T) {
	s := locktest.RealServer(t)
	var log bytes.Buffer
	o := lockwheel.Options{HeldTooLong: 100 * time.Millisecond, Lease: 600 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	e := s.Open(o)
	e2 := s.Open(lockwheel.Options{})
	h := locktest.Lock(t, e.Mutex("n"))
	ws := locktest.Locking(t.Context(), e.Mutex("n"))
	time.Sleep(500 * time.Millisecond)
	h2 := locktest.LockWith(t, h.Context(), e.Mutex("n"))
	time.Sleep(300 * time.Millisecond)
	require.EqualValues(t, 1, e.Stats().HeldTooLong)
	h.Unlock(t.Context())
	time.Sleep(300 * time.Millisecond)
	require.EqualValues(t, 1, e.Stats().HeldTooLong)
	h2.Unlock(t.Context())
	h = locktest.Granted(t, ws)
	time.Sleep(300 * time.Millisecond)
	require.EqualValues(t, 2, e.Stats().HeldTooLong)
	_, _ = e2.Mutex("n").TryLock(t.Context())
	h.Extend(t.Context(), time.Second)
	time.Sleep(300 * time.Millisecond)
	require.EqualValues(t, 2, e.Stats().HeldTooLong)
	h.Unlock(t.Context())
	// fixed lease
	h = locktest.Lock(t, e.Mutex("n"), lockwheel.Lease(5*time.Second))
	time.Sleep(300 * time.Millisecond)
	require.EqualValues(t, 3, e.Stats().HeldTooLong)
	h.Unlock(t.Context())
	fmt.Println(log.String())
}

func TestZeroAndNil(t *testing.T) {
	var e *lockwheel.Engine
	z := new(lockwheel.Engine)
	for name, f := range map[string]func(){
		"nil lock":     func() { _, err := e.Mutex("x").Lock(t.Context()); fmt.Println(err) },
		"nil stats":    func() { fmt.Println(e.Stats().Held) },
		"nil status":   func() { fmt.Println(e.Status()) },
		"nil ping":     func() { fmt.Println(e.Ping(t.Context())) },
		"nil close":    func() { fmt.Println(e.Close()) },
		"nil id":       func() { fmt.Println(e.ID()) },
		"nil multi":    func() { _, err := e.Multi().Lock(t.Context()); fmt.Println(err) },
		"zero multi":   func() { _, err := z.Multi(z.Mutex("a")).Lock(t.Context()); fmt.Println(err) },
		"zero ping":    func() { fmt.Println(z.Ping(t.Context())) },
		"zero close":   func() { fmt.Println(z.Close(), z.Shutdown(t.Context())) },
		"zero async":   func() { p := z.Mutex("a").LockAsync(t.Context()); <-p.Done(); _, err := p.Hold(); fmt.Println(err) },
		"zero locker":  func() { z.Mutex("a").Locker().Lock() },
		"zero mlocker": func() { lockwheel.Mutex{}.Locker().Lock() },
		"zero unlock":  func() { lockwheel.Mutex{}.Locker().Unlock() },
		"zero hold": func() {
			var h lockwheel.Hold
			fmt.Println(h.Err(), h.Unlock(t.Context()), h.Extend(t.Context(), 0), h.ID(), h.Name(), h.Token(), h.Deadline(), h.UnlockAsync().Err(), h.Unlock(nil))
			<-h.Done()
			<-h.Context().Done()
			fmt.Println(context.Cause(h.Context()))
		},
		"zero unlocking": func() {
			var u lockwheel.Unlocking
			fmt.Println(u.Err())
			select {
			case <-u.Done():
				fmt.Println("done")
			case <-time.After(100 * time.Millisecond):
				fmt.Println("zero Unlocking never done")
			}
		},
		"zero mutex": func() {
			for n, err := range locktest.AllCalls(t.Context(), lockwheel.Mutex{}) {
				fmt.Println(n, err)
			}
		},
		"zero mutex nil": func() {
			for n, err := range locktest.AllCalls(nil, lockwheel.Mutex{}) {
				fmt.Println(n, err)
			}
		},
		"zero rw": func() {
			for n, err := range locktest.AllCalls(t.Context(), lockwheel.RWMutex{}.Writer()) {
				fmt.Println(n, err)
			}
		},
		"leader zero":   func() { fmt.Println(leader.Run(t.Context(), lockwheel.Mutex{}, nil, leader.Options{})) },
		"leader nilctx": func() { fmt.Println(leader.Run(nil, lockwheel.Mutex{}, nil, leader.Options{})) },
		"leader closed": func() { fmt.Println(leader.Run(t.Context(), z.Mutex("x"), nil, leader.Options{})) },
		"leader nil":    func() { fmt.Println(leader.Run(t.Context(), nil, nil, leader.Options{})) },
		"withlabel nil": func() { lockwheel.WithLabel(nil, "x") },
		"histogram": func() {
			var h lockwheel.Histogram
			fmt.Println(h.Quantile(0.5), h.Quantile(-1), h.Quantile(2), h.Count())
		},
	} {
		if p := try(f); p != nil {
			fmt.Println(name, "PANIC", p)
		} else {
			fmt.Println(name, "ok")
		}
	}
}

func TestParseURLSecrets(t *testing.T) {
	secret := "s3cr3tPW"
	for _, u := range []string{
		"redis://user:" + secret + "@127.0.0.1:1",
		"redis://user:" + secret + "@127.0.0.1:1/x",
		"redis://user:" + secret + "%zz@127.0.0.1:1",
		"redis://user:" + secret + "@127.0.0.1:99999",
		"redis://user:" + secret + "@[::1:1",
		"redis://user:" + secret + "@host name:1",
		"redis://user:" + secret + "@127.0.0.1:1?db=" + secret,
		"redis://user:" + secret + "@127.0.0.1:1?addr=" + secret,
		"redis://user:" + secret + "@127.0.0.1:1?" + secret + "=1",
		"redis://user:" + secret + "@127.0.0.1:1?max_retries=x&" + secret,
		"redis:user:" + secret + "@127.0.0.1:1",
		"user:" + secret + "@127.0.0.1:1",
		secret + "://127.0.0.1:1",
		"redis://:" + secret + "@/0",
		"redis://user:" + secret + "@127.0.0.1:1?dial_timeout=" + secret,
		"redis://user:" + secret + "@127.0.0.1:1\x7f",
		"unix://user:" + secret + "@/tmp/x.sock",
		"redis://user:" + secret + "@" + secret + ".invalid:1",
		"rediss://user:" + secret + "@127.0.0.1:1?skip_verify=" + secret,
		"redis://user:" + secret + "@127.0.0.1:1?addr=user:" + secret + "@h:1",
		"redis://user:" + secret + "@127.0.0.1:1?client_name=" + secret,
		"redis://user:" + secret + "@127.0.0.1:1?protocol=" + secret,
		"redis://127.0.0.1:1/0;" + secret,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		_, err := lockwheel.ParseURL(u)
		_, err2 := lockwheel.Dial(ctx, u)
		cancel()
		for _, e := range []error{err, err2} {
			if e != nil && strings.Contains(e.Error(), secret) {
				fmt.Println("LEAK", u, e)
			}
		}
		fmt.Println(u, "=>", err, "|", err2)
	}
	_ = os.Stdout
	_ = errors.Is
}
