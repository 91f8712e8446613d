package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/wheel"
)

const (
	// firedPerTurn is the maximum number of timers of each wheel that fire in a turn. After a pause of the process or
	// of the clock all may be due.
	firedPerTurn = 128
	// sortsPerTimer is the maximum number of timers that a turn sorts, per timer that may fire.
	sortsPerTimer = 8
)

// newWheel returns a wheel of which at most budget timers fire in a turn.
func newWheel(budget int) *wheel.Wheel[actor.Sleeper] {
	w, err := wheel.New[actor.Sleeper](tick, wheel.Config{Budget: budget, Sorts: sortsPerTimer * budget})
	if err != nil {
		panic("lockwheel: bug: " + err.Error())
	}
	return w
}

// fire runs due timers, at most firedPerTurn of each wheel. Renewals of held locks come first.
func (c *coordinator) fire(now time.Duration) {
	if now < c.fx.Soonest {
		return
	}
	wake := func(t *wheel.Timer[actor.Sleeper]) { c.wake(now, t.Value) }
	c.fx.Leases.Advance(now, wake)
	c.fx.Wheel.Advance(now, wake)
	c.reckon()
}

// reckon sets the next timer's time from the wheels. Between calls fx.Soonest is only a lower bound: most turns come
// long before it, and most timers are cancelled. It is updated before the loop sleeps with nothing in flight, so that
// an idle engine does not wake up for a cancelled timer.
func (c *coordinator) reckon() {
	c.fx.Soonest = never
	for _, w := range [...]*wheel.Wheel[actor.Sleeper]{c.fx.Leases, c.fx.Wheel} {
		if at, ok := w.Next(); ok {
			c.fx.Soonest = min(c.fx.Soonest, at)
		}
	}
}

// timers returns the number of timers on both wheels.
func (c *coordinator) timers() int { return c.fx.Leases.Len() + c.fx.Wheel.Len() }
