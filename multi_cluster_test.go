package lockwheel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// In a cluster the locks of one slot are one call; locks of several slots are acquired sequentially.
func TestAMultiInAClusterIsOneCallASlot(t *testing.T) {
	t.Parallel()
	r := newClusterEnv(t, 0)
	e, other := r.open(lockwheel.Options{}), r.open(lockwheel.Options{})
	names := [][]string{{"{s}a", "{s}b", "{s}c"}, r.spreadNames(6)}
	for i, want := range []int{1, 6} {
		before := r.calls("evalsha", "eval")
		hold := lockAll(t, multi(e, names[i]...))
		require.Equal(t, before+want, r.calls("evalsha", "eval"))
		waiting := lockingAll(t.Context(), multi(other, names[i][2], names[i][1]))
		queued(t, other, 1)
		requireNoReply(t, waiting, 50*time.Millisecond)
		_, err := multi(other, names[i]...).TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		unlock(t, hold)
		unlock(t, granted(t, waiting))
	}
	for _, name := range append(names[0], names[1]...) {
		locked, err := e.Mutex(name).IsLocked(t.Context())
		require.NoError(t, err)
		require.False(t, locked, name)
	}
	requireIdle(t, e)
	requireIdle(t, other)
}
