package actor

import "time"

// ThreadOwner is set in owner numbers that a caller chose to keep from lock to lock. All others are
// made by a first grant and die with its last hold.
const ThreadOwner = 1 << 63

// acquire takes in somebody who wants the lock.
func (l *Lock) acquire(now time.Duration, r *Request, fx *Effects) {
	r.lock = l
	if l.phase == held && l.holds != nil && r.Owner != 0 && r.Owner == l.holds.Owner {
		l.reenter(now, r, fx)
		return
	}
	if r.Once && (l.phase == held || !l.queue.empty()) {
		l.TurnAway(now, r, fx)
		return
	}
	if x := l.rare; x != nil && l.phase == free && l.queue.empty() {
		x.begin(now)
	}
	l.queue.push(r)
	switch {
	case r.Once:
		fx.Limit(r, now+fx.Config.Timeout+fx.Config.ReplicaFor)
	case r.Wait > 0:
		fx.Limit(r, now+r.Wait)
	}
	if l.phase == held {
		l.withRare()
	}
}

// TurnAway refuses somebody who does not queue behind others.
func (l *Lock) TurnAway(now time.Duration, r *Request, fx *Effects) {
	if l.rare != nil && l.rare.trouble != nil {
		fx.Decide(now, r, ErrUnavailable, l.rare.trouble)
		return
	}
	fx.Decide(now, r, ErrNotAcquired, nil)
}

// begin forgets what was known for those who waited before: whoever comes first asks for itself.
func (x *rare) begin(now time.Duration) {
	x.answered, x.poll = false, 0
	if x.trouble == nil {
		x.askAt = max(now, x.stepBack)
	}
}

// reenter grants at once what the confirmed lease covers; a longer lease takes a round trip first.
func (l *Lock) reenter(now time.Duration, r *Request, fx *Effects) {
	if l.reentered(now, r, fx) {
		return
	}
	if limit := l.patience(r, fx); limit != 0 {
		fx.Limit(r, now+limit)
	}
}

// reentered reports whether a re-entry has its verdict. If not it waits for a round trip.
func (l *Lock) reentered(now time.Duration, r *Request, fx *Effects) bool {
	if longest := fx.Config.MaxHold; r.Lease == 0 && longest != 0 && now >= l.since+longest {
		fx.Decide(now, r, ErrLost, errMaxHold) // its owner is there only by a lease of its own
		return true
	}
	fits := r.Lease == 0 || now+believed(r.Lease) <= l.until
	if fits && l.confirmed >= fx.Doubted {
		fixed := time.Duration(0)
		if r.Lease != 0 {
			fixed = now + believed(r.Lease)
		}
		l.grant(now, r, fixed, fx)
		return true
	}
	l.withRare().changes.push(r)
	return false
}

// rejoin lets those who still queue for a claim that was granted re-enter, if it is their owner who has it: they were
// re-entering when that one lost it, and a claim has no other queue.
func (l *Lock) rejoin(now time.Duration, fx *Effects) {
	l.queue.each(func(r *Request) {
		if r.Owner != 0 && r.Owner == l.holds.Owner {
			l.queue.remove(r)
			l.reentered(now, r, fx)
		}
	})
}

// patience is how long a re-entry waits for its round trip; 0 is as long as its caller likes.
func (l *Lock) patience(r *Request, fx *Effects) time.Duration {
	if r.Once {
		return fx.Config.Timeout
	}
	return r.Wait
}

// grant gives the lock to a request. fixed is when its own lease ends, 0 if it is watched.
func (l *Lock) grant(now time.Duration, r *Request, fixed time.Duration, fx *Effects) {
	l.give(now, r.Hold, r.Owner, fixed, fx)
	if l.protocol().tokens {
		r.Token = l.withRare().given
	}
	fx.Decide(now, r, nil, nil)
}

