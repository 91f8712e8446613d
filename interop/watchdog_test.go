package interop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/redisson"
)

// watched is how long a watched lock is watched: more than two leases.
const watched = 2*deathLease + deathLease/2

func TestJavasWatchdogRenewsWhileGoWaits(t *testing.T) {
	everyExclusionAtOnce(t, func(t *testing.T, s *site, x exclusion) {
		o := s.redisson(redisson.Words{"watchdog": milliseconds(deathLease)}).owner("o")
		e := s.engine(lockwheel.Options{})
		o.lock(x.held, "n")
		waiting := locking(t.Context(), x.wanted.mutex(e, "n"))
		asleep(t, e)
		silent(t, waiting, watched)
		o.unlock(x.held, "n")
		unlock(t, granted(t, waiting))
	})
}

func TestGosWatchdogRenewsWhileJavaWaits(t *testing.T) {
	everyExclusionAtOnce(t, func(t *testing.T, s *site, x exclusion) {
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{Lease: deathLease})
		hold := lock(t, t.Context(), x.held.mutex(e, "n"))
		waiting := o.locking(x.wanted, "n")
		listening(t, s, "n", waiting)
		silent(t, waiting, watched)
		unlock(t, hold)
		succeeded(t, waiting)
		o.unlock(x.wanted, "n")
	})
}

// An explicit lease is the end on both sides: the lock is not renewed, and no other holder is granted it earlier.
func TestALeaseThatIsGivenEndsTheLockForTheOtherSide(t *testing.T) {
	const lease = time.Second
	everyExclusionAtOnce(t, func(t *testing.T, s *site, x exclusion) {
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{})
		o.succeed("lock", x.held, "n", redisson.Words{"lease": milliseconds(lease)})
		asked, left := time.Now(), s.lease()
		hold, err := x.wanted.mutex(e, "n").Lock(t.Context(), lockwheel.Lease(lease))
		require.NoError(t, err)
		require.Greater(t, time.Since(asked), left-early)
		o.fail(notYours, "unlock", x.held, "n")

		asked, left = time.Now(), s.lease()
		o.lock(x.held, "n")
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		require.Greater(t, time.Since(asked), left-early)
		o.unlock(x.held, "n")
	})
}
