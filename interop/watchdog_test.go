package interop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redisson"
)

// watchTime is how long a watched lock is watched: more than two leases.
const watchTime = 2*crashLease + crashLease/2

// Java's watchdog renews the lock while Go waits for it.
func TestWatchdog_OfJava_GoWaits(t *testing.T) {
	everyExclusionParallel(t, func(t *testing.T, s *testEnv, x exclusion) {
		o := s.redisson(redisson.Fields{"watchdog": milliseconds(crashLease)}).owner("o")
		e := s.engine(lockwheel.Options{})
		o.lock(x.held, "n")
		waiting := locktest.Locking(t.Context(), x.wanted.mutex(e, "n"))
		awaitWaiting(t, e)
		locktest.RequireNoReply(t, waiting, watchTime)
		o.unlock(x.held, "n")
		locktest.Unlock(t, requireGranted(t, waiting))
	})
}

// A watched lock of Go is renewed while Java waits for it.
func TestWatchdog_OfGo_JavaWaits(t *testing.T) {
	everyExclusionParallel(t, func(t *testing.T, s *testEnv, x exclusion) {
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{Lease: crashLease})
		hold := locktest.Lock(t, x.held.mutex(e, "n"))
		waiting := o.lockAsync(x.wanted, "n")
		awaitListening(t, s, "n", waiting)
		locktest.RequireNoReply(t, waiting, watchTime)
		locktest.Unlock(t, hold)
		requireSuccess(t, waiting)
		o.unlock(x.wanted, "n")
	})
}

// An explicit lease is the end on both sides: the lock is not renewed, and no other holder is granted it earlier.
func TestLease_Explicit_OtherSideGrantedAtEnd(t *testing.T) {
	const lease = time.Second
	everyExclusionParallel(t, func(t *testing.T, s *testEnv, x exclusion) {
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{})
		o.succeed("lock", x.held, "n", redisson.Fields{"lease": milliseconds(lease)})
		asked, left := time.Now(), s.lease()
		hold, err := x.wanted.mutex(e, "n").Lock(t.Context(), lockwheel.Lease(lease))
		require.NoError(t, err)
		require.Greater(t, time.Since(asked), left-leaseTolerance)
		o.fail(illegalMonitorState, "unlock", x.held, "n")

		end := hold.Deadline()
		o.lock(x.held, "n")
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		require.False(t, time.Now().Before(end))
		o.unlock(x.held, "n")
	})
}
