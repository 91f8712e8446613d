package lockwheel_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Unlock returns when so many are released that somebody else can have a majority: it does not wait for a server that is silent, also
// when another one never had the lock.
func TestAnUnlockOfAQuorumWaitsForNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	for name, missing := range map[string]bool{"all are held": false, "one is missing": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPanel(t, 3)
			engines := p.client(slowToGiveUp)
			if missing {
				p[2].occupy("n", longer)
			}
			hold := lockAll(t, quorum(engines, "n"))
			eventually(t, "all that can be had", func() bool { return engines[0].Stats().Held+engines[1].Stats().Held == 2 && p.holders("n") == 3 })
			require.NoError(t, p[0].real.Pause())
			t.Cleanup(func() { _ = p[0].real.Continue() })
			unlocked := make(chan error, 1)
			go func() { unlocked <- hold.Unlock(t.Context()) }()
			require.NoError(t, receive(t, unlocked))
			eventually(t, "it to be released", func() bool { return !p[1].exists("n") })
		})
	}
}
