package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// What becomes of a master's calls, and of the locks that it granted, when another one takes its place: in a cluster for
// some slots, behind Sentinel for all there is. A master that was replaced can go on, and says what it likes.

// errOvertaken is for an answer that nobody can rely on.
var errOvertaken = errors.New("asked of a master that was replaced")

// stray reports whether a call is with a node that its keys are not at any more.
func (c *coordinator) stray(b *batch) bool {
	if c.cluster == nil {
		return b.node != c.node
	}
	owner := c.cluster.owner(b.slot)
	return owner != b.node && (!b.asking || owner != b.asker)
}

// owner is whose a slot is, by all that was learned, also in this turn.
func (k *cluster) owner(slot uint16) *node {
	for _, m := range slices.Backward(k.moves) {
		if m.first <= int(slot) && int(slot) <= m.last {
			return m.to
		}
	}
	return k.slots[slot]
}

// overtaken finds an answer that came when its keys were another node's already, and makes it none. A
// master that was cut off and replaced confirms what its successor never hears of.
func (c *coordinator) overtaken(b *batch) bool {
	if b.failed != nil || !c.stray(b) {
		return false
	}
	b.failed, b.lost, b.late = errOvertaken, true, true
	return true
}

// giveUpStray tells the locks of calls that are with the wrong node that there is no answer: they ask the right one at once,
// however long that one is silent. What comes back is nobody's.
func (c *coordinator) giveUpStray(now time.Duration) {
	reply := actor.Reply{Status: actor.Unanswered, Err: errOvertaken}
	for _, n := range c.nodes {
		for _, first := range n.calls {
			for b := first; b != nil; b = b.beside {
				if b.over || !c.stray(b) {
					continue
				}
				b.over = true
				for i := range b.commands {
					c.reply(now, b, &b.commands[i], &reply)
				}
			}
		}
	}
}

// cameBack takes in a call that was given up. All that it tells is whether its node answers.
func (c *coordinator) cameBack(now time.Duration, b *batch) {
	if b.lost {
		b.node.link.failed(now, b.failed)
		c.doubtMap()
		return
	}
	c.reached(b)
}

// replaced takes in that Sentinel names another master: a node of its own, so that nothing goes to the old one any more.
// Also one that was the master before is a new node: what is with the old one of that name is from before.
func (c *coordinator) replaced(now time.Duration, address string) {
	if address == c.address {
		return
	}
	c.node.slots, c.bare = 0, true
	c.node = c.newcomer(address)
	c.slots = 1
	c.fx.Doubted = now // it may not know of all that was granted
	c.giveUpStray(now)
	c.resettle(now)
	c.doubt(now)
}

// newcomer makes a node, for which there is nobody yet.
func (c *coordinator) newcomer(address string) *node {
	n := newNode(address, c.fx.Config.Lease)
	n.number = c.numbers
	c.numbers++
	c.opened = append(c.opened, n)
	c.nodes = append(c.nodes, n)
	return n
}

// recheck is which locks have to be confirmed: because their slots have another master, or because nothing that was confirmed is to be
// relied on. It goes through all locks, some a turn.
type recheck struct {
	all     bool            // not only of slots: since the pass that is under way began
	passAll bool            // so is the pass that is under way
	slots   map[uint16]bool // that changed since the pass that is under way began
	pass    map[uint16]bool // what it is for
	round                   // of the pass
	startAt time.Duration   // the next one does not begin before
}

// recheckEach is how long there is no other pass for each lock that one looks at: slots that move one after the other must not keep an
// engine with very many locks from everything else.
const recheckEach = time.Microsecond

func (r *recheck) add(slots map[uint16]bool) {
	if r.slots == nil {
		r.slots = slots
		return
	}
	for slot := range slots {
		r.slots[slot] = true
	}
}

// addAll has all locks confirmed, as soon as the pass that is under way is through.
func (r *recheck) addAll() { r.all, r.startAt = true, 0 }

// due is when the next turn is to look; ok is false when there is nothing to look for.
func (r *recheck) due() (at time.Duration, ok bool) {
	if r.on() {
		return 0, true
	}
	return r.startAt, r.all || len(r.slots) > 0
}

// recheck has locks confirmed that are to be. What is granted meanwhile is confirmed first all the same.
func (c *coordinator) recheck(now time.Duration) {
	r := &c.doubts
	if at, ok := r.due(); !ok || now < at {
		return
	}
	if !r.on() {
		r.round = c.newRound()
		r.pass, r.slots = r.slots, nil
		r.passAll, r.all = r.all, false
		r.startAt = now + time.Duration(len(r.left))*recheckEach
	}
	for _, l := range r.take(c.intake.looks) {
		if l.Key() != "" && (r.passAll || r.pass[slotOf(l.Key())]) { // it may have ended
			c.step(now, l, &actor.Message{Kind: actor.Doubt})
		}
	}
	if !r.on() {
		r.pass = nil
	}
}
