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
	names := s.amount(long.Pick(5000, 20_000), 3000)
	holder, waiter := s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
	holds := holdMany(t, holder, names)
	pending := make([]*lockwheel.Pending, names)
	for i, hold := range holds {
		pending[i] = waiter.Mutex(hold.Name()).LockAsync(t.Context())
	}
	requireWaiting(t, waiter, int64(names), int64(names))
	require.Equal(t, 1, s.subscribers())
	require.Len(t, s.channels(), names)
	crowd(t, 64, func(w int) error {
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
	eventually(t, "no channel", func() bool { return len(s.channels()) == 0 })
	requireIdle(t, holder)
	requireIdle(t, waiter)
	require.Equal(t, int64(0), s.do("DBSIZE"))
}

// Cycles with contention, re-entry, leases and callers that leave end in the initial state. Not parallel: the test
// counts goroutines.
func TestManyCyclesLeaveNothing(t *testing.T) {
	s := RealServer(t)
	before := goleak.IgnoreCurrent()
	engines := []*lockwheel.Engine{s.open(lockwheel.Options{}), s.open(lockwheel.Options{})}
	rounds := 300
	if raceEnabled {
		rounds = 80
	}
	cycle := func() {
		crowd(t, 32, func(i int) error {
			for range rounds {
				oneOfMany(t.Context(), engines[i%2].Mutex(fmt.Sprint("n", rand.IntN(20))))
			}
			return nil
		})
		eventually(t, "no key", func() bool { return s.do("DBSIZE") == int64(0) })
		eventually(t, "no channel", func() bool { return len(s.channels()) == 0 })
		for _, e := range engines {
			requireIdle(t, e)
		}
	}
	cycle()
	goroutines := runtime.NumGoroutine()
	cycle()
	eventually(t, "no more goroutines than before", func() bool { return runtime.NumGoroutine() <= goroutines })
	for _, e := range engines {
		stats := e.Stats()
		require.Equal(t, stats.Acquired, stats.Released+stats.Lost)
		require.NoError(t, e.Close())
	}
	eventually(t, "no goroutine left", func() bool { return goleak.Find(before) == nil })
}

// oneOfMany uses a lock in one of several ways.
func oneOfMany(ctx context.Context, m lockwheel.Mutex) {
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
	for kindName, kind := range grantable() {
		t.Run(kindName, func(t *testing.T) {
			t.Parallel()
			s := RealServer(t)
			e := s.open(lockwheel.Options{Lease: shortLease})
			for _, n := range []int{1, 2, 7, 50} {
				crowd(t, 5, func(i int) error {
					return nested(lockwheel.WithOwner(t.Context()), kind(e, fmt.Sprint("n", i)), n)
				})
			}
			requireIdle(t, e)
			s.requireNoLock(t, e, nil)
			calls := s.scripts()
			always(t, renewed, "quiet", func() bool { return s.scripts() == calls })
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
		"unlocked": func(t *testing.T, e *lockwheel.Engine) { unlock(t, lock(t, e.Mutex("n"))) },
		"lost": func(t *testing.T, e *lockwheel.Engine) {
			hold := lock(t, e.Mutex("n"))
			hold.Context()
			forceUnlock(t, e.Mutex("n"))
			receive(t, hold.Context().Done())
		},
		"never unlocked": func(t *testing.T, e *lockwheel.Engine) { lock(t, e.Mutex("n")).Context() },
		"expired": func(t *testing.T, e *lockwheel.Engine) {
			hold, err := e.Mutex("n").Lock(t.Context(), lockwheel.Lease(20*time.Millisecond))
			if err == nil { // otherwise the hold had ended already
				receive(t, hold.Done())
			}
		},
		"wait cancelled": func(t *testing.T, e *lockwheel.Engine) {
			s.HoldAsOther("n", time.Hour)
			ctx, cancel := context.WithCancel(t.Context())
			waiting, pending := locking(ctx, e.Mutex("n")), e.Mutex("n").LockAsync(ctx)
			queued(t, e, 2)
			cancel()
			receive(t, waiting)
			receive(t, pending.Done())
		},
		"still waiting": func(t *testing.T, e *lockwheel.Engine) {
			s.HoldAsOther("n", time.Hour)
			e.Mutex("n").LockAsync(t.Context())
			requireWaiting(t, e, 1, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			e := s.open(lockwheel.Options{})
			run(t, e)
			require.NoError(t, e.Close())
			eventually(t, "no goroutine left", func() bool { return goleak.Find(before) == nil })
			s.do("FLUSHALL")
		})
	}
}
