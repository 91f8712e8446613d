package engine

import "github.com/lockwheel/lockwheel/actor"

// A turn reads memory that lies far apart: other goroutines made the locks, requests and callers, and usually another
// processor wrote them last. A processor overlaps several cache misses if they come together, but not if a step lies
// between them. So the turn reads these places beforehand, only to have them in the cache.
//
// Measured with 2048 callers, pairs a second: 5 % more for locks and requests, and 2 to 3 % for callers.

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
