package actor

import "time"

// never is later than every moment.
const never = time.Duration(1<<63 - 1)

// tick is how finely leases of that length are kept: waits round up to it, leases down.
func tick(lease time.Duration) time.Duration {
	if lease < time.Second {
		return time.Millisecond
	}
	return 5 * time.Millisecond
}

// believed is how much of a lease may be relied on, counted from before it was sent: less one per cent
// (at most 1 s) for clocks that run at different rates, less two ticks for timers that are never early.
// A lease too short for that is believed half.
func believed(lease time.Duration) time.Duration {
	return max(lease-min(lease/100, time.Second)-2*tick(lease), lease/2)
}

// confirm takes in that the server set the TTL to lease with a command sent at that moment.
func (l *Lock) confirm(sent, lease time.Duration, fx *Effects) {
	l.confirmed = sent
	l.until = sent + believed(lease)
	l.wants &^= wantSet | unhurried
	if x := l.rare; x != nil {
		s := x.withLeases()
		s.confirmed, s.longest = lease, max(s.longest, lease)
		if x.troubles != nil {
			x.troubles.retryAt = 0
		}
		x.calm()
		x.answered, x.stepBack = true, 0
		if s.shortest != 0 {
			l.until = min(l.until, sent+believed(s.shortest))
		}
	}
	if l.holds == nil {
		l.wants |= wantFresh
	}
	l.publish(fx)
}

// doubted is the moment before which nothing that was sent counts for grants: its answer may be over, or unknown to the master of now.
func (l *Lock) doubted(fx *Effects) time.Duration {
	if fx.Moved == nil {
		return fx.Doubted
	}
	return max(fx.Doubted, fx.Moved(l.key))
}

// falls reports whether a command with that lease may lower the TTL, as far as this engine knows: by what was confirmed,
// and by what had no answer or was refused, so that the TTL may still be what it was before.
func (l *Lock) falls(now, lease time.Duration) bool {
	if lease == 0 {
		return false
	}
	x := l.rare
	return now+believed(lease) < l.lasting() || l.wants&wantSet != 0 || x != nil && (l.shortest() != 0 || x.trouble() != nil)
}

// lower takes in that the TTL may fall to lease from now on.
func (l *Lock) lower(now, lease time.Duration, fx *Effects) {
	if until := now + believed(lease); until < l.until {
		l.until = until
		l.publish(fx)
	}
}

// unanswered takes in that a command with that lease, sent at that moment, may have run or may still run
// at any time: until the tenure ends it is believed for no longer than the last confirmation plus the
// shortest such lease. Before it was sent it cannot have run.
func (l *Lock) unanswered(sent, lease time.Duration, fx *Effects) {
	x := l.withRare().withLeases()
	x.longest = max(x.longest, lease)
	if lease != 0 && (x.shortest == 0 || lease < x.shortest) {
		x.shortest = lease
		l.until = min(l.until, max(l.confirmed, sent)+believed(lease))
		l.publish(fx)
	}
}

// publish tells the users of the owner's holds until when the lock is believed to be theirs.
func (l *Lock) publish(fx *Effects) {
	h := l.holds
	if h == nil || h.fixed < 0 {
		return
	}
	if s := h.set.Load(); s != nil {
		s.until.Store(int64(l.until))
		return
	}
	h.publish(min(l.until, l.limitOf(h.fixed, fx)))
}

// limitOf is when a hold ends however long the tenure is believed in: its own lease, or MaxHold.
func (l *Lock) limitOf(fixed time.Duration, fx *Effects) time.Duration {
	switch {
	case fixed != 0:
		return fixed
	case fx.Config.MaxHold != 0:
		return l.since + fx.Config.MaxHold
	}
	return never
}

// expire ends what is over by the clock, before anything else is done at that moment.
func (l *Lock) expire(now time.Duration, fx *Effects) {
	switch {
	case l.phase == ending && now >= l.until:
		l.releases.each(func(r *Request) { fx.answerRelease(now, r, ErrUnavailable, l.withTrouble(errUnreleased)) })
		l.haunt(now, l.tenure, l.reach(), fx)
		l.endTenure(now, fx)
	case l.phase == held && now >= l.until:
		l.lose(now, l.whyOver(), fx)
	case l.phase == held && l.holds != nil:
		l.expireHolds(now, fx)
	}
}

// whyOver explains a lease that ended.
func (l *Lock) whyOver() error {
	if l.wants&capped != 0 {
		return errMaxHold
	}
	if l.holds != nil && !l.watched() && !l.cut() {
		return errFixedOver
	}
	return l.whyLate()
}

// whyLate explains a confirmation that did not come in time.
func (l *Lock) whyLate() error { return l.withTrouble(errLeaseOver) }

