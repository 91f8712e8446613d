package topology_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// Replicas take over from all masters at once, from more of them than an engine asks for the topology at a time. The
// engine learns of the next masters, and considers none of the old ones its own.
func TestCluster_AllMastersReplaced_Followed(t *testing.T) {
	long.Only(t, "a cluster of nine masters with replicas")
	t.Parallel()
	const masters = 9
	c := redistest.StartCluster(t, masters, 1)
	r := &locktest.ClusterEnv{Cluster: c, T: t}
	e := r.Open(lockwheel.Options{CallTimeout: time.Second})
	names := r.SpreadNames(3 * masters)
	var next []*redistest.Server
	for _, old := range c.Nodes[:masters] {
		next = append(next, c.Replica(t, old))
	}
	for _, old := range c.Nodes[:masters] {
		require.NoError(t, old.Kill())
	}
	for _, s := range next {
		require.Equal(t, "OK", s.Do(t, "CLUSTER", "FAILOVER", "TAKEOVER"))
	}
	locktest.Eventually(t, "the engine uses the next masters alone", func() bool {
		for _, name := range names {
			if hold, err := e.Mutex(name).TryLock(t.Context()); err == nil {
				locktest.Unlock(t, hold)
			}
		}
		return allUp(e.Status(), next)
	})
}

// allUp reports whether the engine has exactly these masters, and each of them replies.
func allUp(status []lockwheel.NodeStatus, masters []*redistest.Server) bool {
	up := make(map[string]bool)
	for _, n := range status {
		up[n.Address] = !n.Down
	}
	for _, s := range masters {
		if !up[s.Addr()] {
			return false
		}
	}
	return len(up) == len(masters)
}
