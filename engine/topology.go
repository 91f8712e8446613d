package engine

import (
	"slices"
	"time"
)

// minRefreshBackoff and maxRefreshBackoff are the shortest and the longest backoff between two topology refreshes. Each MOVED reply
// corrects the topology as well.
const minRefreshBackoff, maxRefreshBackoff = 50 * time.Millisecond, time.Second

// topology is the cluster topology according to one node: the owner of each slot. It is immutable.
type topology struct {
	ranges []slotRange
	source string // address of the node that sent it
}

// slotRange is a range of slots, both ends included, and the address of their master.
type slotRange struct {
	first, last int
	address     string
}

// refreshRequest is a request to refresh the topology. The nodes are asked in that order.
type refreshRequest struct{ addresses []string }

// onTopology handles the result of a topology refresh.
func (c *coordinator) onTopology(now time.Duration, known *topology, err error) {
	k := c.cluster
	k.refreshing = false
	if err != nil || len(known.ranges) == 0 {
		k.refreshWanted = true
		k.backoff = min(max(2*k.backoff, minRefreshBackoff), maxRefreshBackoff)
	} else {
		k.backoff, c.hasEmptyNodes = minRefreshBackoff, true
		c.applyTopology(now, known)
	}
	k.tryAt = now + k.backoff
}

// invalidateTopology requests a topology refresh after an error that a stale topology may explain. Without a cluster it does
// nothing.
func (c *coordinator) invalidateTopology() {
	if c.cluster != nil {
		c.cluster.refreshWanted = true
	}
}

// updateTopology starts a topology refresh if one is due, and requeues what the last changes have moved.
func (c *coordinator) updateTopology(now time.Duration) {
	k := c.cluster
	if len(k.pendingMoves) > 0 {
		c.onFailover(now)
	}
	c.reconfirmSome(now)
	if c.hasEmptyNodes {
		c.removeEmptyNodes()
	}
	if c.refreshDue() && now >= k.tryAt {
		k.refreshWanted, k.refreshing = false, true
		k.request = &refreshRequest{addresses: c.nodesByHealth()}
	}
}

// refreshDue reports whether a topology refresh is wanted. An engine without locks or queued commands does not search for
// a lost cluster.
func (c *coordinator) refreshDue() bool {
	k := c.cluster
	return k != nil && k.refreshWanted && !k.refreshing && (c.locks.len()+len(c.lockSets) > 0 || slices.ContainsFunc(c.nodes, (*node).backlog))
}

// nodesByHealth returns the addresses of the nodes, reachable ones first.
func (c *coordinator) nodesByHealth() (addresses []string) {
	for _, down := range []bool{false, true} {
		for _, n := range c.nodes {
			if n.breaker.down == down {
				addresses = append(addresses, n.address)
			}
		}
	}
	return addresses
}