// withTrouble is a cause, with why the last try failed if it did.
func (l *Lock) withTrouble(cause error) error {
	if l.rare != nil && l.rare.trouble() != nil {
		return joined(cause, l.rare.trouble())
	}
	return cause
}

// expireHolds ends the holds whose limit is reached while others of the same owner may go on.
func (l *Lock) expireHolds(now time.Duration, fx *Effects) {
	if now < l.limit(fx) {
		return
	}
	if s := l.set(); s != nil {
		for _, h := range s.passed(now) {
			l.expireHold(now, h, fx)
		}
		s.over = nil
	} else {
		l.expireHold(now, l.holds, fx)
	}
	if l.holds == nil {
		l.strand(now, ErrLost, fx)
	}
}

func (l *Lock) expireHold(now time.Duration, h *Hold, fx *Effects) {
	cause := errFixedOver
	if h.fixed == 0 {
		cause = errMaxHold
	}
	l.remove(h)
	l.endHold(now, h, ErrLost, cause, fx)
}

// lose ends a tenure that is over or gone. What may be left of it in Redis is released later.
func (l *Lock) lose(now time.Duration, cause error, fx *Effects) {
	l.endHolds(now, ErrLost, cause, fx)
	l.strand(now, ErrLost, fx)
	if cause != errGone {
		l.haunt(now, l.tenure, l.reach(), fx)
	}
	l.endTenure(now, fx)
}

// strand turns the owner's requests under way into those of a stranger: the owner holds nothing any more.
// An extension ends as its hold did. Who waits again to read or to write may have the other half.
func (l *Lock) strand(now time.Duration, err error, fx *Effects) {
	if l.rare == nil {
		return
	}
	owner := uint64(0)
	l.rare.changes.each(func(r *Request) {
		if r.Tag == Extend {
			fx.Decide(now, r, err, nil)
			return
		}
		l.rare.changes.remove(r)
		r.aboard = false
		l.queue.push(r)
		owner = r.Owner
	})
	if owner != 0 && (l.kind == Read || l.kind == Write) {
		fx.Reunites = append(fx.Reunites, Reunite{l, owner})
	}
}

func (l *Lock) endHolds(now time.Duration, err, cause error, fx *Effects) {
	for h := l.holds; h != nil; h = l.holds {
		l.remove(h)
		l.endHold(now, h, err, cause, fx)
	}
}

// endHold takes leave of a hold that is no longer in the list.
func (l *Lock) endHold(now time.Duration, h *Hold, err, cause error, fx *Effects) {
	h.fixed = over
	fx.Stats.Held--
	switch err {
	case ErrNotHeld:
		fx.Stats.Released++
	case ErrLost:
		h.fixed = taken
		fx.Stats.Lost++
	}
	fx.Ended = append(fx.Ended, Ended{Hold: h, Key: l.key, Err: err, Cause: cause, Held: now - l.since, Known: l.known(now, cause)})
}

// known is until when the tenure is known to have been held, at its end: that a key is gone is found out later.
func (l *Lock) known(now time.Duration, cause error) time.Duration {
	switch cause {
	case errGone, errDisplaced, errForced:
		return l.confirmed
	}
	return min(now, l.until)
}

// endTenure forgets the tenure; a copy of its acquire that has no answer may bring it back as a ghost.
func (l *Lock) endTenure(now time.Duration, fx *Effects) {
	if x := l.rare; x != nil {
		if x.acquiring {
			l.haunt(now, l.tenure, l.reach(), fx)
		}
		if x.reading != nil {
			x.reading.tenureEnds(l)
		}
		x.tenureEnds()
		x.answered = x.answered || l.phase == held || l.phase == ending && l.wants&undoing == 0
		if h := x.handoff; h != nil && h.yield != 0 {
			x.stepBack, h.yield = now+h.yield, 0
			x.askAt = x.stepBack
			h.left = now
			if h.heard > 1 {
				x.stepBack, x.askAt = 0, now // somebody else had it already
			}
		}
	}
	if l.phase == asking {
		fx.Asking--
	} else {
		fx.Tenures--
	}
	if l.protocol().private && l.rare != nil {
		l.setListening(false, fx)
	}
	if l.flight != l.protocol().release || !l.Haunted(l.tenure) { // a release under way is its ghost's
		l.ground(fx)
	}
	l.tenure, l.until, l.since, l.written = 0, 0, 0, 0
	l.become(free, fx)
	l.flight, l.wants, l.holds = None, l.wants&marked, nil
}

// cut reports whether a hold has a lease of its own that is not believed to its end: a command without an answer could
// shorten it, unless it is confirmed again and again.
func (l *Lock) cut() bool {
	return l.shortest() != 0 && l.lastFixed(nil) > l.until
}
