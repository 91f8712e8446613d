package actor

import "time"

// force handles a request to take the lock away from its holder. A hold of this engine is lost at once, before the
// server knows.
func (l *Lock) force(now time.Duration, r *Request, fx *Effects) {
	r.lock = l
	l.withRare().forces.push(r)
	fx.Limit(r, now+fx.Config.Timeout)
}

// evict ends this engine's holds of a lock that is about to be forced away. Their tenure is not released before the
// force, or the lock would look free to the caller of the force. If the force does not succeed, the tenure is released
// after all.
func (l *Lock) evict(now time.Duration, fx *Effects) {
	x := l.rare
	if x.forces.empty() && l.phase == free && x.evicted() != 0 {
		t := x.troubles
		l.haunt(now, t.evicted, t.reached, fx)
		t.evicted = 0
	}
	if x.forces.empty() || l.phase != held {
		return
	}
	t := x.withTroubles()
	t.evicted, t.reached = l.tenure, l.reach()
	l.endHolds(now, ErrLost, errForced, fx)
	l.strand(now, ErrLost, fx)
	l.endTenure(now, fx)
}

// sendForce sends one command for all pending force requests. It is sent only once: a copy that runs late would take
// the lock from the next holder.
func (l *Lock) sendForce(now time.Duration, fx *Effects) {
	x := l.rare
	if now < x.retryAt() {
		return
	}
	l.tenure, l.phase, l.flight = fx.nextTenure(), forcing, l.protocol().force
	l.numbered(l.tenure, fx)
	fx.Tenures++
	x.forces.each(func(r *Request) { r.aboard = true })
	l.emit(fx, Command{Verb: l.flight})
}

// forced handles the result of a force.
func (l *Lock) forced(now time.Duration, m *Message, fx *Effects) {
	x, t, reply := l.rare, l.rare.withTroubles(), m.Reply
	l.endTenure(now, fx)
	if reply.Status == Done || reply.Status == Gone {
		t.last, x.askAt = nil, 0
		if !l.protocol().stamps || reply.Status == Done { // readers beside a writer cannot be forced away
			t.evicted = 0
		}
	}
	if reply.Muted {
		fx.Stats.Muted++
	}
	again := reply.passes()
	if again {
		t.last = reply.Err
		t.retryAt = now + x.nextBackoff(fx)
	}
	x.forces.each(func(r *Request) {
		if !r.aboard {
			return
		}
		if r.aboard = !again; !again {
			r.Was = reply.Status == Done
			fx.Decide(now, r, forceError(reply), forceCause(reply))
		}
	})
}

func forceError(reply *Reply) error {
	switch reply.Status {
	case Unanswered:
		return ErrUnavailable
	case Refused:
		return reply.Err
	}
	return nil
}

func forceCause(reply *Reply) error {
	if reply.Status == Unanswered {
		return reply.Err
	}
	return nil
}
