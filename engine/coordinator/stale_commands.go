package coordinator

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// StillWanted reports whether a waiting command is still to be sent.
func StillWanted(command *actor.Command) bool {
	if command.Lock == nil {
		return !command.Request.Completed() && !command.Request.Dispatched()
	}
	return command.Lock.StillWants(command)
}

// shouldSend marks a command as sent and returns true. It returns false if the command was recalled, or belongs to
// another node now.
func (c *Coordinator) shouldSend(n *Node, command *actor.Command) bool {
	switch {
	case n.needsRequeue && StillWanted(command) && c.requeueElsewhere(n, command):
	case command.Lock != nil:
		if command.Lock.TryDispatch(command) {
			return true
		}
	case StillWanted(command):
		command.Request.SetDispatched(true)
		return true
	}
	q := &n.Queues[command.Verb]
	q.Stale = max(q.Stale-1, 0)
	return false
}

// onRecalled counts the waiting commands that the lock of a key has recalled.
func (c *Coordinator) onRecalled(key string) {
	n := c.nodeForKey(key)
	for _, verb := range c.Fx.Recalled {
		c.noteStale(n, verb)
	}
	c.Fx.Recalled = c.Fx.Recalled[:0]
}

// onStateDropped handles the end of a state request: its command is no longer needed.
func (c *Coordinator) onStateDropped(r *actor.Request) {
	if r.Op == AskState && !r.Dispatched() {
		c.noteStale(c.nodeForKey(r.Key), r.Kind.State())
	}
}

// noteStale counts a stale command.
func (c *Coordinator) noteStale(n *Node, verb actor.Verb) {
	n.Queues[verb].Stale++
	n.Queues[verb].Sweep.since++
	c.sweepIfStale(n, verb)
}

// dropStale removes stale commands from a retry batch, and reports whether any command is left.
func (c *Coordinator) dropStale(n *Node, b *Batch) bool {
	before := len(b.Commands)
	b.Commands = slices.DeleteFunc(b.Commands, func(command actor.Command) bool { return !StillWanted(&command) })
	q, taken := &n.Queues[b.Verb], before-len(b.Commands)
	q.InRetries -= taken
	q.Stale = max(q.Stale-taken, 0)
	if len(b.Commands) == 0 {
		c.freeBatch(b)
	}
	return len(b.Commands) > 0
}

// retry queues a batch to be sent once more, without the commands that are no longer wanted.
func (c *Coordinator) retry(now time.Duration, n *Node, b *Batch) {
	b.Commands = slices.DeleteFunc(b.Commands, func(command actor.Command) bool { return !c.shouldRetry(now, &command) })
	if len(b.Commands) == 0 {
		c.freeBatch(b)
		return
	}
	n.Retries = append(n.Retries, b)
	n.Queues[b.Verb].InRetries += len(b.Commands)
	if n.Breaker.Down && !b.SendText && !b.Asking { // a batch that sends the script's text stays as it is, and one with ASKING is the probe
		c.requeueRetries(n)
	}
}

// shouldRetry notes that a command waits again, and reports whether it is still wanted.
func (c *Coordinator) shouldRetry(now time.Duration, command *actor.Command) bool {
	switch l := command.Lock; {
	case l == nil:
		command.Request.SetDispatched(false)
	case l.Key() == "":
		return false
	default:
		c.step(now, l, &actor.Message{Event: actor.Requeued, Command: command})
	}
	return StillWanted(command)
}

// requeueRetries moves the commands of retry batches back to the queues. While the server is down they may wait for
// long, and there stale commands are removed.
func (c *Coordinator) requeueRetries(n *Node) {
	batches := n.Retries
	n.Retries = nil
	for _, b := range batches {
		n.Queues[b.Verb].InRetries -= len(b.Commands)
		for i := range b.Commands {
			c.enqueue(&b.Commands[i])
		}
		c.freeBatch(b)
	}
}
