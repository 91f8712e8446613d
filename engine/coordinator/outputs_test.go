package coordinator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// The owner takes the outputs of a turn once: ResetOutputs leaves none of them for the next turn.
func TestResetOutputs_AllSet_AllCleared(t *testing.T) {
	c := New(actor.Config{ID: "me", Lease: 30 * time.Second}, SendersPerNode)
	c.InitCluster(&Topology{Ranges: []SlotRange{{Last: 16383, Address: "a:1"}}})
	n := c.Nodes[0]
	r := &actor.Request{}
	c.Fx.HoldEnds = append(c.Fx.HoldEnds, actor.HoldEnd{})
	c.Fx.Leaks, c.Fx.TooLong = append(c.Fx.Leaks, actor.HoldNotice{}), append(c.Fx.TooLong, actor.HoldNotice{})
	c.Redial, c.Connected, c.Cluster.Request = true, true, &RefreshRequest{}
	c.Added, c.Removed = append(c.Added, n), append(c.Removed, n)
	c.Batches, n.Subscriptions.Order = append(c.Batches, &Batch{}), &Order{}
	c.Fx.Results = append(c.Fx.Results, r)
	c.selectResults()
	require.Equal(t, []*actor.Request{r}, c.Results.Ready)

	c.ResetOutputs()
	require.Empty(t, c.Fx.HoldEnds)
	require.Empty(t, c.Fx.Leaks)
	require.Empty(t, c.Fx.TooLong)
	require.False(t, c.Redial)
	require.False(t, c.Connected)
	require.Nil(t, c.Cluster.Request)
	require.Empty(t, c.Added)
	require.Empty(t, c.Removed)
	require.Empty(t, c.Batches)
	require.Nil(t, n.Subscriptions.Order)
	require.Empty(t, c.Fx.Results)
	require.Empty(t, c.Results.Ready)
}
