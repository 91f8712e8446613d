package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// maxRejectedPerTurn is the maximum number of callers of one name that a turn rejects together. It equals the number of
// callers that a turn notifies.
const maxRejectedPerTurn = maxResultsPerTurn

// continueRejecting continues rejections that earlier turns had no time for, one lock after the other.
func (c *coordinator) continueRejecting(now time.Duration) {
	c.fx.Rejections = 0
	for len(c.fx.Rejecting) > 0 {
		l := c.fx.Rejecting[0]
		if l.Rejecting() {
			c.step(now, l, &actor.Message{Event: actor.ContinueRejecting})
		}
		if l.Rejecting() {
			return
		}
		c.fx.Rejecting[0], c.fx.Rejecting = nil, c.fx.Rejecting[1:]
	}
	c.fx.Rejecting = nil
}
