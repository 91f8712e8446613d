package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/wheel"
)

// closing ends all holds and requests, a bounded number of locks per turn. Owned by the coordinator.
type closing struct {
	round                  // locks that are still to be ended
	asked []*actor.Request // the close requests; they get their results at the end
}

// close starts to end every hold and every request. No command is sent and no lock is granted from then on.
func (c *coordinator) close(now time.Duration, r *actor.Request) {
	c.closed = true
	for _, r := range c.waiting {
		c.cutShort(now, r, actor.ErrClosed, nil)
	}
	c.waiting = nil
	c.drains, c.spreads, c.fx.Refusing = round{}, nil, nil
	c.closes = closing{c.newRound(), []*actor.Request{r}}
}

// closeSome ends the next locks. Once all have ended, it rejects some of the messages that have not been handled.
func (c *coordinator) closeSome(now time.Duration) {
	for looks := c.intake.looks; looks > 0 && c.closes.on(); looks-- {
		if l := c.closes.left[0]; l.Key() != "" && !l.Close(now, c.fx) { // it may have ended in the meantime
			return
		}
		c.closes.take(1)
	}
	if !c.closes.on() && c.refuseSome(now) {
		c.closeRest(now)
	}
}

// closeRest ends the requests that wait at no lock: the coordinator reaches them only through their timers. Then it
// completes the close.
func (c *coordinator) closeRest(now time.Duration) {
	if c.closes.asked == nil {
		return
	}
	c.fx.Wheel.Stop(func(t *wheel.Timer[actor.Sleeper]) {
		if r, ok := t.Value.(*actor.Request); ok {
			c.fx.Decide(now, r, actor.ErrClosed, nil)
		}
	})
	for _, r := range c.closes.asked {
		c.fx.Decide(now, r, nil, nil)
	}
	c.closes.asked = nil
}

// closesOn reports whether the close has work left.
func (c *coordinator) closesOn() bool {
	return c.closes.asked != nil || c.lettersLeft() > 0 || c.tells.waits()
}
