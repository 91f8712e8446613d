//go:build adv

package adv

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// Quorums come and go while one server stands still for long: nothing may pile up.
func TestChurnStopped(t *testing.T) {
	set := locktest.NewServerSet(t, 3)
	es := set.Client(lockwheel.Options{Lease: 6 * time.Second})
	ctx, stop := context.WithTimeout(t.Context(), 25*time.Second)
	defer stop()
	var n, fails atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		locktest.Crowd(t, 100, func(i int) error {
			for ctx.Err() == nil {
				h, err := locktest.Quorum(es, fmt.Sprint("n", rand.IntN(60))).Lock(ctx, lockwheel.Wait(2*time.Second))
				if err != nil {
					fails.Add(1)
					continue
				}
				n.Add(1)
				if rand.IntN(3) == 0 {
					h.UnlockAsync()
				} else if err := h.Unlock(ctx); err != nil && ctx.Err() == nil {
					t.Log(err)
				}
			}
			return nil
		})
	}()
	look := func(when string) {
		s := es[0].Stats()
		t.Logf("%s: %d grants %d fails; waiting %d inflight %d timers %d held %d retries %d; goroutines %d heap %d kB", when, n.Load(), fails.Load(), s.Waiting, s.InFlight, s.Timers, s.Held, s.Retries, runtime.NumGoroutine(), locktest.LiveHeap()/1024)
	}
	time.Sleep(time.Second)
	look("running")
	require.NoError(t, set[0].Real.Pause())
	for range 7 {
		time.Sleep(2500 * time.Millisecond)
		look("stopped")
	}
	require.NoError(t, set[0].Real.Continue())
	time.Sleep(time.Second)
	look("again")
	<-done
	for _, e := range es {
		locktest.RequireIdle(t, e)
		addsUp(t, "churn", e)
	}
	look("end")
	for _, s := range set {
		require.Equal(t, int64(0), s.Do("DBSIZE"))
	}
}

// The same for Multis of one server that stands still: callers come and go.
func TestChurnMultiStopped(t *testing.T) {
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{Lease: 6 * time.Second})
	ctx, stop := context.WithTimeout(t.Context(), 15*time.Second)
	defer stop()
	done := make(chan struct{})
	var n, fails atomic.Int64
	go func() {
		defer close(done)
		locktest.Crowd(t, 60, func(i int) error {
			for ctx.Err() == nil {
				a, b := rand.IntN(1000), rand.IntN(1000)
				if a == b {
					continue
				}
				kind := e.Mutex
				if rand.IntN(2) == 0 {
					kind = e.FairMutex
				}
				cctx, cancel := context.WithTimeout(ctx, rand.N(20*time.Millisecond))
				h, err := e.Multi(e.Mutex(fmt.Sprint("p", a)), kind(fmt.Sprintf("%T%d", kind, b+2000*rand.IntN(2)))).Lock(cctx)
				if err == nil {
					n.Add(1)
					h.Unlock(cctx)
				} else {
					fails.Add(1)
				}
				cancel()
			}
			return nil
		})
	}()
	look := func(when string) {
		s := e.Stats()
		t.Logf("%s: %d grants %d fails; waiting %d inflight %d timers %d held %d retries %d; goroutines %d heap %d kB", when, n.Load(), fails.Load(), s.Waiting, s.InFlight, s.Timers, s.Held, s.Retries, runtime.NumGoroutine(), locktest.LiveHeap()/1024)
	}
	time.Sleep(time.Second)
	look("running")
	require.NoError(t, s.Real.Pause())
	for range 4 {
		time.Sleep(2500 * time.Millisecond)
		look("stopped")
	}
	require.NoError(t, s.Real.Continue())
	<-done
	look("again")
	locktest.RequireIdle(t, e)
	addsUp(t, "churn", e)
	look("end")
	locktest.Eventually(t, "no key", func() bool { return s.Do("DBSIZE") == int64(0) })
}
