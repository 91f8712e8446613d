package kinds_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// Unlock returns when enough locks are released that another caller can acquire a majority. It does not wait for a
// server that does not reply, even if another one never had the lock.
func TestQuorum_Unlock_WaitsForMajorityOnly(t *testing.T) {
	t.Parallel()
	const all, one, unwanted = "all are held", "one is missing", "one is missing, and not wanted"
	for _, name := range []string{all, one, unwanted} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := locktest.NewServerSet(t, 3)
			engines := p.Client(locktest.SlowToGiveUp)
			var opts []lockwheel.Option
			if name != all {
				p[2].HoldAsOther("n", locktest.Longer)
			}
			if name == unwanted {
				opts = append(opts, lockwheel.Lease(locktest.Longer))
			}
			hold := locktest.LockAll(t, locktest.Quorum(engines, "n"), opts...)
			locktest.Eventually(t, "all that can be had", func() bool { return engines[0].Stats().Held+engines[1].Stats().Held == 2 && p.Holders("n") == 3 })
			locktest.Eventually(t, "the third's answer", func() bool { return engines[2].Stats().InFlight == 0 })
			p[0].Pause(t)
			unlocked := make(chan error, 1)
			go func() { unlocked <- hold.Unlock(t.Context()) }()
			require.NoError(t, locktest.Receive(t, unlocked))
			locktest.Eventually(t, "it to be released", func() bool { return !p[1].Exists("n") })
		})
	}
}
