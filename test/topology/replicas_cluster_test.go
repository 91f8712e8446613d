package topology_test

import (
	"testing"

	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
)

// Grants in a cluster with Options.Replicas are on the replicas of their slot's master, or are no grants.
func TestCluster_Grants_HaveTheirReplicas(t *testing.T) {
	long.Only(t, "the nodes of a cluster with replicas fail")
	t.Parallel()
	r := locktest.NewClusterEnv(t, 1)
	t.Run("those of all slots, of all kinds", func(t *testing.T) { r.T = t; r.Replicates(t) })
	t.Run("those of pollers, in time or not at all", func(t *testing.T) { r.T = t; r.ReplicatesForPollers(t) })
	t.Run("a slot that moves takes its grants along", func(t *testing.T) { r.T = t; r.ReplicatesElsewhere(t) })
	t.Run("replicas are asked only if wanted", func(t *testing.T) { r.T = t; r.AsksNoReplicas(t) })
	t.Run("a user who may not ask is found out by Open", func(t *testing.T) { r.T = t; r.RefusesToBeAsked(t) })
	t.Run("one replica that is silent is the business of its master alone", func(t *testing.T) { r.T = t; r.LosesAReplica(t) })
	t.Run("a replica takes over with what was granted", func(t *testing.T) { r.T = t; r.Promotes(t) })
}
