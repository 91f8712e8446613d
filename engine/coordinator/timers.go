package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/wheel"
)

const (
	// maxTimersPerTurn is the maximum number of timers of each wheel that fire in a turn. After a pause of the process
	// or of the clock all may be due.
	maxTimersPerTurn = 128
	// sortsPerTimer is the maximum number of timers that a turn sorts, per timer that may fire.
	sortsPerTimer = 8
)

// newWheel returns a wheel of which at most budget timers fire in a turn.
func newWheel(budget int) *wheel.Wheel[actor.TimerTarget] {
	w, err := wheel.New[actor.TimerTarget](Tick, wheel.Config{Budget: budget, Sorts: sortsPerTimer * budget})
	if err != nil {
		panic("lockwheel: bug: " + err.Error())
	}
	return w
}

// fireTimers runs due timers, at most maxTimersPerTurn of each wheel. Renewals of held locks come first.
func (c *Coordinator) fireTimers(now time.Duration) {
	if c.Fx.NextTimer > c.timersFired { // otherwise the last turn has left some
		c.timersLate = max(now-c.Fx.NextTimer, 0)
	}
	if now < c.Fx.NextTimer {
		return
	}
	c.timersFired = now
	wake := func(t *wheel.Timer[actor.TimerTarget]) { c.onTimer(now, t.Value) }
	c.Fx.HeldTimers.Advance(now, wake)
	c.Fx.OtherTimers.Advance(now, wake)
	c.refreshNextTimer()
}

// refreshNextTimer sets the next timer's time from the wheels. Between calls Fx.NextTimer is only a lower bound: most
// turns come long before it, and most timers are canceled. It is updated before the loop sleeps with nothing in flight,
// so that an idle engine does not wake up for a canceled timer.
func (c *Coordinator) refreshNextTimer() {
	c.Fx.NextTimer = NoTimer
	for _, w := range [...]*wheel.Wheel[actor.TimerTarget]{c.Fx.HeldTimers, c.Fx.OtherTimers} {
		if at, ok := w.Next(); ok {
			c.Fx.NextTimer = min(c.Fx.NextTimer, at)
		}
	}
}

// Timers returns the number of timers on both wheels.
func (c *Coordinator) Timers() int { return c.Fx.HeldTimers.Len() + c.Fx.OtherTimers.Len() }
