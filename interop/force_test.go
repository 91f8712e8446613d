package interop

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// ForceUnlock takes the lock from a Java holder and wakes the waiters; the late unlock of that holder changes nothing.
func TestForceUnlock_ByGo_JavaLosesLock(t *testing.T) {
	t.Parallel()
	everyExclusion(t, func(t *testing.T, s *testEnv, x exclusion) {
		c, holds, waits := s.redisson(nil), s.engine(lockwheel.Options{}), s.engine(lockwheel.Options{})
		holder, other := c.owner("holder"), c.owner("other")
		holder.lock(x.held, "n")
		ours := locktest.Locking(t.Context(), x.wanted.mutex(waits, "n"))
		awaitWaiting(t, waits)
		locktest.ForceUnlock(t, x.held.mutex(holds, "n"))
		hold := requireGranted(t, ours) // by the message
		require.False(t, holder.state(x.held, "n").mine)
		holder.fail(illegalMonitorState, "unlock", x.held, "n")
		require.Equal(t, map[string]string{hold.ID(): "1"}, s.fields("n"), "the late unlock took nothing")
		locktest.Unlock(t, hold)

		holder.lock(x.held, "n")
		awaitNoListener(t, s, "n")
		javas := other.lockAsync(x.wanted, "n")
		awaitListening(t, s, "n", javas)
		locktest.ForceUnlock(t, x.held.mutex(holds, "n"))
		requireSuccess(t, javas)
		other.unlock(x.wanted, "n")

		was, err := x.held.mutex(holds, "n").ForceUnlock(t.Context())
		require.NoError(t, err)
		require.False(t, was)
	})
}

// The engine is subscribed because a request queues, so the message ends the hold, long before the first renewal
// would.
func TestForceUnlock_ByJava_GoWaitersWoken(t *testing.T) {
	t.Parallel()
	everyExclusion(t, func(t *testing.T, s *testEnv, x exclusion) {
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{})
		hold := locktest.Lock(t, x.held.mutex(e, "n"))
		waiting := locktest.Locking(t.Context(), x.wanted.mutex(e, "n"))
		awaitWaiting(t, e)
		require.True(t, o.force(x.held, "n"))
		receive(t, hold.Done())
		requireLost(t, hold)
		next := requireGranted(t, waiting)
		require.Equal(t, map[string]string{next.ID(): "1"}, s.fields("n"))
		locktest.Unlock(t, next)
		require.False(t, o.force(x.held, "n"))
	})
}

// Our side is not subscribed then: the next renewal finds out.
func TestForceUnlock_ByJava_RenewalFindsLoss(t *testing.T) {
	t.Parallel()
	everyExclusion(t, func(t *testing.T, s *testEnv, x exclusion) {
		c, e := s.redisson(nil), s.engine(lockwheel.Options{Lease: 3 * time.Second})
		taker, waiter := c.owner("taker"), c.owner("waiter")
		hold := locktest.Lock(t, x.held.mutex(e, "n"))
		waiting := waiter.lockAsync(x.wanted, "n")
		awaitListening(t, s, "n", waiting)
		require.True(t, taker.force(x.held, "n"))
		requireSuccess(t, waiting)
		receive(t, hold.Done())
		requireLost(t, hold)
		require.Equal(t, map[string]string{waiter.id(): "1"}, s.fields("n"), "what was lost did not come back")
		waiter.unlock(x.wanted, "n")
	})
}

// requireLost checks that a hold is lost, by everything that it reports.
func requireLost(t *testing.T, hold *lockwheel.Hold) {
	t.Helper()
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	require.ErrorIs(t, context.Cause(hold.Context()), lockwheel.ErrLost)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
}