// give makes a hold the innermost of the lock.
func (l *Lock) give(now time.Duration, h *Hold, owner uint64, fixed time.Duration, fx *Effects) {
	if l.holds == nil {
		l.fence()
		l.since = now
		l.wants &^= capped | wantFresh
		h.Owner = owner
		if owner&ThreadOwner == 0 && !l.besideWriter() {
			h.Owner = fx.nextOwner()
		}
		if longest := fx.Config.MaxHold; longest != 0 && longest <= fx.Config.Lease && fixed == 0 {
			l.wants |= capped
		}
	} else {
		h.Owner = l.holds.Owner
	}
	h.Tenure, h.lock, h.fixed = l.tenure, l, fixed
	h.next, l.holds = l.holds, h
	h.publish(min(l.until, l.limitOf(h, fx)))
}

// fence makes the last token that of a new owner. One that comes after the grant is the next owner's.
func (l *Lock) fence() {
	if l.protocol().tokens {
		x := l.withRare()
		x.given = x.token
	}
}

// leaseOf is the lease a request needs when it becomes the owner.
func (fx *Effects) leaseOf(r *Request) time.Duration {
	if r.Lease != 0 {
		return r.Lease
	}
	if fx.Config.MaxHold != 0 {
		return min(fx.Config.Lease, fx.Config.MaxHold)
	}
	return fx.Config.Lease
}

// ask tries to take the lock for the first in the queue, if it is time.
func (l *Lock) ask(now time.Duration, fx *Effects) {
	r := l.queue.first()
	if r == nil {
		return
	}
	if r.Joint != nil {
		l.askJointly(now, r, fx)
		return
	}
	x := l.rare
	if x != nil && now < x.askAt {
		return
	}
	if l.phase == free {
		l.tenure, l.phase = l.nextTenure(fx), asking
		fx.Asking++
	}
	l.flight = l.protocol().acquire
	c := Command{Verb: l.flight, Lease: fx.leaseOf(r)}
	if x != nil {
		x.again = false
		c.Ghosts = x.names()
		if l.besideWriter() {
			c.Reads = &Reads{Writer: x.reading.writer}
		}
	}
	if l.protocol().queues {
		c.Wait, c.Behind = l.withRare().place(fx.waitOf(r)), l.rare.behind
	}
	l.emit(fx, c)
}

// acquired takes in what became of a question.
func (l *Lock) acquired(now time.Duration, m *Message, fx *Effects) {
	switch m.Reply.Status {
	case Done:
		l.phase, l.written = held, 1
		fx.Asking--
		fx.Tenures++
		l.confirm(m.Sent, m.Command.Lease, fx)
		l.tokened(m.Reply)
		if !m.Reply.replicated(fx) {
			l.undo(m.Reply, fx)
			return
		}
		l.granted(now, m, fx)
	case Taken:
		l.taken(now, m, fx)
	case Refused:
		l.refused(now, m.Reply, fx)
	default:
		l.unanswered(m.Sent, m.Command.Lease, fx)
		l.rare.acquiring = true
		l.rare.trouble = m.Reply.Err
		if m.Reply.pauses() {
			l.rare.askAt = now + l.rare.nextBackoff(fx)
		}
	}
}

// tokened takes in the token that came with an answer.
func (l *Lock) tokened(reply *Reply) {
	if reply.Token != 0 {
		l.withRare().token = reply.Token
	}
}

// granted hands a tenure that was just taken to the first of the queue, if its lease is what that one
// needs; otherwise passOn confirms it first. An answer that comes after its own lease is no grant.
func (l *Lock) granted(now time.Duration, m *Message, fx *Effects) {
	if now >= l.until {
		x := l.withRare()
		x.trouble = errTooLate
		x.askAt = now + x.nextBackoff(fx)
		l.until = now + fx.Config.Timeout // for the release only
		l.end()
		return
	}
	r := l.queue.first()
	forced := l.rare != nil && !l.rare.forces.empty()
	if r != nil && r.Joint == nil && !forced && fx.leaseOf(r) == m.Command.Lease && m.Sent >= fx.Doubted {
		l.hand(now, r, fx)
	}
}

// refused takes in that the server does not want to answer: for now, or for good.
func (l *Lock) refused(now time.Duration, reply *Reply, fx *Effects) {
	if !l.protocol().queues {
		l.endTenure(now, fx)
	}
	x := l.withRare()
	if reply.passes() {
		x.trouble = reply.Err
		x.askAt = now + x.nextBackoff(fx)
		return
	}
	l.queue.each(func(r *Request) { fx.Decide(now, r, reply.Err, nil) })
}
