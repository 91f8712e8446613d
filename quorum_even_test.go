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
		p := newServerSet(t, n)
		engines := p.client(lockwheel.Options{})
		for taken := range n {
			hold, err := quorum(engines, "n").TryLock(t.Context())
			if n-taken > n/2 {
				require.NoError(t, err, "%d of %d have another holder", taken, n)
				unlock(t, hold)
			} else {
				require.Error(t, err, "%d of %d have another holder", taken, n)
			}
			eventually(t, "what was had to be released", func() bool { return p.holders("n") == taken })
			p[taken].HoldAsOther("n", time.Hour)
		}
	}
}

// A member that joins after the hold is watched again has the engine's lease, and not the one that was set before.
func TestAMemberThatJoinsAQuorumThatIsWatchedAgainIsWatched(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(fastOptions)
	p[1].HoldAsOther("n", time.Hour)
	hold := lockAll(t, quorum(engines, "n"), lockwheel.Lease(time.Minute))
	eventually(t, "no request for the second", func() bool { return engines[1].Stats().Waiting == 0 && engines[1].Stats().InFlight == 0 })
	p[1].do("DEL", "n")
	require.NoError(t, hold.Extend(t.Context(), 0))
	eventually(t, "the second", func() bool { return p[1].exists("n") && engines[1].Stats().Held == 1 })
	require.LessOrEqual(t, p[1].pttl("n"), shortLease)
	renewedSince(t, engines[1])
	unlock(t, hold)
}

// Servers that do not reply may do so later: the caller keeps waiting.
func TestAnOutageDoesNotEndTheWaitForAQuorum(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(fastOptions)
	for _, s := range p[:2] {
		require.NoError(t, s.real.Kill())
	}
	waiting := lockingAll(t.Context(), quorum(engines, "n"))
	requireNoReply(t, waiting, 2*shortLease)
	require.NoError(t, p[0].real.Restart())
	unlock(t, granted(t, waiting))
}
