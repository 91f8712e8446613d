package embedded

import "time"

const (
	minGap         = 2 * time.Millisecond  // minimum time between two steps of the clock
	maxGap         = 50 * time.Millisecond // maximum, when the steps are expensive
	gapFactor      = 8                     // a step may take one eighth of the time; beyond that, steps become rarer
	stallTolerance = 10 * time.Millisecond // by how much a step may be late without the server's clock losing time
)

// clock decides by how much the server's time advances, and when next. It belongs to the goroutine that drives it.
//
// A step takes miniredis time in proportion to the number of its keys (2.4 ms for 10 000), so it cannot be arbitrarily
// fine. A key that gets its TTL between two steps loses all of the time between them, so it can expire early by that
// much. To bound this, a step advances by at most the planned time plus a small tolerance. If the process did not run
// for longer, the server does not see that time, like a server that was frozen with it. Keys then live longer. The
// pause may have fallen within a step, so a step counts for at most twice the one before plus the tolerance.
type clock struct {
	server time.Time     // the server's current time
	last   time.Time     // when the last step began
	took   time.Duration // its duration, as far as that counts
	gap    time.Duration // from its end to the next step
}

func startClock(now time.Time) clock {
	return clock{server: now, last: now, gap: minGap}
}

// advance begins a step and returns by how much the server's time advances.
func (c *clock) advance(now time.Time) time.Duration {
	passed := min(now.Sub(c.last), c.took+c.gap+stallTolerance)
	c.last = now
	c.server = c.server.Add(passed)
	return passed
}

// finish ends the step and decides how long to wait for the next.
func (c *clock) finish(now time.Time) {
	took := now.Sub(c.last)
	c.took = min(took, 2*c.took+stallTolerance)
	c.gap = min(max(minGap, took*gapFactor), maxGap)
}
