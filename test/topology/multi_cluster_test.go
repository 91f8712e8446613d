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
		waiting := locktest.LockingAll(t.Context(), locktest.Multi(other, names[i][2], names[i][1]))
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
