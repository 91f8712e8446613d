package lockwheel_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// If no majority confirms an extension, the Quorum continues as before: its members are renewed, and lost ones are
// acquired again.
func TestAQuorumWhoseExtensionFailsIsStillWatched(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	hold, err := quorum(p.client(shortLeaseOptions), "n").Lock(t.Context())
	require.NoError(t, err)
	eventually(t, "all three", func() bool { return p.holders("n") == 3 })
	for _, s := range p[:2] {
		s.do("CLIENT", "PAUSE", testDeadline.Milliseconds(), "WRITE")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, hold.Extend(ctx, longer), lockwheel.ErrUnavailable)
	for _, s := range p[:2] {
		s.do("CLIENT", "UNPAUSE")
	}
	for _, s := range p {
		eventually(t, "the lease of a watched lock", func() bool { ttl := s.pttl("n"); return ttl > 0 && ttl <= shortLeaseOptions.Lease })
	}
	p[2].do("DEL", "n") // this member had confirmed the extension
	eventually(t, "it is back", func() bool { return p.holders("n") == 3 })
	require.NoError(t, hold.Err())
	unlock(t, hold)
	eventually(t, "nothing left", func() bool { return p.holders("n") == 0 })
}

// A successful extension ends the watching, as for a single lock: a lost member stays lost until the hold is watched
// again.
func TestAQuorumThatIsExtendedIsNoLongerWatched(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(shortLeaseOptions)
	hold, err := quorum(engines, "n").Lock(t.Context())
	require.NoError(t, err)
	heldByEach(t, engines)
	require.NoError(t, hold.Extend(t.Context(), longer))
	long := 0
	for _, s := range p {
		if s.pttl("n") > longer/2 {
			long++
		}
	}
	require.GreaterOrEqual(t, long, 2)
	require.Greater(t, time.Until(hold.Deadline()), longer/2)
	was, err := engines[0].Mutex("n").ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, was)
	always(t, 100*time.Millisecond, "it is not asked for", func() bool { return p.holders("n") == 2 })
	require.NoError(t, hold.Extend(t.Context(), 0))
	eventually(t, "it is back", func() bool { return p.holders("n") == 3 })
	unlock(t, hold)
}

// Extend returns how the hold ended. It does not report the release of the remaining members, which the caller did
// not request.
func TestAnExtensionByWhichAQuorumIsFoundLostSaysNothingElse(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(lockwheel.Options{})
	hold, err := quorum(engines, "n").Lock(t.Context(), lockwheel.Lease(longer))
	require.NoError(t, err)
	heldByEach(t, engines)
	for _, s := range p[:2] {
		s.do("DEL", "n")
	}
	p[2].do("CLIENT", "PAUSE", time.Minute.Milliseconds(), "WRITE") // it does not reply before the quorum releases it
	defer p[2].do("CLIENT", "UNPAUSE")
	err = hold.Extend(t.Context(), longer)
	require.ErrorIs(t, err, lockwheel.ErrLost)
	require.NotErrorIs(t, err, lockwheel.ErrNotHeld)
	require.Equal(t, hold.Err(), err)
}
