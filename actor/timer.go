package actor

import (
	"time"

	"github.com/lockwheel/lockwheel/wheel"
)

// rearm sets the lock's timer to the next time at which the lock has something to do. A timer that is set too early
// stays: one needless wakeup costs less than moving the timer each time.
func (l *Lock) rearm(now time.Duration, fx *Effects) {
	at := l.nextWake(now, fx)
	on := l.wheel(fx)
	if at == never || l.timer.Scheduled() && on.FiresBy(&l.timer, at) {
		return
	}
	fx.schedule(on, &l.timer, at)
}

// setPhase changes the phase. The timer is always on the wheel of the phase.
func (l *Lock) setPhase(phase Phase, fx *Effects) {
	if l.phase == releasing {
		fx.ReleasingLocks--
	}
	if phase == releasing {
		fx.ReleasingLocks++
	}
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
func (l *Lock) wheel(fx *Effects) *wheel.Wheel[TimerTarget] {
	if l.phase == held || l.phase == releasing {
		return fx.HeldTimers
	}
	return fx.OtherTimers
}

// nextWake returns the next time at which something happens without a message.
func (l *Lock) nextWake(now time.Duration, fx *Effects) time.Duration {
	at := never
	switch l.phase {
	case held:
		at = min(l.validUntil, l.nextHoldLimit(fx), l.heldTooLongAt(fx))
		if l.inFlight == None {
			at = min(at, l.renewAt(now, fx))
		}
	case releasing:
		at = l.validUntil
		if l.inFlight == None && l.ext != nil {
			at = min(at, l.ext.retryAt())
		}
	}
	if l.ext != nil {
		at = min(at, l.ext.nextWake(l))
	}
	return at
}

// nextWake returns the earliest time of what a lock without an ext never has to do. That is to try again, unless its
// command is in flight; to unsubscribe; to release or drop an orphan.
func (x *ext) nextWake(l *Lock) time.Duration {
	at := never
	switch {
	case l.inFlight != None:
	case l.phase == free && !x.forceRequests.empty():
		at = x.retryAt() // nothing is acquired before that
	case !l.queue.empty() && (l.phase == free || l.phase == acquiring):
		at = x.nextTry
	}
	if x.unsubscribeAt != 0 {
		at = min(at, x.unsubscribeAt)
	}
	for _, o := range x.orphans() {
		if !o.dispatched {
			at = min(at, o.until)
		}
		if !o.inFlight {
			at = min(at, o.releaseAt)
		}
	}
	return at
}
