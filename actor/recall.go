package actor

import "time"

// A command that has not left is taken back at the end of the step in which it became unneeded. This does not depend on
// the length of its queue, or on whether the server can be reached. The coordinator is notified by Effects.Recalled;
// the command's entry stays in the queue until then.

// Wants reports whether a command that has not left is still needed.
func (l *Lock) Wants(c *Command) bool {
	if c.Tenure == l.tenure && c.Verb == l.flight {
		return l.wants&departed == 0
	}
	g := l.ghostOf(c)
	return g != nil && g.flying && !g.departed
}

// Leaves marks a waiting command as departed, and reports whether it may leave: it may not if it was taken back.
func (l *Lock) Leaves(c *Command) bool {
	if c.Tenure == l.tenure && c.Verb == l.flight && l.wants&departed == 0 {
		l.wants |= departed
		return true // the most frequent case
	}
	if !l.Wants(c) {
		return false
	}
	l.Depart(c, true)
	return true
}

// Depart records that a command has left, or that it waits again.
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

// recallable reports whether a command of the tenure has not left yet.
func (l *Lock) recallable() bool { return l.flight != None && l.wants&departed == 0 }

// recall takes back the tenure's command, which has not left, if it is not needed any more.
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

// returned handles a command that had left, was not executed, and waits to be sent again if it is still needed.
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

// needed reports whether the tenure's command is still needed.
func (l *Lock) needed() bool {
	p := l.protocol()
	switch l.flight {
	case SendJointAcquire:
		return l.rare == nil || l.rare.joint == nil || !l.rare.joint.Decided()
	case p.acquire:
		r := l.queue.first()
		return r != nil && r.Joint == nil // a request for several locks acquires all of them together
	case p.renew, p.pass:
		return l.phase == held
	case p.force:
		return !l.rare.forces.empty()
	}
	return true
}

// ground ends the flight of the tenure's command. If the command has not left, it is taken back.
func (l *Lock) ground(fx *Effects) {
	if l.flight != None && l.wants&departed == 0 {
		l.takeBack(l.flight, fx)
	}
	l.flight = None
}

// takeBack reports to the coordinator that a waiting command must not leave.
func (l *Lock) takeBack(verb Verb, fx *Effects) {
	fx.Recalled = append(fx.Recalled, verb)
	l.wants |= marked
}

// Reusable reports whether a Lock that has finished may be used for another key. If one of its commands is still
// queued, that command would be taken for one of the new key. Numbers do not prevent that: a reader beside a writer has
// the writer's number, and so has the next one.
func (l *Lock) Reusable() bool { return l.wants&marked == 0 }

// leads records a request for several locks that is led by this lock and has its result now. The command must not be
// sent for a request that has left.
func (l *Lock) leads(r *Request) {
	if r.Joint != nil && r.Claimed() && r.lock == l {
		l.withRare().joint = r
	}
}
