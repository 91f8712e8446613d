package coordinator

import "github.com/lockwheel/lockwheel/actor"

// prefetchLocks prefetches the locks of commands with replies, and their first waiters.
func (c *Coordinator) prefetchLocks(commands []actor.Command) {
	for i := range commands {
		if l := commands[i].Lock; l != nil {
			c.prefetchSink += l.Prefetch()
		}
	}
}

// PrefetchCallers prefetches the callers that are about to be notified.
func (c *Coordinator) PrefetchCallers() {
	for _, r := range c.Results.Ready {
		c.prefetchSink += len(r.Ready)
	}
}
