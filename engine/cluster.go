package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// cluster is the coordinator's map. Owned by the coordinator.
type cluster struct {
	slots  [slotCount]*node
	moves  []move            // learned in this turn: they count once all mail is open
	bare   bool              // there may be nodes without slots
	number int               // of the next node
	calls  map[uint16]*batch // of the bundle that is being made
	opened []*node           // outcome: new nodes, for which there is nobody yet
	shut   []*node           // outcome: nodes that nothing is sent to any more

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
	c.cluster = &cluster{calls: make(map[uint16]*batch)}
	c.nodes = nil
	c.draw(known)
	c.node = c.nodes[0]
	for slot := range c.cluster.slots {
		c.cluster.slots[slot] = c.node // it will say whose a slot is, or that nobody has it
	}
	c.node.slots = slotCount
	c.redraw()
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
	k := c.cluster
	n := newNode(address, c.fx.Config.Lease)
	n.number = k.number
	k.number++
	k.opened = append(k.opened, n)
	c.nodes = append(c.nodes, n)
	return n
}

// draw takes a chart over. Slots that it does not show stay where they were.
func (c *coordinator) draw(known *chart) {
	for _, s := range known.spans {
		c.cluster.moves = append(c.cluster.moves, move{s.first, s.last, c.nodeAt(s.address)})
	}
}

// redraw makes what was learned count. It reports whether it is news, and which slots were a node's that is
// down: its successor may not know of all that was granted there.
func (c *coordinator) redraw() (news bool, inherited map[uint16]bool) {
	k := c.cluster
	inherited = make(map[uint16]bool)
	for _, m := range k.moves {
		for slot := m.first; slot <= m.last; slot++ {
			before := k.slots[slot]
			if before == m.to {
				continue
			}
			news = true
			k.slots[slot] = m.to
			before.slots--
			m.to.slots++
			if before.link.down {
				inherited[uint16(slot)] = true
			}
		}
	}
	clear(k.moves)
	k.moves = k.moves[:0]
	return news, inherited
}

// succeed follows the map where it changed.
func (c *coordinator) succeed(now time.Duration) {
	news, inherited := c.redraw()
	if news {
		c.resettle(now)
	}
	if len(inherited) == 0 {
		return
	}
	c.fx.Doubted = now // what was confirmed may be unknown to the successor, an extension as well
	for l := range c.everyLock() {
		if inherited[slotOf(l.Key())] {
			c.step(now, l, &actor.Message{Kind: actor.Doubt})
		}
	}
}

// resettle moves everything that waits at a node which does not own its slot any more.
func (c *coordinator) resettle(now time.Duration) {
	for _, n := range c.nodes {
		for verb := range n.queues {
			q := &n.queues[verb]
			for range q.len() {
				command := q.pop()
				c.send(&command)
			}
		}
		n.split = slices.DeleteFunc(n.split, func(b *batch) bool {
			owner := c.cluster.slots[b.slot]
			if b.asking || owner == n {
				return false
			}
			owner.split = append(owner.split, b)
			return true
		})
		c.moveEars(now, n)
	}
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
	k := c.cluster
	k.bare = false
	c.nodes = slices.DeleteFunc(c.nodes, func(n *node) bool {
		if n.slots > 0 {
			return false
		}
		if n.busy() || n.backlog() || n.ears.engaged() {
			k.bare = true
			return false
		}
		k.shut = append(k.shut, n)
		return true
	})
	c.node = c.nodes[0]
}
