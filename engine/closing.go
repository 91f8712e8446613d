package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/wheel"
)

// closing is the end of all holds and requests, of some locks a turn. Owned by the coordinator.
type closing struct {
	round                  // of the locks that are still to be ended
	asked []*actor.Request // for the close: they are told when all is over
}

// close begins to end every hold and every request. Nothing leaves after it, and nothing is granted.
func (c *coordinator) close(now time.Duration, r *actor.Request) {
	c.closed = true
	for _, r := range c.waiting {
		c.cutShort(now, r, actor.ErrClosed, nil)
	}
	c.waiting = nil
	c.drains, c.spreads, c.fx.Refusing = round{}, nil, nil
	c.closes = closing{c.newRound(), []*actor.Request{r}}
}

// closeSome ends the next locks, then refuses some of the mail that was not opened.
func (c *coordinator) closeSome(now time.Duration) {
	for looks := c.intake.looks; looks > 0 && c.closes.on(); looks-- {
		if l := c.closes.left[0]; l.Key() != "" && !l.Close(now, c.fx) { // it may have ended
			return
		}
		c.closes.take(1)
	}
	if !c.closes.on() && c.refuseSome(now) {
		c.closeRest(now)
	}
}

// closeRest ends what stands in no lock's line, waiting or on its way: such requests have only their timer here.
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

// closesOn reports whether a close has anything left to do.
func (c *coordinator) closesOn() bool {
	return c.closes.asked != nil || c.lettersLeft() > 0 || c.tells.waits()
}
