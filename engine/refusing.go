package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// refusedPerTurn is how many callers of one name a turn refuses together: as many as it tells.
const refusedPerTurn = tellsPerTurn

// refuseOn refuses those whom turns before had no time for: one lock after the other.
func (c *coordinator) refuseOn(now time.Duration) {
	c.fx.Refusals = 0
	for len(c.fx.Refusing) > 0 {
		l := c.fx.Refusing[0]
		if l.Refusing() {
			c.step(now, l, &actor.Message{Kind: actor.RefusesOn})
		}
		if l.Refusing() {
			return
		}
		c.fx.Refusing[0], c.fx.Refusing = nil, c.fx.Refusing[1:]
	}
	c.fx.Refusing = nil
}
