package lockwheel_test

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
	"github.com/lockwheel/lockwheel/internal/long"
)

// Channels, entries, timers and goroutines are removed when they are no longer needed.

// redisson#2575, #4064, #3577, #5046: channels were never unsubscribed, and the pool of subscriptions was exhausted.
func TestManyNamesWaitOnOneSubscriber(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	names := s.Amount(long.Pick(5000, 20_000), 3000)
	holder, waiter := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	holds := HoldMany(t, holder, names)
	pending := make([]*lockwheel.Pending, names)
	for i, hold := range holds {
		pending[i] = waiter.Mutex(hold.Name()).LockAsync(t.Context())
	}
	RequireWaiting(t, waiter, int64(names), int64(names))
	require.Equal(t, 1, s.Subscribers())
	require.Len(t, s.Channels(), names)
	Crowd(t, 64, func(w int) error {
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
	Eventually(t, "no channel", func() bool { return len(s.Channels()) == 0 })
	RequireIdle(t, holder)
	RequireIdle(t, waiter)
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

// Cycles with contention, re-entry, leases and callers that leave end in the initial state. Not parallel: the test
// counts goroutines.
func TestManyCyclesLeaveNothing(t *testing.T) {
	s := RealServer(t)
	before := goleak.IgnoreCurrent()
	engines := []*lockwheel.Engine{s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})}
	rounds := 300
	if RaceEnabled {
		rounds = 80
	}
	cycle := func() {
		Crowd(t, 32, func(i int) error {
			for range rounds {
				OneOfMany(t.Context(), engines[i%2].Mutex(fmt.Sprint("n", rand.IntN(20))))
			}
			return nil
		})
		Eventually(t, "no key", func() bool { return s.Do("DBSIZE") == int64(0) })
		Eventually(t, "no channel", func() bool { return len(s.Channels()) == 0 })
		for _, e := range engines {
			RequireIdle(t, e)
		}
	}
	cycle()
	goroutines := runtime.NumGoroutine()
	cycle()
	Eventually(t, "no more goroutines than before", func() bool { return runtime.NumGoroutine() <= goroutines })
	for _, e := range engines {
		stats := e.Stats()
		require.Equal(t, stats.Acquired, stats.Released+stats.Lost)
		require.NoError(t, e.Close())
	}
	Eventually(t, "no goroutine left", func() bool { return goleak.Find(before) == nil })
}

// OneOfMany uses a lock in one of several ways.
func OneOfMany(ctx context.Context, m lockwheel.Mutex) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(rand.IntN(5000))*time.Microsecond)
	defer cancel()
	switch rand.IntN(6) {
	case 0:
		if hold, err := m.TryLock(ctx); err == nil {
			hold.Unlock(ctx)
		}
	case 1:
		m.LockAsync(ctx) // the hold is never taken
	case 2:
		if outer, err := m.Lock(ctx); err == nil {
			if inner, err := m.Lock(outer.Context()); err == nil {
				inner.Unlock(ctx)
			}
			outer.Unlock(ctx)
		}
	case 3:
		m.Lock(ctx, lockwheel.Lease(time.Duration(1+rand.IntN(20))*time.Millisecond)) // the hold is never unlocked
	case 4:
		if hold, err := m.Lock(ctx); err == nil {
			hold.Extend(ctx, time.Second)
			hold.Unlock(ctx)
		}
	case 5:
		if hold, err := m.Lock(ctx); err == nil {
			hold.Unlock(context.Background())
		}
	}
}

// redisson PR #7251, #6832: nested holds left entries behind that were renewed for ever. Redisson's
// ReadLockEntryTest: no entry is left after as many releases as grants.
func TestNestedHoldsLeaveNoEntry(t *testing.T) {
	t.Parallel()
	for kindName, kind := range Grantable() {
		t.Run(kindName, func(t *testing.T) {
			t.Parallel()
			s := RealServer(t)
			e := s.Open(lockwheel.Options{Lease: ShortLease})
			for _, n := range []int{1, 2, 7, 50} {
				Crowd(t, 5, func(i int) error {
					return nested(lockwheel.WithOwner(t.Context()), kind(e, fmt.Sprint("n", i)), n)
				})
			}
			RequireIdle(t, e)
			s.RequireNoLock(t, e, nil)
			calls := s.Scripts()
			Always(t, Renewed, "quiet", func() bool { return s.Scripts() == calls })
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
func TestNoGoroutineIsLeftHoweverALockEnds(t *testing.T) {
	s := RealServer(t)
	for name, run := range map[string]func(t *testing.T, e *lockwheel.Engine){
		"unlocked": func(t *testing.T, e *lockwheel.Engine) { Unlock(t, Lock(t, e.Mutex("n"))) },
		"lost": func(t *testing.T, e *lockwheel.Engine) {
			hold := Lock(t, e.Mutex("n"))
			hold.Context()
			ForceUnlock(t, e.Mutex("n"))
			Receive(t, hold.Context().Done())
		},
		"never unlocked": func(t *testing.T, e *lockwheel.Engine) { Lock(t, e.Mutex("n")).Context() },
		"expired": func(t *testing.T, e *lockwheel.Engine) {
			hold, err := e.Mutex("n").Lock(t.Context(), lockwheel.Lease(20*time.Millisecond))
			if err == nil { // otherwise the hold had ended already
				Receive(t, hold.Done())
			}
		},
		"wait cancelled": func(t *testing.T, e *lockwheel.Engine) {
			s.HoldAsOther("n", time.Hour)
			ctx, cancel := context.WithCancel(t.Context())
			waiting, pending := Locking(ctx, e.Mutex("n")), e.Mutex("n").LockAsync(ctx)
			Queued(t, e, 2)
			cancel()
			Receive(t, waiting)
			Receive(t, pending.Done())
		},
		"still waiting": func(t *testing.T, e *lockwheel.Engine) {
			s.HoldAsOther("n", time.Hour)
			e.Mutex("n").LockAsync(t.Context())
			RequireWaiting(t, e, 1, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			e := s.Open(lockwheel.Options{})
			run(t, e)
			require.NoError(t, e.Close())
			Eventually(t, "no goroutine left", func() bool { return goleak.Find(before) == nil })
			s.Do("FLUSHALL")
		})
	}
}
