package lifecycle_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
)

// redisson#2575, #4064, #3577, #5046: channels were never unsubscribed, and the pool of subscriptions was exhausted.
func TestSubscriber_ManyNames_OneConnection(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	names := s.Amount(long.Pick(5000, 20_000), 3000)
	holder, waiter := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	holds := locktest.HoldMany(t, holder, names)
	pending := make([]*lockwheel.Pending, names)
	for i, hold := range holds {
		pending[i] = waiter.Mutex(hold.Name()).LockAsync(t.Context())
	}
	locktest.RequireWaiting(t, waiter, int64(names), int64(names))
	require.Equal(t, 1, s.Subscribers())
	require.Len(t, s.Channels(), names)
	locktest.Crowd(t, 64, func(w int) error {
		for i := w; i < names; i += 64 {
			if err := holds[i].Unlock(t.Context()); err != nil {
				return err
			}
			<-pending[i].Done()
			hold, err := pending[i].Hold()
			if err != nil {
				return err
			}
			if err := hold.Unlock(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	locktest.Eventually(t, "no channel", func() bool { return len(s.Channels()) == 0 })
	locktest.RequireIdle(t, holder)
	locktest.RequireIdle(t, waiter)
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

// Cycles with contention, re-entry, leases and callers that leave end in the initial state. Not parallel: the test
// counts goroutines.
func TestEngine_ManyCycles_NothingLeft(t *testing.T) {
	s := locktest.RealServer(t)
	before := goleak.IgnoreCurrent()
	engines := []*lockwheel.Engine{s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})}
	rounds := 300
	if locktest.RaceEnabled {
		rounds = 80
	}
	cycle := func() {
		locktest.Crowd(t, 32, func(i int) error {
			for range rounds {
				locktest.OneOfMany(t.Context(), engines[i%2].Mutex(fmt.Sprint("n", rand.IntN(20))))
			}
			return nil
		})
		locktest.Eventually(t, "no key", func() bool { return s.Do("DBSIZE") == int64(0) })
		locktest.Eventually(t, "no channel", func() bool { return len(s.Channels()) == 0 })
		for _, e := range engines {
			locktest.RequireIdle(t, e)
		}
	}
	cycle()
	goroutines := runtime.NumGoroutine()
	cycle()
	locktest.Eventually(t, "no more goroutines than before", func() bool { return runtime.NumGoroutine() <= goroutines })
	for _, e := range engines {
		stats := e.Stats()
		require.Equal(t, stats.Acquired, stats.Released+stats.Lost)
		require.NoError(t, e.Close())
	}
	locktest.Eventually(t, "no goroutine left", func() bool { return goleak.Find(before) == nil })
}

// redisson PR #7251, #6832: nested holds left entries behind that were renewed for ever. Redisson's
// ReadLockEntryTest: no entry is left after as many releases as grants.
func TestEngine_NestedHolds_NothingLeft(t *testing.T) {
	t.Parallel()
	for kindName, kind := range locktest.Grantable() {
		t.Run(kindName, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			e := s.Open(lockwheel.Options{Lease: 3 * locktest.ShortLease}) // what is left would be renewed within locktest.Renewed
			for _, n := range []int{1, 2, 7, 50} {
				locktest.Crowd(t, 5, func(i int) error {
					return nested(lockwheel.WithOwner(t.Context()), kind(e, fmt.Sprint("n", i)), n)
				})
			}
			locktest.RequireIdle(t, e)
			s.RequireNoLock(t, e, nil)
			calls := s.Scripts()
			locktest.Always(t, locktest.Renewed, "quiet", func() bool { return s.Scripts() == calls })
		})
	}
}

// nested locks n times as one owner, and unlocks in random order.
func nested(me context.Context, m lockwheel.Mutex, n int) error {
	var holds []*lockwheel.Hold
	for range n {
		hold, err := m.Lock(me)
		if err != nil {
			return err
		}
		holds = append(holds, hold)
	}
	rand.Shuffle(n, func(i, j int) { holds[i], holds[j] = holds[j], holds[i] })
	for _, hold := range holds {
		if err := hold.Unlock(me); err != nil {
			return err
		}
	}
	return nil
}

// cozy-stack PR #4929, nitro PR #4060: a goroutine stayed for each lock that was lost, rejected or canceled. Not
// parallel: the test counts goroutines.
func TestEngine_AnyEndOfLock_NoGoroutineLeft(t *testing.T) {
	s := locktest.RealServer(t)
	for name, run := range map[string]func(t *testing.T, e *lockwheel.Engine){
		"unlocked": func(t *testing.T, e *lockwheel.Engine) { locktest.Unlock(t, locktest.Lock(t, e.Mutex("n"))) },
		"lost": func(t *testing.T, e *lockwheel.Engine) {
			hold := locktest.Lock(t, e.Mutex("n"))
			hold.Context()
			locktest.ForceUnlock(t, e.Mutex("n"))
			locktest.Receive(t, hold.Context().Done())
		},
		"never unlocked": func(t *testing.T, e *lockwheel.Engine) { locktest.Lock(t, e.Mutex("n")).Context() },
		"expired": func(t *testing.T, e *lockwheel.Engine) {
			hold, err := e.Mutex("n").Lock(t.Context(), lockwheel.Lease(20*time.Millisecond))
			if err == nil { // otherwise the hold had ended already
				locktest.Receive(t, hold.Done())
			}
		},
		"wait canceled": func(t *testing.T, e *lockwheel.Engine) {
			s.HoldAsOther("n", time.Hour)
			ctx, cancel := context.WithCancel(t.Context())
			waiting, pending := locktest.Locking(ctx, e.Mutex("n")), e.Mutex("n").LockAsync(ctx)
			locktest.Queued(t, e, 2)
			cancel()
			locktest.Receive(t, waiting)
			locktest.Receive(t, pending.Done())
		},
		"still waiting": func(t *testing.T, e *lockwheel.Engine) {
			s.HoldAsOther("n", time.Hour)
			e.Mutex("n").LockAsync(t.Context())
			locktest.RequireWaiting(t, e, 1, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			e := s.Open(lockwheel.Options{})
			run(t, e)
			require.NoError(t, e.Close())
			locktest.Eventually(t, "no goroutine left", func() bool { return goleak.Find(before) == nil })
			s.Do("FLUSHALL")
		})
	}
}
