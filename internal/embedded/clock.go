package embedded

import "time"

const (
	shortest = 2 * time.Millisecond  // between two steps of the clock
	longest  = 50 * time.Millisecond // the same, when the steps are expensive
	share    = 8                     // a step may take the eighth part of the time, then they become rarer
	stall    = 10 * time.Millisecond // that a step may come late without the server's clock losing time
)

// clock decides by how much the server's time advances, and when next. It belongs to the goroutine that drives it.
//
// A step takes miniredis time in proportion to the number of its keys (2.4 ms for 10 000), so it cannot be arbitrarily fine. A key
// whose TTL is set between two steps loses all of the time between them, and so can expire early by as much. To bound this, no
// step goes further than was planned, and a little: when the process did not run for longer, the server has not seen that time,
// like a server that was frozen with it, and keys live longer. That may have been within a step, too: one counts for no more than twice
// the one before, and a little.
type clock struct {
	server time.Time     // what the server takes for now
	last   time.Time     // when the last step began
	took   time.Duration // how long it took, as far as that counts
	gap    time.Duration // from its end to the next
}

func startClock(now time.Time) clock {
	return clock{server: now, last: now, gap: shortest}
}

// advance begins a step and returns by how much time has gone on.
func (c *clock) advance(now time.Time) time.Duration {
	passed := min(now.Sub(c.last), c.took+c.gap+stall)
	c.last = now
	c.server = c.server.Add(passed)
	return passed
}

// settle ends the step and decides how long to wait for the next.
func (c *clock) settle(now time.Time) {
	took := now.Sub(c.last)
	c.took = min(took, 2*c.took+stall)
	c.gap = min(max(shortest, took*share), longest)
}
