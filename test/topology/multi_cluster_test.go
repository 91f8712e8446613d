package topology_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// In a cluster the locks of one slot are one call; locks of several slots are acquired sequentially.
func TestCluster_Multi_OneCallPerSlot(t *testing.T) {
	t.Parallel()
	r := locktest.NewClusterEnv(t, 0)
	e, other := r.Open(lockwheel.Options{}), r.Open(lockwheel.Options{})
	names := [][]string{{"{s}a", "{s}b", "{s}c"}, r.SpreadNames(6)}
	for i, want := range []int{1, 6} {
		before := r.Calls("evalsha", "eval")
		hold := locktest.LockAll(t, locktest.Multi(e, names[i]...))
		require.Equal(t, before+want, r.Calls("evalsha", "eval"))
		waiting := locktest.Locking(t.Context(), locktest.Multi(other, names[i][2], names[i][1]))
		locktest.Queued(t, other, 1)
		locktest.RequireNoReply(t, waiting, 50*time.Millisecond)
		_, err := locktest.Multi(other, names[i]...).TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		locktest.Unlock(t, hold)
		locktest.Unlock(t, locktest.Granted(t, waiting))
	}
	for _, name := range append(names[0], names[1]...) {
		locked, err := e.Mutex(name).IsLocked(t.Context())
		require.NoError(t, err)
		require.False(t, locked, name)
	}
	locktest.RequireIdle(t, e)
	locktest.RequireIdle(t, other)
}

// An extension that only some of several locks get, because a node does not reply, leaves all of them watched.
func TestCluster_MultiExtendOfSome_WatchedAgain(t *testing.T) {
	t.Parallel()
	const watchdog = 30_000
	r := locktest.NewClusterEnv(t, 0)
	e := r.Open(lockwheel.Options{CallTimeout: 500 * time.Millisecond})
	silent := r.OwnerOf(r.SpreadNames(1)[0])
	var names [2]string // of the node that will not reply, and of another one
	for _, name := range r.SpreadNames(6) {
		i := 1
		if r.OwnerOf(name) == silent {
			i = 0
		}
		names[i] = name
	}
	hold := locktest.LockAll(t, locktest.Multi(e, names[0], names[1]))
	require.NoError(t, silent.Pause())
	err := hold.Extend(t.Context(), time.Hour)
	require.NoError(t, silent.Continue())
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	locktest.Eventually(t, "both are watched", func() bool {
		return r.OwnerOf(names[1]).Int(t, "PTTL", names[1]) <= watchdog && silent.Int(t, "PTTL", names[0]) <= watchdog
	})
	locktest.Unlock(t, hold)
}
