package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// maxRejectedPerTurn is the maximum number of callers of one name that a turn rejects together. It equals the number of
// callers that a turn notifies.
const maxRejectedPerTurn = MaxResultsPerTurn

// continueRejecting continues rejections that earlier turns had no time for, one lock after the other.
func (c *Coordinator) continueRejecting(now time.Duration) {
	c.Fx.Rejections = 0
	if len(c.Fx.Rejecting) == 0 {
		return // nearly always
	}
	for len(c.Fx.Rejecting) > 0 {
		l := c.Fx.Rejecting[0]
		if l.Rejecting() {
			c.step(now, l, &actor.Message{Event: actor.ContinueRejecting})
		}
		if l.Rejecting() {
			return
		}
		c.Fx.Rejecting[0], c.Fx.Rejecting = nil, c.Fx.Rejecting[1:]
	}
	c.Fx.Rejecting = nil
}
