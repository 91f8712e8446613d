package engine

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// What waits to be sent is what somebody still wants: a lock takes its command back in the step after which nobody
// needs it, and its place in the queue is given up with the places of others, when they are more than half of it. So
// an outage costs the memory of those who wait it out, and each call that is given up the same work.

// wanted reports whether a command that waits is still to leave.
func wanted(command *actor.Command) bool {
	if command.Lock == nil {
		return !command.Request.Decided() && !command.Request.Departed()
	}
	return command.Lock.Wants(command)
}

// departs takes in that a command leaves, and reports whether it does: not if it was taken back, or is for another node now.
func (c *coordinator) departs(n *node, command *actor.Command) bool {
	switch {
	case n.unsettled && wanted(command) && c.divert(n, command):
	case command.Lock != nil:
		if command.Lock.Leaves(command) {
			return true
		}
	case wanted(command):
		command.Request.Depart(true)
		return true
	}
	q := &n.queues[command.Verb]
	q.stale = max(q.stale-1, 0)
	return false
}

// recalled takes in that the lock of a key has taken commands back that wait.
func (c *coordinator) recalled(key string) {
	n := c.nodeOf(key)
	for _, verb := range c.fx.Recalled {
		c.forgo(n, verb)
	}
	c.fx.Recalled = c.fx.Recalled[:0]
}

// withdrawn takes in that nobody waits for the answer to a question that has no lock.
func (c *coordinator) withdrawn(r *actor.Request) {
	if r.Tag == AskState && !r.Departed() {
		c.forgo(c.nodeOf(r.Key), r.Kind.State())
	}
}

// forgo counts a command that is not to leave any more.
func (c *coordinator) forgo(n *node, verb actor.Verb) {
	n.queues[verb].stale++
	n.queues[verb].sweep.since++
	c.thin(n, verb)
}

// pare leaves in a batch what is still to leave, and reports whether that is anything.
func (c *coordinator) pare(n *node, b *batch) bool {
	before := len(b.commands)
	b.commands = slices.DeleteFunc(b.commands, func(command actor.Command) bool { return !wanted(&command) })
	q, taken := &n.queues[b.verb], before-len(b.commands)
	q.parts -= taken
	q.stale = max(q.stale-taken, 0)
	if len(b.commands) == 0 {
		c.spares = append(c.spares, b)
	}
	return len(b.commands) > 0
}

// again has a batch sent once more, or what is still wanted of it.
func (c *coordinator) again(now time.Duration, n *node, b *batch) {
	b.commands = slices.DeleteFunc(b.commands, func(command actor.Command) bool { return !c.returns(now, &command) })
	if len(b.commands) == 0 {
		c.spares = append(c.spares, b)
		return
	}
	n.split = append(n.split, b)
	n.queues[b.verb].parts += len(b.commands)
	if n.link.down && !b.whole && !b.asking { // one whose script the server does not know goes on as it is, and one that is sent on tries it
		c.dissolve(n)
	}
}

// returns takes in that a command waits again, and reports whether anybody still wants it.
func (c *coordinator) returns(now time.Duration, command *actor.Command) bool {
	switch l := command.Lock; {
	case l == nil:
		command.Request.Depart(false)
	case l.Key() == "":
		return false
	default:
		c.step(now, l, &actor.Message{Kind: actor.Returned, Command: command})
	}
	return wanted(command)
}

// dissolve has what was to be sent once more wait like everything else: at a server that is down it may wait for long,
// and what is given up meanwhile is let go of.
func (c *coordinator) dissolve(n *node) {
	parts := n.split
	n.split = nil
	for _, b := range parts {
		n.queues[b.verb].parts -= len(b.commands)
		for i := range b.commands {
			c.send(&b.commands[i])
		}
		c.spares = append(c.spares, b)
	}
}
