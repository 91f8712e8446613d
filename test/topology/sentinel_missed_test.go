//go:build unix

package topology_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// uses reports whether a server is the master of an engine.
func uses(e *lockwheel.Engine, s *redistest.Server) bool {
	return allUp(e.Status(), []*redistest.Server{s})
}

// behindSentinelFirst opens an engine that asks the sentinels in their order, the one with the given number first.
func behindSentinelFirst(t *testing.T, w *redistest.Sentinels, first int, opts lockwheel.Options) *lockwheel.Engine {
	t.Helper()
	opts.Redis = rueidis.ClientOption{
		InitAddress: append(w.Addrs()[first:], w.Addrs()[:first]...), Sentinel: rueidis.SentinelOption{MasterSet: w.Name},
	}
	return locktest.OpenRetrying(t, opts)
}

// A sentinel that was down during a failover names the old master until the others tell it. An engine that connects to
// it meanwhile goes back to the old master (docs/clusters.md), which has no replica any more. When the engine follows
// again, it loses what it was granted there, also a lock that is not renewed; the holder at the next master keeps its
// lock.
func TestSentinel_MissedFailover_HolderAtNextKept(t *testing.T) {
	long.Only(t, "sentinels replace a master, and one of them does not know")
	t.Parallel()
	eachReplication(t, func(t *testing.T, opts lockwheel.Options) {
		opts.Replicas.Timeout = 100 * time.Millisecond // less than the other engine is at the old master
		w := redistest.StartSentinels(t, 2, 3)
		e, strays := behindSentinelFirst(t, w, 0, lockwheel.Options{}), behindSentinelFirst(t, w, 1, opts)
		old := w.Servers[0]
		require.NoError(t, w.Sentinels[2].Kill())
		require.NoError(t, old.Pause())
		next := w.AwaitMaster(t, old)
		locktest.Eventually(t, "both engines at the next master", func() bool { return uses(e, next) && uses(strays, next) })
		hold := locktest.Lock(t, e.Mutex("n"))

		require.NoError(t, old.Continue())
		require.NoError(t, w.Sentinels[2].Restart())
		require.NoError(t, w.Sentinels[1].Kill()) // so that the other engine asks the sentinel that missed the failover
		var second *lockwheel.Hold
		tooFew := false
		for until := time.Now().Add(3 * time.Second); second == nil && time.Now().Before(until); {
			var err error
			second, err = strays.Mutex("n").Lock(t.Context(), lockwheel.Lease(locktest.Longer), lockwheel.Wait(0))
			tooFew = tooFew || errors.Is(err, lockwheel.ErrNotReplicated)
		}
		t.Logf("granted by the old master as well: %v; rejected there: %v", second != nil, tooFew)
		locktest.Eventually(t, "the other engine follows again", func() bool { return uses(strays, next) })
		if second != nil {
			require.Zero(t, opts.Replicas.Min, "the old master has no replica")
			locktest.Receive(t, second.Done())
			require.ErrorIs(t, second.Err(), lockwheel.ErrLost)
		}
		require.NoError(t, hold.Err())
		locktest.Unlock(t, hold)
	})
}
