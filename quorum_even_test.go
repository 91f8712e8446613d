package lockwheel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// Half is no majority: another caller may have the other half.
func TestHalfOfAnEvenQuorumIsNotEnough(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 4} {
		p := NewServerSet(t, n)
		engines := p.Client(lockwheel.Options{})
		for taken := range n {
			hold, err := Quorum(engines, "n").TryLock(t.Context())
			if n-taken > n/2 {
				require.NoError(t, err, "%d of %d have another holder", taken, n)
				Unlock(t, hold)
			} else {
				require.Error(t, err, "%d of %d have another holder", taken, n)
			}
			Eventually(t, "what was had to be released", func() bool { return p.Holders("n") == taken })
			p[taken].HoldAsOther("n", time.Hour)
		}
	}
}

// A member that joins after the hold is watched again has the engine's lease, and not the one that was set before.
func TestAMemberThatJoinsAQuorumThatIsWatchedAgainIsWatched(t *testing.T) {
	t.Parallel()
	p := NewServerSet(t, 3)
	engines := p.Client(fastOptions)
	p[1].HoldAsOther("n", time.Hour)
	hold := LockAll(t, Quorum(engines, "n"), lockwheel.Lease(time.Minute))
	Eventually(t, "no request for the second", func() bool { return engines[1].Stats().Waiting == 0 && engines[1].Stats().InFlight == 0 })
	p[1].Do("DEL", "n")
	require.NoError(t, hold.Extend(t.Context(), 0))
	Eventually(t, "the second", func() bool { return p[1].Exists("n") && engines[1].Stats().Held == 1 })
	require.LessOrEqual(t, p[1].PTTL("n"), ShortLease)
	renewedSince(t, engines[1])
	Unlock(t, hold)
}

// Servers that do not reply may do so later: the caller keeps waiting.
func TestAnOutageDoesNotEndTheWaitForAQuorum(t *testing.T) {
	t.Parallel()
	p := NewServerSet(t, 3)
	engines := p.Client(fastOptions)
	for _, s := range p[:2] {
		require.NoError(t, s.Real.Kill())
	}
	waiting := LockingAll(t.Context(), Quorum(engines, "n"))
	RequireNoReply(t, waiting, 2*ShortLease)
	require.NoError(t, p[0].Real.Restart())
	Unlock(t, Granted(t, waiting))
}
