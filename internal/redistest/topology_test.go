package redistest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/redistest"

	"github.com/lockwheel/lockwheel/internal/long"
)

// Three masters with replicas are one cluster, which serves all slots, migrates one, and replaces a master.
func TestCluster_WithReplicas_OneCluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 1)
	require.Len(t, c.Addrs(), 6)
	for i, slot := range []int{0, 5461, 16383} {
		master := c.Master(t, slot)
		require.Same(t, c.Nodes[i], master)
		key := c.Key("k", slot)
		require.Equal(t, slot, c.Slot(t, key))
		require.Equal(t, "OK", master.Do(t, "SET", key, "v"))
	}
	key := c.Key("k", 0)
	m := c.Migrate(t, 0, c.Nodes[2])
	require.Equal(t, 1, m.Move(t, 10))
	require.Contains(t, c.Nodes[0].Do(t, "GET", key), "ASK 0 ")
	require.Equal(t, 1, c.ErrorCount(t, "ASK"))
	m.End(t)
	require.Same(t, c.Nodes[2], c.Master(t, 0))
	require.Equal(t, "v", c.Nodes[2].Do(t, "GET", key))

	promoted := c.Replica(t, c.Nodes[1])
	require.NoError(t, c.Nodes[1].Kill())
	require.Same(t, promoted, c.Master(t, 5461))
}

func TestSentinels_MasterKilled_Replaced(t *testing.T) {
	long.Only(t, "it starts sentinels, and they replace the master")
	t.Parallel()
	w := redistest.StartSentinels(t, 2, 3)
	require.Len(t, w.Addrs(), 3)
	master := w.Master(t)
	require.Same(t, w.Servers[0], master)
	require.NoError(t, master.Kill())
	next := w.AwaitMaster(t, master)
	require.Equal(t, "OK", next.Do(t, "SET", "k", "v"))
	require.True(t, strings.Contains(next.String(t, "INFO", "replication"), "role:master"))
}
