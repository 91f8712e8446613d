package actor

import "time"

// never is later than any time.
const never = time.Duration(1<<63 - 1)

// tick returns the granularity for leases of that length: waits round up to it, leases down.
func tick(lease time.Duration) time.Duration {
	if lease < time.Second {
		return time.Millisecond
	}
	return 5 * time.Millisecond
}

// believed returns the validity of a lease: how long it may be relied on, counted from before the command was sent. It
// is the lease minus 1 % (at most 1 s) for clock drift, and minus two ticks for late timers. For very short leases it
// is half the lease.
func believed(lease time.Duration) time.Duration {
	return max(lease-min(lease/100, time.Second)-2*tick(lease), lease/2)
}

// confirm records that the server set the TTL to lease, with a command sent at that time.
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

// doubted returns a time; no confirmation sent before it counts for grants. The lease of such a confirmation may be
// over, or the present master may not know it.
func (l *Lock) doubted(fx *Effects) time.Duration {
	if fx.Moved == nil {
		return fx.Doubted
	}
	return max(fx.Doubted, fx.Moved(l.key))
}

// falls reports whether a command with that lease may lower the TTL, as far as this engine knows. It compares with what
// was confirmed. After a command without a reply, or a rejected one, the TTL may still be what it was before, so falls
// then returns true.
func (l *Lock) falls(now, lease time.Duration) bool {
	if lease == 0 {
		return false
	}
	x := l.rare
	return now+believed(lease) < l.lasting() || l.wants&wantSet != 0 || x != nil && (l.shortest() != 0 || x.trouble() != nil)
}

// lower shortens the validity: from now on the TTL may fall to lease.
func (l *Lock) lower(now, lease time.Duration, fx *Effects) {
	if until := now + believed(lease); until < l.until {
		l.until = until
		l.publish(fx)
	}
}

// unanswered records that a command sent at that time with that lease got no reply. It may have run, or may still run
// at any time until the tenure ends. So the validity is limited to the last confirmation, or to the time of sending if
// that is later, plus the shortest such lease. The command cannot have run before it was sent.
func (l *Lock) unanswered(sent, lease time.Duration, fx *Effects) {
	x := l.withRare().withLeases()
	x.longest = max(x.longest, lease)
	if lease != 0 && (x.shortest == 0 || lease < x.shortest) {
		x.shortest = lease
		l.until = min(l.until, max(l.confirmed, sent)+believed(lease))
		l.publish(fx)
	}
}

// publish makes the end of the validity visible to the users of the owner's holds.
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

// limitOf returns a hold's limit, whatever the tenure's validity: the end of its own lease, or MaxHold.
func (l *Lock) limitOf(fixed time.Duration, fx *Effects) time.Duration {
	switch {
	case fixed != 0:
		return fixed
	case fx.Config.MaxHold != 0:
		return l.since + fx.Config.MaxHold
	}
	return never
}

// expire ends what is over by the clock. It runs before anything else in a step.
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

// whyOver returns the cause of a lease that ended.
func (l *Lock) whyOver() error {
	if l.wants&capped != 0 {
		return errMaxHold
	}
	if l.holds != nil && !l.watched() && !l.cut() {
		return errFixedOver
	}
	return l.whyLate()
}

// whyLate returns the cause of a confirmation that did not come in time.
func (l *Lock) whyLate() error { return l.withTrouble(errLeaseOver) }

// withTrouble returns a cause, joined with the error of the last try if that failed.
func (l *Lock) withTrouble(cause error) error {
	if l.rare != nil && l.rare.trouble() != nil {
		return joined(cause, l.rare.trouble())
	}
	return cause
}

// expireHolds ends the holds that have reached their limit; others of the same owner may go on.
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

// strand handles the owner's pending requests when the owner has lost its last hold:
//   - An extension ends with err, as its hold did.
//   - A re-entry becomes an ordinary request in the queue. Of a read/write lock its owner may hold the other half,
//     which the coordinator checks.
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

// endHold publishes the end of a hold that is no longer in the list.
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

// known returns until when an ending tenure is known to have been held. The loss of a key is found out later, so then
// only the last confirmation counts.
func (l *Lock) known(now time.Duration, cause error) time.Duration {
	switch cause {
	case errGone, errDisplaced, errForced:
		return l.confirmed
	}
	return min(now, l.until)
}

// endTenure resets the lock to free. If an acquire without a reply may still run, the tenure becomes an orphan.
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
				x.stepBack, x.askAt = 0, now // another holder had it already
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
	if l.flight != l.protocol().release || !l.Haunted(l.tenure) { // otherwise the release in flight belongs to the orphan
		l.ground(fx)
	}
	l.tenure, l.until, l.since, l.written = 0, 0, 0, 0
	l.become(free, fx)
	l.flight, l.wants, l.holds = None, l.wants&marked, nil
}

// cut reports whether a hold's own lease outlasts the validity: a command without a reply could shorten the TTL, so the
// lease needs regular confirmations.
func (l *Lock) cut() bool {
	return l.shortest() != 0 && l.lastFixed(nil) > l.until
}
