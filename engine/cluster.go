package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// cluster is the coordinator's cluster topology. Owned by the coordinator.
type cluster struct {
	slots   [slotCount]*node
	since   [slotCount]time.Duration // when a new master of the slot was learned; 0: it never changed
	moves   []move                   // learned in this turn; queued commands follow once all messages are handled
	calls   map[uint16]*batch        // by slot, of the bundle that is being made
	moving  map[uint16]time.Duration // migrating slots, and until when they are considered migrating
	denials map[denial]time.Duration // slots that a node denied to own, and until when that counts
	sweepAt time.Duration            // when expired denials are removed next

	wanted  bool // a topology refresh is wanted
	busy    bool
	tryAt   time.Duration
	backoff time.Duration
	order   *survey // output: for the surveyor
}

// move is a range of slots with a new master.
type move struct {
	first, last int
	to          *node
}

// inCluster makes the coordinator that of a cluster with a known topology.
func (c *coordinator) inCluster(known *chart) {
	c.cluster = &cluster{calls: make(map[uint16]*batch), moving: make(map[uint16]time.Duration), denials: make(map[denial]time.Duration)}
	c.nodes, c.numbers = nil, 0
	c.draw(0, known)
	c.node = c.nodes[0]
	for slot := range c.cluster.slots {
		c.cluster.slots[slot] = c.node // it replies with the owner, or that the slot has none
	}
	c.node.slots = slotCount
	c.redraw()
	c.fx.Scattered = true
	c.fx.Moved = func(key string) time.Duration { return c.cluster.since[slotOf(key)] }
}

// nodeOf returns the node for a key.
func (c *coordinator) nodeOf(key string) *node {
	if c.cluster == nil {
		return c.node
	}
	return c.cluster.slots[slotOf(key)]
}

// nodeAt returns the node with an address, and creates it if there is none.
func (c *coordinator) nodeAt(address string) *node {
	for _, n := range c.nodes {
		if n.address == address {
			return n
		}
	}
	return c.newcomer(address)
}

// draw applies a topology. Slots that it does not mention keep their owner.
func (c *coordinator) draw(now time.Duration, known *chart) {
	for _, s := range known.spans {
		c.cluster.learn(now, move{s.first, s.last, c.nodeAt(s.address)})
	}
}

// learn notes that slots have another master. From now on, also in this turn, earlier confirmations are not enough for
// a grant.
func (k *cluster) learn(now time.Duration, m move) {
	k.moves = append(k.moves, m)
	for slot := m.first; slot <= m.last; slot++ {
		if k.slots[slot] != m.to {
			k.since[slot] = now
		}
	}
}

// denial is a slot and the address of a node that named another master for it.
type denial struct {
	slot    uint16
	address string
}

// deniedFor is how long a node that denied to own a slot is not made its master because another node names it. So if
// nodes disagree, the slot changes its master at most once in that time.
const deniedFor = 100 * time.Millisecond

// deny notes that a node said that it does not own a slot. Denials are kept for at most twice deniedFor.
func (k *cluster) deny(now time.Duration, slot uint16, n *node) {
	if now >= k.sweepAt {
		k.sweepAt = now + deniedFor
		maps.DeleteFunc(k.denials, func(_ denial, until time.Duration) bool { return now >= until })
	}
	k.denials[denial{slot, n.address}] = now + deniedFor
}

// denied reports whether a node has denied within the last deniedFor that it owns a slot.
func (k *cluster) denied(now time.Duration, slot uint16, n *node) bool {
	return now < k.denials[denial{slot, n.address}]
}

// redraw commits the moves learned and returns the slots with another master. The new master may not know everything
// that the old one granted, whether or not the old one still replies.
func (c *coordinator) redraw() (changed map[uint16]bool) {
	k := c.cluster
	changed = make(map[uint16]bool)
	for _, m := range k.moves {
		for slot := m.first; slot <= m.last; slot++ {
			before := k.slots[slot]
			if before == m.to {
				continue
			}
			k.slots[slot] = m.to
			delete(k.moving, uint16(slot))
			before.slots--
			m.to.slots++
			changed[uint16(slot)] = true
		}
	}
	clear(k.moves)
	k.moves = k.moves[:0]
	return changed
}

// succeed acts on changes of the topology: it gives up misdirected calls, requeues commands, and has the locks
// confirmed.
func (c *coordinator) succeed(now time.Duration) {
	changed := c.redraw()
	if len(changed) == 0 {
		return
	}
	c.giveUpStray(now)
	c.resettle(now)
	c.doubts.add(changed)
}

// resettle requeues what waits at a node that no longer owns the slot. Commands move over several turns, and the old
// node is sent none of them meanwhile.
func (c *coordinator) resettle(now time.Duration) {
	for _, n := range c.nodes {
		for verb := range n.queues {
			if n.queues[verb].len() > 0 {
				c.startSweep(n, actor.Verb(verb))
				n.unsettled = true
			}
		}
		n.split = slices.DeleteFunc(n.split, func(b *batch) bool {
			owner := c.node
			if c.cluster != nil {
				owner = c.cluster.slots[b.slot]
			}
			if b.asking || owner == n {
				return false
			}
			owner.split = append(owner.split, b)
			owner.queues[b.verb].parts += len(b.commands)
			n.queues[b.verb].parts -= len(b.commands)
			return true
		})
		c.moveEars(now, n)
	}
	c.sweep() // removes a node with nothing left in this turn
}

// moveEars moves subscriptions to the nodes that own their slots now.
func (c *coordinator) moveEars(now time.Duration, n *node) {
	for _, name := range slices.Sorted(maps.Keys(n.ears.channels)) {
		owner := c.nodeOf(name)
		if owner == n {
			continue
		}
		for _, l := range n.ears.of(name) {
			n.ears.leave(l, name)
			l.Deafen()
			if owner.ears.join(l, name) { // it was still subscribed there
				c.step(now, l, &actor.Message{Kind: actor.Subscribed})
			}
		}
	}
}

// abandon removes nodes that own no slots and have nothing queued or in flight.
func (c *coordinator) abandon() {
	c.bare = false
	c.nodes = slices.DeleteFunc(c.nodes, func(n *node) bool {
		if n.slots > 0 {
			return false
		}
		if n.busy() || n.backlog() || n.ears.engaged() || !n.wishes.empty() || n.swept() {
			c.bare = true
			return false
		}
		c.shut = append(c.shut, n)
		return true
	})
	if c.cluster != nil {
		c.node = c.nodes[0]
	}
}
