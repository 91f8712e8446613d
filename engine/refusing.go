package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// refusedPerTurn is the maximum number of callers of one name that a turn rejects together. It equals the number of
// callers that a turn notifies.
const refusedPerTurn = tellsPerTurn

// refuseOn continues rejections that earlier turns had no time for, one lock after the other.
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
