package engine

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// Only commands that are still wanted are sent. A lock recalls its command in the step in which it is no longer needed.
// The command's place in the queue is freed later by a sweep. So an outage costs memory only for the callers that keep
// waiting, and cancelling a call takes constant time.

// stillWanted reports whether a waiting command is still to be sent.
func stillWanted(command *actor.Command) bool {
	if command.Lock == nil {
		return !command.Request.Completed() && !command.Request.Dispatched()
	}
	return command.Lock.StillWants(command)
}

// shouldSend marks a command as sent and returns true. It returns false if the command was recalled, or belongs to another
// node now.
func (c *coordinator) shouldSend(n *node, command *actor.Command) bool {
	switch {
	case n.needsRequeue && stillWanted(command) && c.requeueElsewhere(n, command):
	case command.Lock != nil:
		if command.Lock.TryDispatch(command) {
			return true
		}
	case stillWanted(command):
		command.Request.SetDispatched(true)
		return true
	}
	q := &n.queues[command.Verb]
	q.stale = max(q.stale-1, 0)
	return false
}

// onRecalled counts the waiting commands that the lock of a key has recalled.
func (c *coordinator) onRecalled(key string) {
	n := c.nodeForKey(key)
	for _, verb := range c.fx.Recalled {
		c.noteStale(n, verb)
	}
	c.fx.Recalled = c.fx.Recalled[:0]
}

// onStateDropped handles the end of a state request: its command is no longer needed.
func (c *coordinator) onStateDropped(r *actor.Request) {
	if r.Op == AskState && !r.Dispatched() {
		c.noteStale(c.nodeForKey(r.Key), r.Kind.State())
	}
}

// noteStale counts a stale command.
func (c *coordinator) noteStale(n *node, verb actor.Verb) {
	n.queues[verb].stale++
	n.queues[verb].sweep.since++
	c.sweepIfStale(n, verb)
}

// dropStale removes stale commands from a retry batch, and reports whether any command is left.
func (c *coordinator) dropStale(n *node, b *batch) bool {
	before := len(b.commands)
	b.commands = slices.DeleteFunc(b.commands, func(command actor.Command) bool { return !stillWanted(&command) })
	q, taken := &n.queues[b.verb], before-len(b.commands)
	q.inRetries -= taken
	q.stale = max(q.stale-taken, 0)
	if len(b.commands) == 0 {
		c.freeBatches = append(c.freeBatches, b)
	}
	return len(b.commands) > 0
}

// retry queues a batch to be sent once more, without the commands that are no longer wanted.
func (c *coordinator) retry(now time.Duration, n *node, b *batch) {
	b.commands = slices.DeleteFunc(b.commands, func(command actor.Command) bool { return !c.shouldRetry(now, &command) })
	if len(b.commands) == 0 {
		c.freeBatches = append(c.freeBatches, b)
		return
	}
	n.retries = append(n.retries, b)
	n.queues[b.verb].inRetries += len(b.commands)
	if n.breaker.down && !b.sendText && !b.asking { // a batch that sends the script's text stays as it is, and one with ASKING is the probe
		c.requeueRetries(n)
	}
}

// shouldRetry notes that a command waits again, and reports whether it is still wanted.
func (c *coordinator) shouldRetry(now time.Duration, command *actor.Command) bool {
	switch l := command.Lock; {
	case l == nil:
		command.Request.SetDispatched(false)
	case l.Key() == "":
		return false
	default:
		c.step(now, l, &actor.Message{Event: actor.Requeued, Command: command})
	}
	return stillWanted(command)
}

// requeueRetries moves the commands of retry batches back to the queues. While the server is down they may wait for long, and
// there stale commands are removed.
func (c *coordinator) requeueRetries(n *node) {
	parts := n.retries
	n.retries = nil
	for _, b := range parts {
		n.queues[b.verb].inRetries -= len(b.commands)
		for i := range b.commands {
			c.enqueue(&b.commands[i])
		}
		c.freeBatches = append(c.freeBatches, b)
	}
}
