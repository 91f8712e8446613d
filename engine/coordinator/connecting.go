package coordinator

import "time"

// InitUnconnected makes the coordinator that of an engine without a server yet, for cause. Until it receives Connected,
// it acts as in an outage: it sends nothing, so its loop needs no workers.
func (c *Coordinator) InitUnconnected(cause error) {
	c.unconnected = true
	c.Fallback.Breaker.awaitConnection(0, cause)
}

// awaitConnection makes the breaker that of a server to which there was no connection yet: it allows no probe.
func (b *breaker) awaitConnection(now time.Duration, cause error) {
	if !b.Down {
		b.since = now
	}
	b.Down, b.Cause, b.noConnection, b.tryAt = true, cause, true, NoTimer
}

// onConnectFailed notes why there is still no connection.
func (c *Coordinator) onConnectFailed(now time.Duration, cause error) {
	if c.unconnected {
		c.Fallback.Breaker.awaitConnection(now, cause)
	}
}

// onConnected ends the outage with which the engine began. The commands that wait leave for the server. In a cluster
// they move to the nodes that own their slots, over several turns.
func (c *Coordinator) onConnected(now time.Duration, what Connected) {
	if !c.unconnected {
		return
	}
	c.unconnected, c.Connected = false, true
	first := c.Fallback
	first.Breaker.onSuccess()
	c.Added = append(c.Added, first)
	if what.Topology == nil {
		first.Address, c.CanRedial = what.Address, what.CanRedial
		return
	}
	c.becomeCluster(now, first, what.Topology)
}

// becomeCluster makes the coordinator that of a cluster, while commands and requests wait at a node that is none of the
// cluster's. That node owns all slots until the end of the turn, and goes when nothing waits there.
func (c *Coordinator) becomeCluster(now time.Duration, first *Node, known *Topology) {
	c.newCluster()
	for slot := range c.Cluster.slots {
		c.Cluster.slots[slot] = first
	}
	first.slots, c.hasEmptyNodes = len(c.Cluster.slots), true
	c.Nodes = nil
	c.Fallback = c.nodeByAddr(known.Ranges[0].Address)
	c.Cluster.learn(now, move{0, len(c.Cluster.slots) - 1, c.Fallback}) // it replies with the owner, or that the slot has none
	c.applyTopology(now, known)
	c.Nodes = append(c.Nodes, first)
}
