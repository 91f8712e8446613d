package engine

import "github.com/lockwheel/lockwheel/actor"

// What a turn looks at lies all over the memory: every lock, request and caller was made by another goroutine, and
// mostly another processor has written it last. A processor waits for several such places at once if it
// comes to them at once, and for one after the other if a step lies between. So they are looked at beforehand, for
// nothing but that. Measured with 2048 callers, pairs a second: 5 % for locks and
// requests, and 2 to 3 % for callers.

// fetchLocks looks at the locks of commands that were answered, and at whom the answer is for.
func (c *coordinator) fetchLocks(commands []actor.Command) {
	for i := range commands {
		if l := commands[i].Lock; l != nil {
			c.fetched += l.Fetch()
		}
	}
}

// fetchCallers looks at those who are about to be told.
func (c *coordinator) fetchCallers() {
	for _, r := range c.tells.told {
		c.fetched += len(r.Ready)
	}
}
