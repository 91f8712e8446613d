package lifecycle_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

var heldLocks = flag.Int("held", 100_000, "how many locks TestHoldingCosts_FewBytesNoGoroutine holds")

// mostBytes is the maximum live heap of a held lock, with its hold and its name.
const mostBytes = 300

// A held lock needs few bytes and no goroutine.
func TestHoldingCosts_FewBytesNoGoroutine(t *testing.T) {
	n := *heldLocks
	if locktest.RaceEnabled {
		n = min(n, 20_000)
	}
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{Lease: time.Hour}) // what a renewal that waits or is under way takes is not counted
	locktest.HoldMany(t, e, 100)                     // to fill pools and open connections
	before, goroutines := locktest.LiveHeap(), runtime.NumGoroutine()
	holds := make([]*lockwheel.Hold, n)
	const workers = 64
	locktest.Crowd(t, workers, func(w int) (err error) {
		for i := w; i < n; i += workers {
			if holds[i], err = e.Mutex(fmt.Sprint("orders/", i)).Lock(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	locktest.Eventually(t, "nothing under way", func() bool { return e.Stats().InFlight == 0 })
	each := (int64(locktest.LiveHeap()) - int64(before)) / int64(n)
	t.Logf("%d watched locks held: %d bytes of live heap each, with holds and names; %d goroutines before, %d while held",
		n, each, goroutines, runtime.NumGoroutine())
	require.EqualValues(t, n+100, e.Stats().Held)
	require.Equal(t, int64(n+100), s.Do("DBSIZE"))
	// rueidis may have begun to pipeline on the connection meanwhile, which takes a few goroutines.
	locktest.Eventually(t, "no goroutine a lock", func() bool { return runtime.NumGoroutine() <= goroutines+8 })
	if locktest.RaceEnabled {
		return // a map of another size is filled otherwise, so the figure is another one
	}
	require.Less(t, each, int64(mostBytes))

	locktest.Crowd(t, workers, func(w int) error {
		for i := w; i < n; i += workers {
			if err := holds[i].Unlock(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	require.Equal(t, int64(100), s.Do("DBSIZE"))
	require.EqualValues(t, 100, e.Stats().Timers, "one for each that is still held")
	clear(holds)
	left := (int64(locktest.LiveHeap()) - int64(before)) / int64(n)
	t.Logf("%d bytes of live heap for each that was held", left)
	require.Less(t, left, int64(mostBytes/2))
}

// What is recorded of holds takes memory for each held lock. It prints how much.
func TestHoldingCosts_Notes_BytesOfEach(t *testing.T) {
	n := min(*heldLocks, 20_000)
	each := func(opts lockwheel.Options) int64 {
		opts.Lease = time.Hour
		e := locktest.RealServer(t).Open(opts)
		locktest.HoldMany(t, e, 100) // to fill pools and open connections
		holds := make([]*lockwheel.Hold, n)
		before := locktest.LiveHeap()
		const workers = 64
		locktest.Crowd(t, workers, func(w int) (err error) {
			for i := w; i < n; i += workers {
				if holds[i], err = e.Mutex(fmt.Sprint("orders/", i)).Lock(t.Context()); err != nil {
					return err
				}
			}
			return nil
		})
		locktest.Eventually(t, "nothing under way", func() bool { return e.Stats().InFlight == 0 })
		bytes := (int64(locktest.LiveHeap()) - int64(before)) / int64(n)
		require.NoError(t, e.Close()) // what it holds would be freed in the next round
		runtime.KeepAlive(holds)
		return bytes
	}
	nothing, leaks, sites := each(lockwheel.Options{}), each(lockwheel.Options{FindLeaks: true}), each(lockwheel.Options{CallSites: true})
	t.Logf("%d held locks: %d bytes each, %d with FindLeaks, %d with CallSites", n, nothing, leaks, sites)
	if !locktest.RaceEnabled {
		require.Less(t, leaks, nothing+200)
		require.Less(t, sites, nothing+300)
	}
}

// An engine with nothing due does not run its loop, whether it is new, holds locks or has a waiter.
func TestIdleEngine_NeverWakes(t *testing.T) {
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{Lease: time.Hour})
	late := 0 // on a busy machine a message may come in the middle of a window; then another window follows
	requireNoTurns := func(what string) {
		t.Helper()
		locktest.Eventually(t, "the last message taken in", func() bool {
			before := e.Stats().LoopTurns
			time.Sleep(50 * time.Millisecond)
			return e.Stats().LoopTurns == before+1
		})
		for ; ; late++ {
			before := e.Stats().LoopTurns
			time.Sleep(500 * time.Millisecond)
			turns := e.Stats().LoopTurns - before
			if turns == 1 { // that of the question
				return
			}
			require.Less(t, late, 3, "%s: %d turns", what, turns)
		}
	}
	requireNoTurns("fresh")
	holds := locktest.HoldMany(t, e, 1000)
	locktest.Eventually(t, "nothing under way", func() bool { return e.Stats().InFlight == 0 })
	requireNoTurns("a thousand held, nothing due")
	s.HoldAsOther("n", time.Hour)
	pending := e.Mutex("n").LockAsync(t.Context())
	locktest.RequireWaiting(t, e, 1, 1)
	requireNoTurns("one that waits for a message")
	pending.Cancel()
	for _, hold := range holds {
		locktest.Unlock(t, hold)
	}
	locktest.RequireIdle(t, e)
	requireNoTurns("after work")
}

var waiters = flag.Int("waiters", 100_000, "how many callers TestWaitingCosts_FewBytes has wait")

// A waiter of LockAsync needs few bytes, with its name: each on a name of its own or all on one.
func TestWaitingCosts_FewBytes(t *testing.T) {
	all := *waiters
	if locktest.RaceEnabled {
		all = min(all, 10_000)
	}
	type lockOf = func(e *lockwheel.Engine, name string) lockwheel.Mutex
	writer := func(e *lockwheel.Engine, name string) lockwheel.Mutex { return e.RWMutex(name).Writer() }
	reader := func(e *lockwheel.Engine, name string) lockwheel.Mutex { return e.RWMutex(name).RLocker() }
	for what, test := range map[string]struct {
		most         int64 // live heap
		n, names     int
		held, wanted lockOf
	}{
		"each on a name of its own":           {1100, all, 2 * all, (*lockwheel.Engine).Mutex, (*lockwheel.Engine).Mutex},
		"all on one":                          {600, all, 1, (*lockwheel.Engine).Mutex, (*lockwheel.Engine).Mutex},
		"each for a fair lock of its own":     {1500, all / 5, all, (*lockwheel.Engine).FairMutex, (*lockwheel.Engine).FairMutex},
		"each for the reader of its own name": {1500, all / 5, all, writer, reader},
	} {
		t.Run(what, func(t *testing.T) {
			s, n, names := locktest.RealServer(t), test.n, test.names
			name := func(i int) string { return fmt.Sprintf("orders/%07d", i%names) }
			// No lease is renewed meanwhile: renewals of all that the other engine holds would be under way as heap is
			// measured, if that takes ten seconds to come to.
			opts := lockwheel.Options{CallTimeout: 10 * time.Second, Lease: time.Hour}
			other, e := s.Open(opts), s.Open(opts)
			locktest.HoldMany(t, e, 100) // to fill pools and open connections
			early := n / 10              // connections, queues and buffers are there before the others wait
			const workers = 64
			locktest.Crowd(t, workers, func(w int) error {
				for i := w; i < min(names, n+early); i += workers {
					if _, err := test.held(other, name(i)).Lock(t.Context()); err != nil {
						return err
					}
				}
				return nil
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			pending := make([]*lockwheel.Pending, n+early)
			ask := func(from, to int) {
				for i := from; i < to; i++ {
					pending[i] = test.wanted(e, name(i)).LockAsync(ctx)
				}
				locktest.CheckRange(t, time.Minute, "each is asked for, and listened to", func() bool {
					got := e.Stats()
					return got.Waiting == int64(to) && got.Subscriptions >= int64(min(names, to)) && got.InFlight == 0
				})
			}
			ask(0, early)
			before := locktest.LiveHeap()
			ask(early, n+early)
			measure := func() int64 { return (int64(locktest.LiveHeap()) - int64(before)) / int64(n) }
			each := measure()
			for range 4 { // what the flood itself needed goes by and by on a busy machine
				each = min(each, measure())
			}
			t.Logf("%d callers wait, %s: %d bytes of live heap each, with names", n, what, each)
			if !locktest.RaceEnabled {
				require.LessOrEqual(t, each, test.most)
			}
			runtime.KeepAlive(pending)
		})
	}
}
