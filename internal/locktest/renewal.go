package locktest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// ShortLease is the shortest lease that a busy machine mostly renews in time. Beside two busy loops a process was
// observed to stand still for 3 s, so what must not be lost has SteadyOptions or ShortLeaseOptions.
const ShortLease = 3 * time.Second

// ShortLeaseOptions renews often, and its lease does not expire within patience: only a renewal can notice a loss.
var ShortLeaseOptions = lockwheel.Options{Lease: 30 * time.Second, RenewInterval: 500 * time.Millisecond}

// SteadyLease is the lease of SteadyOptions: a machine that stands still for 4 s does not outlast it.
const SteadyLease = 7 * time.Second

// SteadyOptions renews so often that at least 6 s of its lease are left, for tests in which it also ends.
var SteadyOptions = lockwheel.Options{Lease: SteadyLease, RenewInterval: 500 * time.Millisecond}

// LongDeadline is a deadline for what takes such a lease.
const LongDeadline = 3 * TestDeadline

// RequireRenewed waits until holds were renewed several times, and requires that their keys live at least as long as
// the engine assumes.
func RequireRenewed(t testing.TB, s *Server, holds ...*lockwheel.Hold) {
	t.Helper()
	GoesOn(t, holds...)
	for _, hold := range holds {
		deadline := hold.Deadline()
		require.GreaterOrEqual(t, s.PTTL(hold.Name()), time.Until(deadline))
		require.NoError(t, hold.Err())
	}
}

// GoesOn waits until holds were renewed several times.
func GoesOn(t testing.TB, holds ...*lockwheel.Hold) {
	t.Helper()
	for range 3 {
		before := make([]time.Time, len(holds))
		for i, hold := range holds {
			before[i] = hold.Deadline()
		}
		for i, hold := range holds {
			Eventually(t, "a later deadline", func() bool { return hold.Deadline().After(before[i]) })
		}
	}
}

// Renewed is a time for which a hold with a brief lease lasts only if it is renewed.
const Renewed = ShortLease + ShortLease/2

// HoldMany acquires the locks h0, h1, … with a few goroutines.
func HoldMany(t testing.TB, e *lockwheel.Engine, n int) []*lockwheel.Hold {
	t.Helper()
	holds := make([]*lockwheel.Hold, n)
	const workers = 64
	Crowd(t, workers, func(w int) (err error) {
		for i := w; i < n; i += workers {
			if holds[i], err = e.Mutex(fmt.Sprint("h", i)).Lock(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	return holds
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
