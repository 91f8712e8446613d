package lockwheel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// Unlock returns when enough locks are released that another caller can acquire a majority. It does not wait for a
// server that does not reply, even if another one never had the lock.
func TestAnUnlockOfAQuorumWaitsForNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	const all, one, unwanted = "all are held", "one is missing", "one is missing, and not wanted"
	for _, name := range []string{all, one, unwanted} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := NewServerSet(t, 3)
			engines := p.Client(SlowToGiveUp)
			var opts []lockwheel.Option
			if name != all {
				p[2].HoldAsOther("n", Longer)
			}
			if name == unwanted {
				opts = append(opts, lockwheel.Lease(Longer))
			}
			hold := LockAll(t, Quorum(engines, "n"), opts...)
			Eventually(t, "all that can be had", func() bool { return engines[0].Stats().Held+engines[1].Stats().Held == 2 && p.Holders("n") == 3 })
			Eventually(t, "the third's answer", func() bool { return engines[2].Stats().InFlight == 0 })
			p[0].Pause(t)
			unlocked := make(chan error, 1)
			go func() { unlocked <- hold.Unlock(t.Context()) }()
			require.NoError(t, Receive(t, unlocked))
			Eventually(t, "it to be released", func() bool { return !p[1].Exists("n") })
		})
	}
}
