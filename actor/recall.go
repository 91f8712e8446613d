package actor

import "time"

// A command that has not left yet is taken back as soon as nobody needs it: at the end of the step in which that
// became so, however long the queue is in which it stands, and whether or not the server can be reached. What is
// left of it is a place in that queue, which the coordinator is told of (Effects.Recalled).

// Wants reports whether a command that has not left is still to leave.
func (l *Lock) Wants(c *Command) bool {
	if c.Tenure == l.tenure && c.Verb == l.flight {
		return l.wants&departed == 0
	}
	g := l.ghostOf(c)
	return g != nil && g.flying && !g.departed
}

// Leaves takes in that a command which waited leaves, and reports whether it does: not if it was taken back.
func (l *Lock) Leaves(c *Command) bool {
	if c.Tenure == l.tenure && c.Verb == l.flight && l.wants&departed == 0 {
		l.wants |= departed
		return true // as nearly always
	}
	if !l.Wants(c) {
		return false
	}
	l.Depart(c, true)
	return true
}

// Depart takes in that a command has left, or that it waits again.
func (l *Lock) Depart(c *Command, left bool) {
	switch g := l.ghostOf(c); {
	case c.Tenure == l.tenure && c.Verb == l.flight:
		if l.wants &^= departed; left {
			l.wants |= departed
		}
	case g != nil:
		g.departed = left
	}
}

// recallable reports whether a command of the tenure waits to leave.
func (l *Lock) recallable() bool { return l.flight != None && l.wants&departed == 0 }

// recall takes back the command of the tenure, which has not left, if nobody needs it any more.
func (l *Lock) recall(now time.Duration, fx *Effects) {
	if l.needed() {
		return
	}
	if l.phase == forcing {
		l.endTenure(now, fx)
		return
	}
	l.ground(fx)
}

// returned takes in that a command which had left has not been done, and waits to be sent again, if somebody still
// needs it.
func (l *Lock) returned(now time.Duration, c *Command, fx *Effects) {
	l.Depart(c, false)
	if g := l.ghostOf(c); g != nil && now >= g.until {
		g.flying = false
	}
	if c.Tenure != l.tenure || c.Verb != l.flight || l.needed() {
		return
	}
	if l.flight = None; l.phase == forcing {
		l.endTenure(now, fx)
	}
}

// needed reports whether somebody needs the command of the tenure.
func (l *Lock) needed() bool {
	p := l.protocol()
	switch l.flight {
	case SendJointAcquire:
		return l.rare == nil || l.rare.joint == nil || !l.rare.joint.Decided()
	case p.acquire:
		r := l.queue.first()
		return r != nil && r.Joint == nil // who wants several asks for all of them
	case p.renew, p.pass:
		return l.phase == held
	case p.force:
		return !l.rare.forces.empty()
	}
	return true
}

// ground ends the flight of a command. If it has not left, it is taken back.
func (l *Lock) ground(fx *Effects) {
	if l.flight != None && l.wants&departed == 0 {
		l.takeBack(l.flight, fx)
	}
	l.flight = None
}

// takeBack tells that a command which waits is not to leave any more.
func (l *Lock) takeBack(verb Verb, fx *Effects) {
	fx.Recalled = append(fx.Recalled, verb)
	l.wants |= marked
}

// Reusable reports whether a Lock that has finished may be another key's. One of which a command still stands in a queue
// would be taken for whose that is: a reader beside its writer has the writer's number, as the next one has.
func (l *Lock) Reusable() bool { return l.wants&marked == 0 }

// leads notes whose question this lock leads, if that one has left: the command must not ask for nobody.
func (l *Lock) leads(r *Request) {
	if r.Joint != nil && r.Claimed() && r.lock == l {
		l.withRare().joint = r
	}
}
