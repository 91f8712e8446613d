package actor

import "time"

// force takes in that somebody wants the lock taken away from whoever holds it. For a hold of this
// engine that is a loss at once, before the server knows.
func (l *Lock) force(now time.Duration, r *Request, fx *Effects) {
	r.lock = l
	l.withRare().forces.push(r)
	fx.Limit(r, now+fx.Config.Timeout)
}

// evict ends what this engine holds because it is about to be forced away. Nothing of it is released
// before that, or the lock would look free to whoever asked for the force; if the force does not come
// to pass, it is released after all.
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

// sendForce sends one command for all who asked. It is sent once: a copy that runs late would take the
// lock from somebody else.
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

// forced takes in what became of it.
func (l *Lock) forced(now time.Duration, m *Message, fx *Effects) {
	x, t, reply := l.rare, l.rare.withTroubles(), m.Reply
	l.endTenure(now, fx)
	if reply.Status == Done || reply.Status == Gone {
		t.last, x.askAt = nil, 0
		if !l.protocol().stamps || reply.Status == Done { // beside a writer readers cannot be forced away
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
