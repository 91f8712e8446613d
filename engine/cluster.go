package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// cluster is the coordinator's map. Owned by the coordinator.
type cluster struct {
	slots   [slotCount]*node
	since   [slotCount]time.Duration // when that was learned of a slot that had another master; 0: it never had
	moves   []move                   // learned in this turn: what is to be sent follows them once all mail is open
	calls   map[uint16]*batch        // of the bundle that is being made
	moving  map[uint16]time.Duration // slots on their way, and until when that is believed
	denials map[denial]time.Duration // what nodes said that they are not master of, and until when that counts
	sweepAt time.Duration            // when old denials are let go of next

	wanted  bool // the map is in doubt
	busy    bool
	tryAt   time.Duration
	backoff time.Duration
	order   *survey // outcome
}

// move is that slots have another master.
type move struct {
	first, last int
	to          *node
}

// inCluster makes the coordinator one of a cluster that is charted.
func (c *coordinator) inCluster(known *chart) {
	c.cluster = &cluster{calls: make(map[uint16]*batch), moving: make(map[uint16]time.Duration), denials: make(map[denial]time.Duration)}
	c.nodes, c.numbers = nil, 0
	c.draw(0, known)
	c.node = c.nodes[0]
	for slot := range c.cluster.slots {
		c.cluster.slots[slot] = c.node // it will say whose a slot is, or that nobody has it
	}
	c.node.slots = slotCount
	c.redraw()
	c.fx.Scattered = true
	c.fx.Moved = func(key string) time.Duration { return c.cluster.since[slotOf(key)] }
}

// nodeOf is where a key is.
func (c *coordinator) nodeOf(key string) *node {
	if c.cluster == nil {
		return c.node
	}
	return c.cluster.slots[slotOf(key)]
}

// nodeAt finds the node of an address, or makes one.
func (c *coordinator) nodeAt(address string) *node {
	for _, n := range c.nodes {
		if n.address == address {
			return n
		}
	}
	return c.newcomer(address)
}

// draw takes a chart over. Slots that it does not show stay where they were.
func (c *coordinator) draw(now time.Duration, known *chart) {
	for _, s := range known.spans {
		c.cluster.learn(now, move{s.first, s.last, c.nodeAt(s.address)})
	}
}

// learn notes that slots have another master. What was confirmed before counts for no grant from now on, also in this turn.
func (k *cluster) learn(now time.Duration, m move) {
	k.moves = append(k.moves, m)
	for slot := m.first; slot <= m.last; slot++ {
		if k.slots[slot] != m.to {
			k.since[slot] = now
		}
	}
}

// denial is a slot and the address of a node that says that another one is its master.
type denial struct {
	slot    uint16
	address string
}

// deniedFor is for how long a node that denies to be the master of a slot is not believed to be it on the word of another one: so a slot
// about which nodes disagree changes its master no more often than that.
const deniedFor = 100 * time.Millisecond

// deny notes that a node is not the master of a slot by its own word. Those of the last two deniedFor are kept.
func (k *cluster) deny(now time.Duration, slot uint16, n *node) {
	if now >= k.sweepAt {
		k.sweepAt = now + deniedFor
		maps.DeleteFunc(k.denials, func(_ denial, until time.Duration) bool { return now >= until })
	}
	k.denials[denial{slot, n.address}] = now + deniedFor
}

// denied reports whether a node said a moment ago that it is not the master of a slot.
func (k *cluster) denied(now time.Duration, slot uint16, n *node) bool {
	return now < k.denials[denial{slot, n.address}]
}

// redraw makes what was learned count, and returns which slots have another master: it may not know of all that was granted
// there, whether or not the old one still answers.
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

// succeed follows the map where it changed.
func (c *coordinator) succeed(now time.Duration) {
	changed := c.redraw()
	if len(changed) == 0 {
		return
	}
	c.giveUpStray(now)
	c.resettle(now)
	c.doubts.add(changed)
}

// resettle moves what waits at a node which does not own its slot any more: commands bit by bit, and none of them leaves meanwhile.
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
	c.sweep() // a node with nothing left is let go of in this turn
}

// moveEars lets locks listen where their slots are now.
func (c *coordinator) moveEars(now time.Duration, n *node) {
	for _, name := range slices.Sorted(maps.Keys(n.ears.channels)) {
		owner := c.nodeOf(name)
		if owner == n {
			continue
		}
		for _, l := range n.ears.of(name) {
			n.ears.leave(l, name)
			l.Deafen()
			if owner.ears.join(l, name) { // it had not been left there yet
				c.step(now, l, &actor.Message{Kind: actor.Subscribed})
			}
		}
	}
}

// abandon lets go of nodes that own nothing and have nothing under way.
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
