package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/wheel"
)

// closing ends all holds and requests, a bounded number of locks per turn. Owned by the coordinator.
type closing struct {
	round                          // locks that are still to be ended
	closeRequests []*actor.Request // the close requests; they get their results at the end
}

// close starts to end every hold and every request. No command is sent and no lock is granted from then on.
func (c *Coordinator) close(now time.Duration, r *actor.Request) {
	c.Closed = true
	for _, r := range c.shutdownWaiters {
		c.endShutdownWait(now, r, actor.ErrClosed, nil)
	}
	c.shutdownWaiters = nil
	c.DrainRound, c.fanouts, c.Fx.Rejecting = round{}, nil, nil
	c.closing = closing{c.NewRound(), []*actor.Request{r}}
}

// closeSome ends the next locks. Once all have ended, it rejects some of the messages that have not been handled.
func (c *Coordinator) closeSome(now time.Duration) {
	for looks := c.intake.lockBudget; looks > 0 && c.closing.On(); looks-- {
		if l := c.closing.Left[0]; l.Key() != "" && !l.Close(now, c.Fx) { // it may have ended in the meantime
			return
		}
		c.closing.take(1)
	}
	if !c.closing.On() && c.rejectSome(now) {
		c.closeRest(now)
	}
}

// closeRest ends the requests that wait at no lock: the coordinator reaches them only through their timers. Then it
// completes the close.
func (c *Coordinator) closeRest(now time.Duration) {
	if c.closing.closeRequests == nil {
		return
	}
	c.Fx.Wheel.Stop(func(t *wheel.Timer[actor.TimerTarget]) {
		if r, ok := t.Value.(*actor.Request); ok {
			c.Fx.Complete(now, r, actor.ErrClosed, nil)
		}
	})
	for _, r := range c.closing.closeRequests {
		c.Fx.Complete(now, r, nil, nil)
	}
	c.closing.closeRequests = nil
}

// ClosePending reports whether the close has work left.
func (c *Coordinator) ClosePending() bool {
	return c.closing.closeRequests != nil || c.MessagesLeft() > 0 || c.Results.pending()
}
