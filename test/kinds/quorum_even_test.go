package kinds_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// Half is no majority: another caller may have the other half.
func TestQuorum_HalfOfEven_NotEnough(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 4} {
		p := locktest.NewServerSet(t, n)
		engines := p.Client(lockwheel.Options{})
		for taken := range n {
			hold, err := tryQuorum(t, engines)
			if n-taken > n/2 {
				require.NoError(t, err, "%d of %d have another holder", taken, n)
				locktest.Unlock(t, hold)
			} else {
				require.Error(t, err, "%d of %d have another holder", taken, n)
			}
			locktest.Eventually(t, "what was had to be released", func() bool { return p.Holders("n") == taken })
			p[taken].HoldAsOther("n", time.Hour)
		}
	}
}

// A member that joins after the hold is watched again has the engine's lease, and not the one that was set before.
func TestQuorum_WatchedAgain_NewMemberWatched(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(locktest.ShortLeaseOptions)
	p[1].HoldAsOther("n", time.Hour)
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"), lockwheel.Lease(time.Minute))
	locktest.Eventually(t, "no request for the second", func() bool { return engines[1].Stats().Waiting == 0 && engines[1].Stats().InFlight == 0 })
	p[1].Do("DEL", "n")
	require.NoError(t, hold.Extend(t.Context(), 0))
	locktest.Eventually(t, "the second", func() bool { return p[1].Exists("n") && engines[1].Stats().Held == 1 })
	require.LessOrEqual(t, p[1].PTTL("n"), locktest.ShortLeaseOptions.Lease)
	renewedSince(t, engines[1])
	locktest.Unlock(t, hold)
}

// Servers that do not reply may do so later: the caller keeps waiting.
func TestQuorum_Outage_WaitGoesOn(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(fastOptions)
	for _, s := range p[:2] {
		require.NoError(t, s.Real.Kill())
	}
	waiting := locktest.Locking(t.Context(), locktest.Quorum(engines, "n"))
	locktest.RequireNoReply(t, waiting, 2*locktest.ShortLease)
	require.NoError(t, p[0].Real.Restart())
	locktest.Unlock(t, locktest.Granted(t, waiting))
}
