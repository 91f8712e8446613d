package coordinator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// A server that has no slots any more gets no commands. So it does not matter that it is down.
func TestFirstDown_NoSlots_Ignored(t *testing.T) {
	c := New(harnessConfig(), 1)
	old, master := NewNode("old:1", time.Second), NewNode("master:1", time.Second)
	c.Nodes, master.slots = []*Node{old, master}, 1
	old.Breaker.Down = true
	require.Nil(t, c.FirstDown())
	require.False(t, c.anyDown())
	master.Breaker.Down = true
	require.Same(t, master, c.FirstDown())
}

// The bundles in flight are those of all nodes.
func TestInFlightBundles_SeveralNodes_Added(t *testing.T) {
	c := New(harnessConfig(), 1)
	c.Nodes = []*Node{{InFlightBundles: 2}, {InFlightBundles: 3}, {}}
	require.Equal(t, 5, c.InFlightBundles())
}

// A silent server is tried several times within a lease, however brief, and at least four times a second.
func TestNode_BriefLease_TriedWithinIt(t *testing.T) {
	for lease, want := range map[time.Duration]time.Duration{
		time.Second * 6 / 5: 100 * time.Millisecond, 3 * time.Second: 250 * time.Millisecond, time.Hour: 250 * time.Millisecond,
	} {
		n := NewNode("", lease)
		for now := time.Duration(0); now < time.Minute; now = n.Breaker.tryAt {
			n.Breaker.onFailure(now, errLeft)
		}
		require.Equal(t, want, n.Breaker.backoff, lease)
	}
}

// A node without slots is removed only after the sweep of its queues, which may find commands.
func TestNode_NoSlotsSwept_Kept(t *testing.T) {
	c := New(harnessConfig(), 1)
	n := NewNode("old:1", time.Second)
	n.Queues[actor.SendRenew].Sweep.On = true
	c.Nodes = append(c.Nodes, n)
	c.removeEmptyNodes()
	require.Contains(t, c.Nodes, n)
	require.True(t, c.hasEmptyNodes)
	n.Queues[actor.SendRenew].Sweep.On = false
	c.removeEmptyNodes()
	require.NotContains(t, c.Nodes, n)
	require.Equal(t, []*Node{n}, c.Removed)
}
