package actor

import "time"

// rearm sets the lock's timer to the next moment at which it wants to be woken. A timer that is early
// is left alone: it costs less to be woken once too often than to move it each time.
func (l *Lock) rearm(now time.Duration, fx *Effects) {
	at := l.nextWake(now, fx)
	if at == never || l.timer.Scheduled() && fx.Wheel.Due(&l.timer) <= at {
		return
	}
	fx.schedule(&l.timer, at)
}

// nextWake is the next moment at which something happens without a message.
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
			at = min(at, l.rare.retryAt)
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
		at = x.retryAt // nobody is asked before that
	case !l.queue.empty() && (l.phase == free || l.phase == asking):
		at = x.askAt
	}
	if x.leaveAt != 0 {
		at = min(at, x.leaveAt)
	}
	for _, g := range x.ghosts {
		if !g.departed {
			at = min(at, g.until)
		}
		if !g.flying {
			at = min(at, g.at)
		}
	}
	return at
}
