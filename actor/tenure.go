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
	if x := l.rare; x != nil {
		x.lease = lease
		x.trouble, x.backoff, x.retryAt, x.answered, x.stepBack = nil, 0, 0, true, 0
		if x.shortest != 0 {
			l.until = min(l.until, sent+believed(x.shortest))
		}
	}
	if l.holds == nil {
		l.wants |= wantFresh
	}
	l.publish(fx)
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
	x := l.withRare()
	if lease != 0 && (x.shortest == 0 || lease < x.shortest) {
		x.shortest = lease
		l.until = min(l.until, max(l.confirmed, sent)+believed(lease))
		l.publish(fx)
	}
}

func (l *Lock) publish(fx *Effects) {
	for h := l.holds; h != nil; h = h.next {
		h.publish(min(l.until, l.limitOf(h, fx)))
	}
}

// limitOf is when a hold ends however long the tenure is believed in: its own lease, or MaxHold.
func (l *Lock) limitOf(h *Hold, fx *Effects) time.Duration {
	switch {
	case h.fixed != 0:
		return h.fixed
	case fx.Config.MaxHold != 0:
		return l.since + fx.Config.MaxHold
	}
	return never
}

// expire ends what is over by the clock, before anything else is done at that moment.
func (l *Lock) expire(now time.Duration, fx *Effects) {
	switch {
	case l.phase == ending && now >= l.until:
		l.releases.each(func(r *Request) { fx.answerRelease(now, r, ErrUnavailable, l.whyLate()) })
		l.haunt(l.tenure)
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
	if l.holds != nil && !l.watched() {
		return errFixedOver
	}
	return l.whyLate()
}

// whyLate explains a confirmation that did not come in time.
func (l *Lock) whyLate() error {
	if l.rare != nil && l.rare.trouble != nil {
		return joined(errLeaseOver, l.rare.trouble)
	}
	return errLeaseOver
}

// expireHolds ends the holds whose limit is reached while others of the same owner may go on.
func (l *Lock) expireHolds(now time.Duration, fx *Effects) {
	for at := &l.holds; *at != nil; {
		h := *at
		if now < l.limitOf(h, fx) {
			at = &h.next
			continue
		}
		cause := errFixedOver
		if h.fixed == 0 {
			cause = errMaxHold
		}
		*at = h.next
		l.endHold(now, h, ErrLost, cause, fx)
	}
	if l.holds == nil {
		l.strand(now, ErrLost, fx)
	}
}

// lose ends a tenure that is over or gone. What may be left of it in Redis is released later.
func (l *Lock) lose(now time.Duration, cause error, fx *Effects) {
	l.endHolds(now, ErrLost, cause, fx)
	l.strand(now, ErrLost, fx)
	if cause != errGone {
		l.haunt(l.tenure)
	}
	l.endTenure(now, fx)
}

// strand turns the owner's requests under way into those of a stranger: the owner holds nothing any more.
// An extension ends as its hold did.
func (l *Lock) strand(now time.Duration, err error, fx *Effects) {
	if l.rare == nil {
		return
	}
	l.rare.changes.each(func(r *Request) {
		if r.Tag == Extend {
			fx.Decide(now, r, err, nil)
			return
		}
		if r.Once && !l.queue.empty() {
			l.TurnAway(now, r, fx)
			return
		}
		l.rare.changes.remove(r)
		r.aboard = false
		l.queue.push(r)
	})
}

func (l *Lock) endHolds(now time.Duration, err, cause error, fx *Effects) {
	for h := l.holds; h != nil; h = l.holds {
		l.holds = h.next
		l.endHold(now, h, err, cause, fx)
	}
}

// endHold takes leave of a hold that is no longer in the list.
func (l *Lock) endHold(now time.Duration, h *Hold, err, cause error, fx *Effects) {
	h.fixed, h.next = over, nil
	fx.Stats.Held--
	switch err {
	case ErrNotHeld:
		fx.Stats.Released++
	case ErrLost:
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
			l.haunt(l.tenure)
		}
		x.reading.tenureEnds(l)
		x.shortest, x.acquiring, x.releasing = 0, false, false
		x.handed, x.listeners, x.retryAt = 0, unasked, 0
		x.token, x.given, x.wait, x.behind, x.queued, x.passive = 0, 0, 0, 0, false, false
		x.answered = x.answered || l.phase == held || l.phase == ending
		if x.yield {
			x.yield = false
			x.stepBack = now + min(max(2*fx.RoundTrip, stepBackFloor), stepBackMost)
			x.askAt = x.stepBack
			if x.heard > 1 {
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
	l.tenure, l.until, l.since, l.written = 0, 0, 0, 0
	l.phase, l.flight, l.wants, l.holds = free, None, 0, nil
}

// watched reports whether one of the owner's holds is to be renewed.
func (l *Lock) watched() bool {
	for h := l.holds; h != nil; h = h.next {
		if h.fixed == 0 {
			return true
		}
	}
	return false
}
