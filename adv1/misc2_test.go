package adv1

import (
	"bytes"
	"context"

	"fmt"
	"log/slog"

	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// A: two unlocks of one lost hold
func TestLostTwice(t *testing.T) {
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	var lost, rel atomic.Int64
	e := s.OpenAt(p.Addr(), lockwheel.Options{Observer: lockwheel.Observer{Lost: func(string, error) { lost.Add(1) }, Released: func(string, time.Duration) { rel.Add(1) }}})
	h := locktest.Lock(t, e.Mutex("n"))
	p.Set(proxy.Commands, proxy.Hold)
	s.Do("DEL", "n")
	a, b := locktest.Unlocking(t.Context(), h), locktest.Unlocking(t.Context(), h)
	time.Sleep(100 * time.Millisecond)
	p.Heal()
	t.Log(<-a, <-b)
	e.Close()
	st := e.Stats()
	t.Log("observer lost", lost.Load(), "released", rel.Load(), "stats", st.Lost, st.LostAtUnlock, st.Released)
}

func stacks(substr string) int {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	return strings.Count(string(buf), substr)
}

// B: a ping in flight at Close with the caller's client
func TestPingAtClose(t *testing.T) {
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{p.Addr()}, PipelineMultiplex: -1, DisableRetry: true, DisableCache: true, ForceSingleClient: true})
	require.NoError(t, err)
	defer client.Close()
	e, err := lockwheel.Open(t.Context(), lockwheel.Options{Client: client, CallTimeout: 200 * time.Millisecond})
	require.NoError(t, err)
	p.Set(proxy.Both, proxy.Hold)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	t.Log(e.Ping(ctx))
	begin := time.Now()
	e.Close()
	t.Log("close took", time.Since(begin), "runPing goroutines left:", stacks("runPing"))
	p.Heal()
}

// C: lazy engines
func TestLazyOdd(t *testing.T) {
	addr := locktest.Unused(t)
	var log bytes.Buffer
	o := lockwheel.Options{Lazy: true, Redis: rueidis.ClientOption{InitAddress: []string{addr}, ForceSingleClient: true}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	e, err := lockwheel.Open(t.Context(), o)
	require.NoError(t, err)
	for n, err := range locktest.AllCalls(func() context.Context { c, _ := context.WithTimeout(t.Context(), 300*time.Millisecond); return c }(), e.Mutex("x")) {
		fmt.Println(n, err)
	}
	_, err = e.Mutex("x").Lock(t.Context(), lockwheel.Wait(50*time.Millisecond))
	fmt.Println("wait", err)
	_, err = e.FairMutex("x").TryLock(t.Context())
	fmt.Println("fair try", err)
	_, err = e.Multi(e.Mutex("x"), e.Mutex("y")).TryLock(t.Context())
	fmt.Println("multi try", err)
	_, err = e.Multi(e.Mutex("x"), e.Mutex("y")).Lock(t.Context(), lockwheel.Wait(50*time.Millisecond))
	fmt.Println("multi wait", err)
	fmt.Println("ping", e.Ping(t.Context()))
	fmt.Printf("status %+v\n", e.Status())
	for l, err := range e.Locks(t.Context()) {
		fmt.Println("lock", l, err)
	}
	_, err = e.Mutex("{}").TryLock(t.Context())
	fmt.Println("braces", err)
	ps := e.Mutex("z").LockAsync(t.Context())
	done := locktest.Locking(t.Context(), e.Mutex("zz"))
	go e.Shutdown(t.Context())
	<-ps.Done()
	_, err = ps.Hold()
	fmt.Println("async", err)
	fmt.Println("lock", (<-done).Err)
	begin := time.Now()
	fmt.Println(e.Close(), time.Since(begin))
	fmt.Println(log.String())

}

// D: Observer functions that close
func TestObserverCloses(t *testing.T) {
	for _, how := range []string{"close", "shutdown"} {
		s := locktest.RealServer(t)
		var e *lockwheel.Engine
		got := make(chan time.Duration, 10)
		var lost atomic.Int64
		e = s.Open(lockwheel.Options{CallTimeout: 500 * time.Millisecond, Observer: lockwheel.Observer{Acquired: func(n string, _ time.Duration) {
			if n == "b" {
				begin := time.Now()
				if how == "close" {
					e.Close()
				} else {
					c, cc := context.WithTimeout(context.Background(), 100*time.Millisecond)
					fmt.Println(e.Shutdown(c))
					cc()
				}
				got <- time.Since(begin)
			}
		}, Lost: func(string, error) { lost.Add(1) }}})
		h := locktest.Lock(t, e.Mutex("a"))
		ctx := h.Context()
		h2, err := e.Mutex("b").Lock(t.Context())
		require.NoError(t, err)
		<-ctx.Done()
		fmt.Println(how, <-got, h.Err(), h2.Err(), context.Cause(ctx))
		time.Sleep(100 * time.Millisecond)
		fmt.Println("lost told", lost.Load(), e.Stats().DroppedEvents)
	}
}

// E: wait limits on a silent server
func TestWaitsEnd(t *testing.T) {
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	e := s.OpenAt(p.Addr(), lockwheel.Options{CallTimeout: time.Second, Lease: 3 * time.Second})
	h := locktest.Lock(t, e.Mutex("held"))
	p.Set(proxy.Both, proxy.Hold)
	took := func(n string, f func() error) {
		begin := time.Now()
		err := f()
		fmt.Println(n, time.Since(begin), err)
	}
	took("lock wait 50ms", func() error {
		_, err := e.Mutex("x").Lock(t.Context(), lockwheel.Wait(50*time.Millisecond))
		return err
	})
	took("trylock wait 50ms", func() error {
		_, err := e.Mutex("y").TryLock(t.Context(), lockwheel.Wait(50*time.Millisecond))
		return err
	})
	took("trylock", func() error { _, err := e.Mutex("y2").TryLock(t.Context()); return err })
	took("reentry lease wait 50ms", func() error {
		_, err := e.Mutex("held").Lock(h.Context(), lockwheel.Wait(50*time.Millisecond), lockwheel.Lease(time.Minute))
		return err
	})
	took("reentry try", func() error { _, err := e.Mutex("held").TryLock(h.Context(), lockwheel.Lease(time.Minute)); return err })
	took("extend", func() error { return h.Extend(t.Context(), time.Minute) })
	took("state", func() error { _, err := e.Mutex("x").State(t.Context()); return err })
	took("force", func() error { _, err := e.Mutex("x").ForceUnlock(t.Context()); return err })
	took("ping", func() error { return e.Ping(t.Context()) })
	took("unlock", func() error { return h.Unlock(t.Context()) })
	took("close", e.Close)
}
