package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/wheel"
)

const (
	// firedPerTurn is how many timers of each wheel fire in a turn, however many are due: when the process or the clock stood still, all may be.
	firedPerTurn = 128
	// sortsPerTimer is how many timers a turn sorts for each that it may fire.
	sortsPerTimer = 8
)

// newWheel makes a wheel of which so many timers fire in a turn.
func newWheel(budget int) *wheel.Wheel[actor.Sleeper] {
	w, err := wheel.New[actor.Sleeper](tick, wheel.Config{Budget: budget, Sorts: sortsPerTimer * budget})
	if err != nil {
		panic("lockwheel: bug: " + err.Error())
	}
	return w
}

// fire wakes those whose timers are due: so many a turn. Locks that the engine has are renewed before anything else.
func (c *coordinator) fire(now time.Duration) {
	if now < c.fx.Soonest {
		return
	}
	wake := func(t *wheel.Timer[actor.Sleeper]) { c.wake(now, t.Value) }
	c.fx.Leases.Advance(now, wake)
	c.fx.Wheel.Advance(now, wake)
	c.reckon()
}

// reckon asks the wheels when the next timer fires. Between times a bound is enough, which only falls: most
// turns come long before it, and most timers are cancelled. Before a sleep with nothing under way they are
// asked, so that an idle engine does not wake for a timer that is gone.
func (c *coordinator) reckon() {
	c.fx.Soonest = never
	for _, w := range [...]*wheel.Wheel[actor.Sleeper]{c.fx.Leases, c.fx.Wheel} {
		if at, ok := w.Next(); ok {
			c.fx.Soonest = min(c.fx.Soonest, at)
		}
	}
}

// timers is how many there are.
func (c *coordinator) timers() int { return c.fx.Leases.Len() + c.fx.Wheel.Len() }
