package kinds_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// mixedQuorum is a quorum of one lock of each kind, on five servers. The last one is shared by readers.
func mixedQuorum(engines []*lockwheel.Engine) lockwheel.Multi {
	return lockwheel.Quorum(engines[0].FairMutex("n"), engines[1].Mutex("n"), engines[2].FencedMutex("n"),
		engines[3].RWMutex("n").Writer(), engines[4].RWMutex("n").RLocker())
}

// The locks of a quorum can be of several kinds. Each excludes as its kind does, so the readers of one server do not
// make a majority.
func TestQuorum_KindsMixed_Exclusive(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 5)
	engines, others := p.Client(locktest.SlowToGiveUp), p.Client(locktest.SlowToGiveUp)
	hold := locktest.LockAll(t, mixedQuorum(engines))
	locktest.HeldBy(t, engines)
	require.Equal(t, 5, p.Holders("n"))
	require.True(t, p[2].Exists(locktest.TokenKeys+"{n}"), "a fencing token")
	require.Equal(t, "write", p[3].Hash("n")["mode"])
	locktest.Unlock(t, locktest.Lock(t, others[4].RWMutex("n").RLocker())) // beside the reader of the quorum
	inner, err := mixedQuorum(engines).TryLock(hold.Context())
	require.NoError(t, err, "its context re-enters each of them")
	locktest.Unlock(t, inner)
	require.Equal(t, 5, p.Holders("n"))
	require.NoError(t, hold.Err())

	_, err = mixedQuorum(others).TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	waiting := locktest.Locking(t.Context(), mixedQuorum(others))
	locktest.RequireNoReply(t, waiting, 50*time.Millisecond)
	require.NoError(t, hold.Extend(t.Context(), 0))
	locktest.Unlock(t, hold)
	next := locktest.Granted(t, waiting)
	require.NoError(t, next.Err())
	locktest.Unlock(t, next)
	locktest.Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })
	for _, e := range append(engines, others...) {
		locktest.RequireIdle(t, e)
	}
}

// A lock of each kind that was lost is acquired again, as long as the others are a majority.
func TestQuorum_KindsMixed_LostOnesBack(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 5)
	engines := p.Client(renewedOften)
	hold := locktest.LockAll(t, mixedQuorum(engines))
	locktest.HeldBy(t, engines)
	for i, s := range p {
		renewedOnAll(t, engines)
		s.Do("DEL", "n")
		locktest.Eventually(t, "the lost one again", func() bool { return s.Exists("n") })
		locktest.HeldBy(t, engines)
		require.NoError(t, hold.Err())
		require.Equal(t, uint64(1), engines[i].Stats().Lost)
	}
	locktest.Unlock(t, hold)
	locktest.Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })
}
