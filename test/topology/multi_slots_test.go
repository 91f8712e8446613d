package topology_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// kindsOfSlots are all kinds of lock, in the order of the slots of slotNames.
var kindsOfSlots = []string{"plain", "fenced", "fair", "writer", "reader"}

// slotNames returns a name for each kind, the first one for the kind at an index. Each is in another slot, and on
// another node than the one before. A Multi acquires them in this order.
func slotNames(r *locktest.ClusterEnv, first int) (names []string) {
	for i := range kindsOfSlots {
		slot := i%3*(16384/3+1) + 100*(i+1)
		kind := kindsOfSlots[(first+i)%len(kindsOfSlots)]
		names = append(names, fmt.Sprintf("%c{%s}/%s", 'a'+i, r.Key("t", slot), kind))
	}
	return names
}

// onNodes returns the keys of a cluster, without those that count fencing tokens.
func onNodes(r *locktest.ClusterEnv) (keys []string) {
	for _, s := range r.Nodes {
		for _, key := range s.Strings(r.T, "KEYS", "*") {
			if !strings.HasPrefix(key, locktest.TokenKeys) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// nothingOnNodes waits until no node has a key, except those that count fencing tokens.
func nothingOnNodes(t *testing.T, r *locktest.ClusterEnv) {
	t.Helper()
	locktest.Eventually(t, "nothing on any node", func() bool { return len(onNodes(r)) == 0 })
}

// Locks of all kinds, in different slots and on different nodes, are held as one: another caller gets none of them, the
// loss of one ends all, and an Unlock releases all.
func TestCluster_MultiOfSlots_HeldAsOne(t *testing.T) {
	t.Parallel()
	r := locktest.NewClusterEnv(t, 0)
	e, other := r.Open(locktest.SlowTimeouts), r.Open(locktest.SlowTimeouts)
	for first := range kindsOfSlots {
		names := slotNames(r, first)
		m := locktest.SeveralOf(e, names)
		hold := locktest.LockAll(t, m)
		for i, name := range names {
			owner := r.OwnerOf(name)
			require.Equal(t, 1, owner.Int(t, "EXISTS", name))
			if i > 0 {
				require.NotSame(t, r.OwnerOf(names[i-1]), owner, "on another node than the one before")
			}
			locktest.StateFailed(t, locktest.RivalOf(other, name))
		}
		_, err := locktest.SeveralOf(other, names).TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		require.NoError(t, hold.Err())
		locktest.Unlock(t, hold)
		nothingOnNodes(t, r)

		hold = locktest.LockAll(t, m)
		locktest.ForceUnlock(t, locktest.MutexOf(e, names[first]))
		locktest.Receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		require.ErrorContains(t, hold.Err(), names[first])
		nothingOnNodes(t, r)
		locktest.Unlock(t, locktest.LockAll(t, locktest.SeveralOf(other, names)))
	}
	locktest.RequireIdle(t, e)
	locktest.RequireIdle(t, other)
}

// The context of a Multi ends between two slots: it has the first lock, on one node, and waits for the second one on
// another node. The first is given back, no place in a queue is left, and the holder of the second keeps it.
func TestCluster_MultiCanceledBetweenSlots_FirstGivenBack(t *testing.T) {
	t.Parallel()
	r := locktest.NewClusterEnv(t, 0)
	cancelsBetweenSlots(t, r, r.Open(locktest.SlowTimeouts))
}

// cancelsBetweenSlots cancels Multis of an engine on a cluster. The kinds change places: each is once the first and
// once the second.
func cancelsBetweenSlots(t *testing.T, r *locktest.ClusterEnv, e *lockwheel.Engine) {
	t.Helper()
	other := r.Open(locktest.SlowTimeouts)
	for first := range kindsOfSlots {
		names := slotNames(r, first)
		held := locktest.Lock(t, locktest.RivalOf(other, names[1]))
		ctx, cancel := context.WithCancelCause(t.Context())
		waiting := locktest.Locking(ctx, locktest.SeveralOf(e, names))
		// It has the first for a quarter of a second. Then it waits for the second without it, which is as good here.
		locktest.Eventually(t, "it to wait for the second", func() bool { return locktest.Listens(e) })
		canceled(t, cancel, waiting)
		locktest.Eventually(t, "only what the other one holds", func() bool {
			return !slices.ContainsFunc(onNodes(r), func(key string) bool { return !strings.Contains(key, names[1]) })
		})
		require.NoError(t, held.Err())
		locktest.Unlock(t, held) // at once: a request that is left would be granted now
		nothingOnNodes(t, r)
		locktest.RequireIdle(t, e)
		locktest.Unlock(t, locktest.LockAll(t, locktest.SeveralOf(other, names)))
		locktest.Unlock(t, locktest.LockAll(t, locktest.SeveralOf(e, names)))
	}
	locktest.RequireIdle(t, e)
	locktest.RequireIdle(t, other)
	nothingOnNodes(t, r)
}

// replicaOf returns the replica of the master of a name.
func replicaOf(t *testing.T, r *locktest.ClusterEnv, name string) *redistest.Server {
	t.Helper()
	return r.Replica(t, r.OwnerOf(name))
}

// With Options.Replicas each of the locks is on the replica of its own node before the Multi is held. What a canceled
// call has is given back: while it waits for another holder, and while another node waits for its replica.
func TestCluster_MultiOfSlotsReplicated_CanceledGivenBack(t *testing.T) {
	t.Parallel()
	r := locktest.NewClusterEnv(t, 1)
	e := r.Open(patientReplicas)
	names := slotNames(r, 0)
	m := locktest.SeveralOf(e, names)
	hold := locktest.LockAll(t, m)
	for _, name := range names {
		c := replicaOf(t, r, name).Conn(t)
		_, err := c.Do("READONLY")
		require.NoError(t, err)
		there, err := c.Do("EXISTS", name)
		require.NoError(t, err)
		require.Equal(t, int64(1), there, "%s on its replica", name)
	}
	locktest.Unlock(t, hold)
	nothingOnNodes(t, r)
	cancelsBetweenSlots(t, r, e)

	replica := replicaOf(t, r, names[1])
	require.NoError(t, replica.Pause())
	t.Cleanup(func() { _ = replica.Continue() })
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	waiting := locktest.Locking(ctx, m)
	owner := r.OwnerOf(names[1])
	locktest.Eventually(t, "WAIT of the second", func() bool {
		return owner.Int(t, "EXISTS", names[1]) == 1 && strings.Contains(owner.String(t, "INFO", "clients"), "blocked_clients:1")
	})
	require.Equal(t, 1, r.OwnerOf(names[0]).Int(t, "EXISTS", names[0]), "the first is kept meanwhile")
	require.ErrorIs(t, canceled(t, cancel, waiting), lockwheel.ErrUnavailable)
	locktest.Eventually(t, "the first to be given back", func() bool { return r.OwnerOf(names[0]).Int(t, "EXISTS", names[0]) == 0 })
	require.NoError(t, replica.Continue())
	nothingOnNodes(t, r)
	locktest.RequireIdle(t, e)
	locktest.Unlock(t, locktest.LockAll(t, m))
	nothingOnNodes(t, r)
}
