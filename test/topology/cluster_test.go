package topology_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// Locks of all kinds work in a cluster, through every operation.
func TestCluster_Locks_Work(t *testing.T) {
	t.Parallel()
	r := locktest.NewClusterEnv(t, 1)
	t.Run("names of all slots are handed from engine to engine by message", func(t *testing.T) { r.T = t; r.HandsOver(t) })
	t.Run("names of one slot leave in one call", func(t *testing.T) { r.T = t; r.SharesCalls(t) })
	t.Run("a name with a channel in another slot is refused at once", func(t *testing.T) { r.T = t; r.RefusesBraces(t) })
	t.Run("clients that publish and subscribe as Redisson does are understood", func(t *testing.T) { r.T = t; r.SpeaksRedisson(t) })
	t.Run("every operation finds its node", func(t *testing.T) { r.T = t; r.FindsNodes(t) })
	t.Run("who writes and reads has all its keys in one slot, and leaves none", func(t *testing.T) { r.T = t; r.WritesAndReads(t) })
	t.Run("a node that forgot the scripts learns them again", func(t *testing.T) { r.T = t; r.LoadsScripts(t) })
	t.Run("a client of the caller's does as well", func(t *testing.T) { r.T = t; r.AcceptsClient(t) })
	t.Run("listeners elsewhere are seen", func(t *testing.T) { r.T = t; r.CountsListeners(t) })
}

// If the server does not know the sharded commands, or does not permit them, engines use PUBLISH, and the number of
// listeners is unknown.
func TestCluster_NoShardedPubSub_Publishes(t *testing.T) {
	long.Only(t, "it starts a cluster of its own")
	t.Parallel()
	r := locktest.NewClusterEnv(t, 0, "--user", "default", "on", "nopass", "~*", "&*", "+@all", "-pubsub|shardnumsub", "-spublish", "-ssubscribe")
	holder, waiter := r.Open(lockwheel.Options{}), r.Open(lockwheel.Options{})
	for _, name := range r.SpreadNames(12) {
		hold := locktest.Lock(t, holder.Mutex(name))
		waiting := locktest.Locking(t.Context(), waiter.Mutex(name))
		locktest.RequireWaiting(t, waiter, 1, 1)
		locktest.Unlock(t, hold)
		locktest.Unlock(t, locktest.Granted(t, waiting))
		locktest.RequireIdle(t, waiter)
	}
	require.NotZero(t, r.Calls("publish"))
	require.NotZero(t, r.Calls("subscribe"))
	r.CountsListeners(t)
}

// A container that restarted with an empty disk is a node of no cluster. Any one node that knows of slots is enough.
func TestCluster_NodeWithoutSlots_Opens(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 1, 0)
	fresh := redistest.Start(t, "--cluster-enabled", "yes")
	plain := redistest.Start(t)
	for _, addresses := range [][]string{
		{fresh.Addr(), c.Nodes[0].Addr()}, {c.Nodes[0].Addr(), fresh.Addr()}, {fresh.Addr(), locktest.Unused(t), c.Nodes[0].Addr()},
	} {
		for range 5 { // which node replies first is random
			e := locktest.OpenRetrying(t, lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: addresses}, CallTimeout: 3 * time.Second})
			locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
			require.NoError(t, e.Close())
		}
	}
	_, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{fresh.Addr(), plain.Addr()}}})
	require.Error(t, err, "what is no cluster is not taken for it")
	t.Log(err)
}

// A node that a script keeps busy tells nothing of the cluster. Another one does.
func TestCluster_NodeBusy_Opens(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 2, 0)
	busy, other := c.Nodes[0], c.Nodes[1]
	busy.Do(t, "CONFIG", "SET", "busy-reply-threshold", 1)
	require.NoError(t, busy.Conn(t).Send("EVAL", "while true do end", 0))
	probe := busy.Conn(t)
	locktest.Eventually(t, "that it is busy", func() bool {
		_, err := probe.Do("PING")
		return err != nil && strings.HasPrefix(err.Error(), "BUSY")
	})
	for range 10 { // which node replies first is random
		e, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{busy.Addr(), other.Addr()}}, CallTimeout: 3 * time.Second})
		require.NoError(t, err)
		require.NoError(t, e.Close())
	}
}

// To an engine with a user that may not ask for the nodes, a node of a cluster would look like a single server.
func TestCluster_NodesForbidden_OpenSaysSo(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 1, 0)
	c.Nodes[0].Do(t, "ACL", "SETUSER", "few", "on", ">word", "allkeys", "allchannels", "+@all", "-cluster|slots", "-cluster|shards")
	_, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{c.Nodes[0].Addr()}, Username: "few", Password: "word"}})
	var refused lockwheel.ServerError
	require.ErrorAs(t, err, &refused)
	require.Regexp(t, `^NOPERM .*cluster.slots`, refused)
	require.NotErrorIs(t, err, lockwheel.ErrUnavailable, "it does not pass")
}

// Each master of a cluster has a status of its own, and a ping reaches each of them.
func TestCluster_Status_EachMaster(t *testing.T) {
	t.Parallel()
	long.Only(t, "a cluster")
	c := locktest.NewClusterEnv(t, 0)
	e := c.Open(lockwheel.Options{})
	all := e.Status()
	require.Len(t, all, 3)
	for _, n := range all {
		require.NotEmpty(t, n.Address)
		require.False(t, n.Down)
	}
	require.NoError(t, e.Ping(t.Context()))
}
