package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/slot"
)

// cluster is the coordinator's cluster topology. newCluster makes one, and InitCluster or becomeCluster gives each slot
// a node. The zero value has no maps to write to. Owned by the coordinator.
type cluster struct {
	slots        [slot.Count]*Node
	movedAt      [slot.Count]time.Duration // when a new master of the slot was learned; 0: it never changed
	pendingMoves []move                    // learned in this turn; queued commands follow once all messages are handled
	bundle       map[uint16]*Batch         // by slot, of the bundle that is being made
	whole        *Batch                    // the batch that splitBySlot splits
	migrating    map[uint16]time.Duration  // migrating slots, and until when they are considered migrating
	denials      map[denial]time.Duration  // slots that a node denied to own, and until when that counts
	sweepAt      time.Duration             // when expired denials are removed next

	source        string        // address of the node that sent the last topology
	learnedAt     time.Duration // when it came
	refreshWanted bool          // a topology refresh is wanted
	refreshing    bool
	tryAt         time.Duration
	backoff       time.Duration
	Request       *RefreshRequest // output: for the topology refresher
}

// move is a range of slots, both ends included, with a new master. Owned by the coordinator. The zero value is never
// appended.
type move struct {
	first, last int
	to          *Node
}

// InitCluster makes the coordinator that of a cluster with a known topology.
func (c *Coordinator) InitCluster(known *Topology) {
	c.newCluster()
	c.Nodes = nil
	c.applyTopology(0, known)
	c.Fallback = c.Nodes[0]
	for slot := range c.Cluster.slots {
		c.Cluster.slots[slot] = c.Fallback // it replies with the owner, or that the slot has none
	}
	c.Fallback.slots = slot.Count
	c.commitMoves()
}

// newCluster makes a topology without nodes.
func (c *Coordinator) newCluster() {
	c.Cluster = &cluster{bundle: make(map[uint16]*Batch), migrating: make(map[uint16]time.Duration), denials: make(map[denial]time.Duration)}
	c.Fx.PubSubUnreliable = true
	c.Fx.MasterSince = func(key string) time.Duration { return c.Cluster.movedAt[slot.Of(key)] }
}

// nodeForKey returns the node for a key.
func (c *Coordinator) nodeForKey(key string) *Node {
	if c.Cluster == nil {
		return c.Fallback
	}
	return c.Cluster.slots[slot.Of(key)]
}

// nodeByAddr returns the node with an address, and creates it if there is none.
func (c *Coordinator) nodeByAddr(address string) *Node {
	for _, n := range c.Nodes {
		if n.Address == address {
			return n
		}
	}
	return c.addNode(address)
}

// applyTopology applies a topology. Slots that it does not mention keep their owner.
func (c *Coordinator) applyTopology(now time.Duration, known *Topology) {
	c.Cluster.source, c.Cluster.learnedAt = known.Source, now
	for _, s := range known.Ranges {
		c.Cluster.learn(now, move{s.First, s.Last, c.nodeByAddr(s.Address)})
	}
}

// learn notes that slots have another master. From now on, also in this turn, earlier confirmations are not enough for
// a grant.
func (cl *cluster) learn(now time.Duration, m move) {
	cl.pendingMoves = append(cl.pendingMoves, m)
	for slot := m.first; slot <= m.last; slot++ {
		if cl.slots[slot] != m.to {
			cl.movedAt[slot] = now
		}
	}
}

// denial is a slot and the address of a node that named another master for it. It is a key of cluster.denials. It is a
// plain value; the zero value has no address, and is no key.
type denial struct {
	slot    uint16
	address string
}

// denialTTL is how long a node that denied to own a slot is not made its master because another node names it. So if
// nodes disagree, the slot changes its master at most once in that time.
const denialTTL = 100 * time.Millisecond

// deny notes that a node said that it does not own a slot. Denials are kept for at most twice denialTTL.
func (cl *cluster) deny(now time.Duration, slot uint16, n *Node) {
	if now >= cl.sweepAt {
		cl.sweepAt = now + denialTTL
		maps.DeleteFunc(cl.denials, func(_ denial, until time.Duration) bool { return now >= until })
	}
	cl.denials[denial{slot, n.Address}] = now + denialTTL
}

// denied reports whether a node has denied within the last denialTTL that it owns a slot.
func (cl *cluster) denied(now time.Duration, slot uint16, n *Node) bool {
	return now < cl.denials[denial{slot, n.Address}]
}

// commitMoves commits the moves learned and returns the slots with another master. The new master may not know
// everything that the old one granted, whether or not the old one still replies.
func (c *Coordinator) commitMoves() (changed map[uint16]bool) {
	cl := c.Cluster
	changed = make(map[uint16]bool)
	for _, m := range cl.pendingMoves {
		for slot := m.first; slot <= m.last; slot++ {
			before := cl.slots[slot]
			if before == m.to {
				continue
			}
			cl.slots[slot] = m.to
			delete(cl.migrating, uint16(slot))
			before.slots--
			m.to.slots++
			changed[uint16(slot)] = true
		}
	}
	clear(cl.pendingMoves)
	cl.pendingMoves = cl.pendingMoves[:0]
	return changed
}

// onFailover acts on changes of the topology: it gives up misdirected batches, requeues commands, and has the locks
// confirmed.
func (c *Coordinator) onFailover(now time.Duration) {
	changed := c.commitMoves()
	if len(changed) == 0 {
		return
	}
	c.movesSubscriptions = true // a lock that abandonMisplaced steps may leave a channel that is still at the old node
	c.abandonMisplaced(now)
	c.requeueMoved(now)
	c.reconfirms.add(changed)
}

// requeueMoved requeues what waits at a node that no longer owns the slot. Commands and subscriptions move over several
// turns. Meanwhile the old node is sent none of the commands.
func (c *Coordinator) requeueMoved(now time.Duration) {
	for _, n := range c.Nodes {
		for verb := range n.Queues {
			if n.Queues[verb].Len() > 0 {
				c.startSweep(n, actor.Verb(verb))
				n.needsRequeue = true
			}
		}
		n.Retries = slices.DeleteFunc(n.Retries, func(b *Batch) bool {
			owner := c.Fallback
			if c.Cluster != nil {
				owner = c.Cluster.slots[b.Slot]
			}
			if b.Asking || owner == n {
				return false
			}
			owner.Retries = append(owner.Retries, b)
			owner.Queues[b.Verb].InRetries += len(b.Commands)
			n.Queues[b.Verb].InRetries -= len(b.Commands)
			return true
		})
		for verb := range n.Queues {
			c.sweepIfStale(n, actor.Verb(verb)) // fewer are left beside those that are stale
		}
		n.Subscriptions.movesLeft = len(n.Subscriptions.all)
	}
	c.moveSubscriptions(now)
	c.sweep() // removes a node with nothing left in this turn
}

// removeEmptyNodes removes nodes that own no slots and have nothing queued or in flight.
func (c *Coordinator) removeEmptyNodes() {
	c.hasEmptyNodes = false
	c.Nodes = slices.DeleteFunc(c.Nodes, func(n *Node) bool {
		if n.slots > 0 {
			return false
		}
		if n.busy() || n.Backlog() || n.Subscriptions.active() || n.holdsBack() || n.sweeping() {
			c.hasEmptyNodes = true
			return false
		}
		c.Removed = append(c.Removed, n)
		return true
	})
	if c.Cluster != nil {
		c.Fallback = c.Nodes[0]
	}
}
