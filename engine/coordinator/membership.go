package coordinator

import "time"

// membershipPause is how long a node may serve no key before the topology is refreshed to find out whether it has left
// the cluster.
const membershipPause = 10 * time.Second

// membershipDue returns when to find out whether a node has left the cluster. A node that left goes on running: it
// keeps the engine's own channel, and no message of the cluster comes to it. If the engine has no lock there, no reply
// says so. Each key that a node serves shows that it has not left. An engine without locks, or without an own channel,
// has nothing to find out.
func (c *Coordinator) membershipDue() (at time.Duration, ok bool) {
	cl := c.Cluster
	if cl == nil || c.own.node == nil || c.Closed || cl.refreshWanted || cl.refreshing || !c.hasLocks() {
		return 0, false
	}
	known := NoTimer
	for _, n := range c.Nodes {
		if n.slots > 0 {
			known = min(known, n.servedAt)
		}
	}
	return max(known, cl.learnedAt) + membershipPause, true
}

// checkMembership has the topology refreshed if that is due.
func (c *Coordinator) checkMembership(now time.Duration) {
	if at, ok := c.membershipDue(); ok && now >= at {
		c.Cluster.refreshWanted = true
	}
}

// noteServed notes that a node served the keys of a batch. That it did so during a migration, or by way of another
// node, does not show that it owns slots.
func noteServed(b *Batch) {
	if !b.Asking && !b.ViaClusterClient {
		b.Node.servedAt = max(b.Node.servedAt, b.Sent)
	}
}
