package coordinator

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// minRefreshBackoff and maxRefreshBackoff are the shortest and the longest backoff between two topology refreshes. Each
// MOVED reply corrects the topology as well.
const minRefreshBackoff, maxRefreshBackoff = 50 * time.Millisecond, time.Second

// Topology is the cluster topology according to one node: the owner of each slot. The topology refresher, or Probe,
// makes it; from then on it is immutable. The zero value says nothing of any slot.
type Topology struct {
	Ranges []SlotRange
	Source string // address of the node that sent it
}

// SlotRange is a range of slots, both ends included, and the address of their master. It belongs to a Topology. The
// zero value has no address, and is in no Topology.
type SlotRange struct {
	First, Last int
	Address     string
}

// RefreshRequest is a request to refresh the topology. The nodes are asked in that order, and then others that the
// client knows; the zero value leaves the order to it. The coordinator makes it, and from then on it belongs to the
// topology refresher.
type RefreshRequest struct{ Addresses []string }

// onTopology handles the result of a topology refresh.
func (c *Coordinator) onTopology(now time.Duration, known *Topology, err error) {
	cl := c.Cluster
	cl.refreshing = false
	if err != nil || len(known.Ranges) == 0 {
		cl.refreshWanted = true
		cl.backoff = actor.NextBackoff(cl.backoff, minRefreshBackoff, maxRefreshBackoff)
	} else {
		cl.backoff, c.hasEmptyNodes = minRefreshBackoff, true
		c.applyTopology(now, known)
	}
	cl.tryAt = now + cl.backoff
}

// invalidateTopology requests a topology refresh after an error that a stale topology may explain. Without a cluster it
// does nothing.
func (c *Coordinator) invalidateTopology() {
	if c.Cluster != nil {
		c.Cluster.refreshWanted = true
	}
}

// updateTopology starts a topology refresh if one is due, and requeues what the last changes have moved.
func (c *Coordinator) updateTopology(now time.Duration) {
	cl := c.Cluster
	if len(cl.pendingMoves) > 0 {
		c.onFailover(now)
	}
	c.reconfirmSome(now)
	if c.hasEmptyNodes {
		c.removeEmptyNodes()
	}
	c.checkMembership(now)
	if c.refreshDue() && now >= cl.tryAt {
		cl.refreshWanted, cl.refreshing = false, true
		cl.Request = &RefreshRequest{Addresses: c.nodesByHealth()}
	}
}

// refreshDue reports whether a topology refresh is wanted. An engine without locks or queued commands does not search
// for a lost cluster.
func (c *Coordinator) refreshDue() bool {
	cl := c.Cluster
	return cl != nil && cl.refreshWanted && !cl.refreshing && (c.hasLocks() || slices.ContainsFunc(c.Nodes, (*Node).Backlog))
}

// hasLocks reports whether there is any lock.
func (c *Coordinator) hasLocks() bool { return c.Locks.Len()+len(c.LockSets) > 0 }

// nodesByHealth returns the addresses of the nodes, reachable ones first. The node that sent the last topology comes
// last of those that are alike: if another refresh is due, that topology may be wrong. A node that is cut off from the
// others replies, and knows nothing of masters that were replaced since. CLUSTER SLOTS has no epoch, so replies of two
// nodes that differ do not show which is older.
func (c *Coordinator) nodesByHealth() (addresses []string) {
	for _, down := range []bool{false, true} {
		var source []string
		for _, n := range c.Nodes {
			switch {
			case n.Breaker.Down != down:
			case n.Address == c.Cluster.source:
				source = append(source, n.Address)
			default:
				addresses = append(addresses, n.Address)
			}
		}
		addresses = append(addresses, source...)
	}
	return addresses
}

// Addresses returns the addresses of the masters.
func (t *Topology) Addresses() (all []string) {
	for _, s := range t.Ranges {
		if !slices.Contains(all, s.Address) {
			all = append(all, s.Address)
		}
	}
	return all
}
