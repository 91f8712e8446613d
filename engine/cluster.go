package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// cluster is the coordinator's cluster topology. Owned by the coordinator.
type cluster struct {
	slots        [slotCount]*node
	movedAt      [slotCount]time.Duration // when a new master of the slot was learned; 0: it never changed
	pendingMoves []move                   // learned in this turn; queued commands follow once all messages are handled
	bundle       map[uint16]*batch        // by slot, of the bundle that is being made
	migrating    map[uint16]time.Duration // migrating slots, and until when they are considered migrating
	denials      map[denial]time.Duration // slots that a node denied to own, and until when that counts
	sweepAt      time.Duration            // when expired denials are removed next

	refreshWanted bool // a topology refresh is wanted
	refreshing    bool
	tryAt         time.Duration
	backoff       time.Duration
	request       *refreshRequest // output: for the surveyor
}

// move is a range of slots with a new master.
type move struct {
	first, last int
	to          *node
}

// initCluster makes the coordinator that of a cluster with a known topology.
func (c *coordinator) initCluster(known *topology) {
	c.cluster = &cluster{bundle: make(map[uint16]*batch), migrating: make(map[uint16]time.Duration), denials: make(map[denial]time.Duration)}
	c.nodes, c.nodesCreated = nil, 0
	c.applyTopology(0, known)
	c.node = c.nodes[0]
	for slot := range c.cluster.slots {
		c.cluster.slots[slot] = c.node // it replies with the owner, or that the slot has none
	}
	c.node.slots = slotCount
	c.commitMoves()
	c.fx.PubSubUnreliable = true
	c.fx.MasterSince = func(key string) time.Duration { return c.cluster.movedAt[slotOf(key)] }
}

// nodeForKey returns the node for a key.
func (c *coordinator) nodeForKey(key string) *node {
	if c.cluster == nil {
		return c.node
	}
	return c.cluster.slots[slotOf(key)]
}

// nodeByAddr returns the node with an address, and creates it if there is none.
func (c *coordinator) nodeByAddr(address string) *node {
	for _, n := range c.nodes {
		if n.address == address {
			return n
		}
	}
	return c.addNode(address)
}

// applyTopology applies a topology. Slots that it does not mention keep their owner.
func (c *coordinator) applyTopology(now time.Duration, known *topology) {
	for _, s := range known.ranges {
		c.cluster.learn(now, move{s.first, s.last, c.nodeByAddr(s.address)})
	}
}

// learn notes that slots have another master. From now on, also in this turn, earlier confirmations are not enough for
// a grant.
func (k *cluster) learn(now time.Duration, m move) {
	k.pendingMoves = append(k.pendingMoves, m)
	for slot := m.first; slot <= m.last; slot++ {
		if k.slots[slot] != m.to {
			k.movedAt[slot] = now
		}
	}
}

// denial is a slot and the address of a node that named another master for it.
type denial struct {
	slot    uint16
	address string
}

// denialTTL is how long a node that denied to own a slot is not made its master because another node names it. So if
// nodes disagree, the slot changes its master at most once in that time.
const denialTTL = 100 * time.Millisecond

// deny notes that a node said that it does not own a slot. Denials are kept for at most twice denialTTL.
func (k *cluster) deny(now time.Duration, slot uint16, n *node) {
	if now >= k.sweepAt {
		k.sweepAt = now + denialTTL
		maps.DeleteFunc(k.denials, func(_ denial, until time.Duration) bool { return now >= until })
	}
	k.denials[denial{slot, n.address}] = now + denialTTL
}

// denied reports whether a node has denied within the last denialTTL that it owns a slot.
func (k *cluster) denied(now time.Duration, slot uint16, n *node) bool {
	return now < k.denials[denial{slot, n.address}]
}

// commitMoves commits the moves learned and returns the slots with another master. The new master may not know everything
// that the old one granted, whether or not the old one still replies.
func (c *coordinator) commitMoves() (changed map[uint16]bool) {
	k := c.cluster
	changed = make(map[uint16]bool)
	for _, m := range k.pendingMoves {
		for slot := m.first; slot <= m.last; slot++ {
			before := k.slots[slot]
			if before == m.to {
				continue
			}
			k.slots[slot] = m.to
			delete(k.migrating, uint16(slot))
			before.slots--
			m.to.slots++
			changed[uint16(slot)] = true
		}
	}
	clear(k.pendingMoves)
	k.pendingMoves = k.pendingMoves[:0]
	return changed
}

// onFailover acts on changes of the topology: it gives up misdirected calls, requeues commands, and has the locks
// confirmed.
func (c *coordinator) onFailover(now time.Duration) {
	changed := c.commitMoves()
	if len(changed) == 0 {
		return
	}
	c.abandonMisplaced(now)
	c.requeueMoved(now)
	c.reconfirms.add(changed)
}

// requeueMoved requeues what waits at a node that no longer owns the slot. Commands move over several turns, and the old
// node is sent none of them meanwhile.
func (c *coordinator) requeueMoved(now time.Duration) {
	for _, n := range c.nodes {
		for verb := range n.queues {
			if n.queues[verb].len() > 0 {
				c.startSweep(n, actor.Verb(verb))
				n.needsRequeue = true
			}
		}
		n.retries = slices.DeleteFunc(n.retries, func(b *batch) bool {
			owner := c.node
			if c.cluster != nil {
				owner = c.cluster.slots[b.slot]
			}
			if b.asking || owner == n {
				return false
			}
			owner.retries = append(owner.retries, b)
			owner.queues[b.verb].inRetries += len(b.commands)
			n.queues[b.verb].inRetries -= len(b.commands)
			return true
		})
		c.moveSubscriptions(now, n)
	}
	c.sweep() // removes a node with nothing left in this turn
}

// moveSubscriptions moves subscriptions to the nodes that own their slots now.
func (c *coordinator) moveSubscriptions(now time.Duration, n *node) {
	for _, name := range slices.Sorted(maps.Keys(n.subscriptions.channels)) {
		owner := c.nodeForKey(name)
		if owner == n {
			continue
		}
		for _, l := range n.subscriptions.listeners(name) {
			n.subscriptions.removeListener(l, name)
			l.SubscriptionLost()
			if owner.subscriptions.addListener(l, name) { // it was still subscribed there
				c.step(now, l, &actor.Message{Event: actor.Subscribed})
			}
		}
	}
}

// removeEmptyNodes removes nodes that own no slots and have nothing queued or in flight.
func (c *coordinator) removeEmptyNodes() {
	c.hasEmptyNodes = false
	c.nodes = slices.DeleteFunc(c.nodes, func(n *node) bool {
		if n.slots > 0 {
			return false
		}
		if n.busy() || n.backlog() || n.subscriptions.active() || !n.asyncRequests.empty() || n.sweeping() {
			c.hasEmptyNodes = true
			return false
		}
		c.removed = append(c.removed, n)
		return true
	})
	if c.cluster != nil {
		c.node = c.nodes[0]
	}
}
