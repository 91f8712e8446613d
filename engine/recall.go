package engine

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// Only commands that are still wanted are sent. A lock recalls its command in the step in which it is no longer needed.
// The command's place in the queue is freed later by a sweep. So an outage costs memory only for the callers that keep
// waiting, and cancelling a call takes constant time.

// wanted reports whether a waiting command is still to be sent.
func wanted(command *actor.Command) bool {
	if command.Lock == nil {
		return !command.Request.Decided() && !command.Request.Departed()
	}
	return command.Lock.Wants(command)
}

// departs marks a command as sent and returns true. It returns false if the command was recalled, or belongs to another
// node now.
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

// recalled counts the waiting commands that the lock of a key has recalled.
func (c *coordinator) recalled(key string) {
	n := c.nodeOf(key)
	for _, verb := range c.fx.Recalled {
		c.forgo(n, verb)
	}
	c.fx.Recalled = c.fx.Recalled[:0]
}

// withdrawn handles the end of a state request: its command is no longer needed.
func (c *coordinator) withdrawn(r *actor.Request) {
	if r.Tag == AskState && !r.Departed() {
		c.forgo(c.nodeOf(r.Key), r.Kind.State())
	}
}

// forgo counts a stale command.
func (c *coordinator) forgo(n *node, verb actor.Verb) {
	n.queues[verb].stale++
	n.queues[verb].sweep.since++
	c.thin(n, verb)
}

// pare removes stale commands from a retry batch, and reports whether any command is left.
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

// again queues a batch to be sent once more, without the commands that are no longer wanted.
func (c *coordinator) again(now time.Duration, n *node, b *batch) {
	b.commands = slices.DeleteFunc(b.commands, func(command actor.Command) bool { return !c.returns(now, &command) })
	if len(b.commands) == 0 {
		c.spares = append(c.spares, b)
		return
	}
	n.split = append(n.split, b)
	n.queues[b.verb].parts += len(b.commands)
	if n.link.down && !b.whole && !b.asking { // a batch that sends the script's text stays as it is, and one with ASKING is the probe
		c.dissolve(n)
	}
}

// returns notes that a command waits again, and reports whether it is still wanted.
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

// dissolve moves the commands of retry batches back to the queues. While the server is down they may wait for long, and
// there stale commands are removed.
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
