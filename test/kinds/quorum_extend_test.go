package kinds_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// If no majority confirms an extension, the Quorum continues as before: its members are renewed, and lost ones are
// acquired again.
func TestQuorum_ExtendFails_StillWatched(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	hold, err := locktest.Quorum(p.Client(locktest.ShortLeaseOptions), "n").Lock(t.Context())
	require.NoError(t, err)
	locktest.Eventually(t, "all three", func() bool { return p.Holders("n") == 3 })
	for _, s := range p[:2] {
		s.Do("CLIENT", "PAUSE", locktest.TestDeadline.Milliseconds(), "WRITE")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, hold.Extend(ctx, locktest.Longer), lockwheel.ErrUnavailable)
	for _, s := range p[:2] {
		s.Do("CLIENT", "UNPAUSE")
	}
	for _, s := range p {
		locktest.Eventually(t, "the lease of a watched lock", func() bool { ttl := s.PTTL("n"); return ttl > 0 && ttl <= locktest.ShortLeaseOptions.Lease })
	}
	p[2].Do("DEL", "n") // this member had confirmed the extension
	locktest.Eventually(t, "it is back", func() bool { return p.Holders("n") == 3 })
	require.NoError(t, hold.Err())
	locktest.Unlock(t, hold)
	locktest.Eventually(t, "nothing left", func() bool { return p.Holders("n") == 0 })
}

// A successful extension ends the watching, as for a single lock: a lost member stays lost until the hold is watched
// again.
func TestQuorum_Extended_NotWatched(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(locktest.ShortLeaseOptions)
	hold, err := locktest.Quorum(engines, "n").Lock(t.Context())
	require.NoError(t, err)
	locktest.HeldBy(t, engines)
	require.NoError(t, hold.Extend(t.Context(), locktest.Longer))
	long := 0
	for _, s := range p {
		if s.PTTL("n") > locktest.Longer/2 {
			long++
		}
	}
	require.GreaterOrEqual(t, long, 2)
	require.Greater(t, time.Until(hold.Deadline()), locktest.Longer/2)
	was, err := engines[0].Mutex("n").ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, was)
	locktest.Always(t, 100*time.Millisecond, "it is not asked for", func() bool { return p.Holders("n") == 2 })
	require.NoError(t, hold.Extend(t.Context(), 0))
	locktest.Eventually(t, "it is back", func() bool { return p.Holders("n") == 3 })
	locktest.Unlock(t, hold)
}

// A quorum that goes on after an extension of too few members is not lost, although one of these is.
func TestQuorum_ExtendFindsLossOfOne_NotLost(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(locktest.SlowToGiveUp)
	locktest.Eventually(t, "a quorum that goes on", func() bool { // on a busy machine one server may come too late to be in it
		hold, err := locktest.Quorum(engines, "n").Lock(t.Context(), lockwheel.Lease(locktest.Longer))
		require.NoError(t, err)
		locktest.HeldBy(t, engines)
		p[0].Do("DEL", "n")
		p[1].Do("CLIENT", "PAUSE", locktest.TestDeadline.Milliseconds(), "WRITE")
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		err = hold.Extend(ctx, locktest.Longer)
		p[1].Do("CLIENT", "UNPAUSE")
		if hold.Err() != nil {
			return false
		}
		require.ErrorIs(t, err, lockwheel.ErrUnavailable)
		require.NotErrorIs(t, err, lockwheel.ErrLost)
		locktest.Unlock(t, hold)
		return true
	})
}

// Extend returns how the hold ended. It does not report the release of the remaining members, which the caller did
// not request.
func TestQuorum_ExtendFindsLoss_OnlyLoss(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	hold, err := locktest.Quorum(engines, "n").Lock(t.Context(), lockwheel.Lease(locktest.Longer))
	require.NoError(t, err)
	locktest.HeldBy(t, engines)
	for _, s := range p[:2] {
		s.Do("DEL", "n")
	}
	p[2].Do("CLIENT", "PAUSE", time.Minute.Milliseconds(), "WRITE") // it does not reply before the quorum releases it
	defer p[2].Do("CLIENT", "UNPAUSE")
	err = hold.Extend(t.Context(), locktest.Longer)
	require.ErrorIs(t, err, lockwheel.ErrLost)
	require.NotErrorIs(t, err, lockwheel.ErrNotHeld)
	require.Equal(t, hold.Err(), err)
}
