package actor

import (
	"time"

	"github.com/lockwheel/lockwheel/wheel"
)

// rearm sets the lock's timer to the next time at which the lock has something to do. A timer that is set too early
// stays: one needless wakeup costs less than moving the timer each time.
func (l *Lock) rearm(now time.Duration, fx *Effects) {
	at := l.nextWake(now, fx)
	if at == never || l.timer.Scheduled() && fx.Wheel.Due(&l.timer) <= at {
		return
	}
	fx.schedule(l.wheel(fx), &l.timer, at)
}

// become changes the phase. The timer is always on the wheel of the phase.
func (l *Lock) become(phase Phase, fx *Effects) {
	if !l.timer.Scheduled() {
		l.phase = phase
		return
	}
	before := l.wheel(fx)
	if l.phase = phase; l.wheel(fx) != before {
		before.Cancel(&l.timer)
	}
}

// wheel returns the wheel of the lock's timer. Locks to be renewed or released in time have a wheel of their own, so
// that they wait behind nothing else.
func (l *Lock) wheel(fx *Effects) *wheel.Wheel[Sleeper] {
	if l.phase == held || l.phase == ending {
		return fx.Leases
	}
	return fx.Wheel
}

// nextWake returns the next time at which something happens without a message.
func (l *Lock) nextWake(now time.Duration, fx *Effects) time.Duration {
	at := never
	switch l.phase {
	case held:
		at = min(l.until, l.limit(fx))
		if l.flight == None {
			at = min(at, l.renewAt(now, fx))
		}
	case ending:
		at = l.until
		if l.flight == None && l.rare != nil {
			at = min(at, l.rare.retryAt())
		}
	}
	if l.rare != nil {
		at = min(at, l.rare.nextWake(l))
	}
	return at
}

func (x *rare) nextWake(l *Lock) time.Duration {
	at := never
	switch {
	case l.flight != None:
	case l.phase == free && !x.forces.empty():
		at = x.retryAt() // nothing is acquired before that
	case !l.queue.empty() && (l.phase == free || l.phase == asking):
		at = x.askAt
	}
	if x.leaveAt != 0 {
		at = min(at, x.leaveAt)
	}
	for _, g := range x.ghosts() {
		if !g.departed {
			at = min(at, g.until)
		}
		if !g.flying {
			at = min(at, g.at)
		}
	}
	return at
}
