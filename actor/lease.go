package actor

import "time"

// never is later than any time.
const never = time.Duration(1<<63 - 1)

// grain returns the granularity for leases of that length: waits round up to it, leases down.
func grain(lease time.Duration) time.Duration {
	if lease < time.Second {
		return time.Millisecond
	}
	return 5 * time.Millisecond
}

// validity returns the validity of a lease: how long it may be relied on, counted from before the command was sent. It
// is the lease minus 1 % (at most 1 s) for clock drift, and minus two grains for late timers. For very short leases it
// is half the lease.
func validity(lease time.Duration) time.Duration {
	return max(lease-min(lease/100, time.Second)-2*grain(lease), lease/2)
}

// confirm records that the server set the TTL to lease, with a command sent at that time.
func (l *Lock) confirm(sent, lease time.Duration, fx *Effects) {
	l.confirmedAt = sent
	l.validUntil = sent + validity(lease)
	l.flags &^= wantSet | noRenewDue
	if x := l.ext; x != nil {
		s := x.ensureLease()
		l.setLowering(noLowering, fx)
		s.confirmedLease, s.maxSentLease = lease, max(s.maxSentLease, lease)
		if x.failure != nil {
			x.failure.retryAt = 0
		}
		x.clearFailure()
		x.knownHeld, x.yieldUntil = true, 0
		if s.minUnackedLease != 0 {
			l.validUntil = min(l.validUntil, sent+validity(s.minUnackedLease))
		}
	}
	if l.holds == nil {
		l.flags |= confirmedSinceHandoff
	}
	l.publish(fx)
}

// reconfirmSince returns a time; no confirmation sent before it counts for grants. The lease of such a confirmation may
// be over, or the present master may not know it.
func (l *Lock) reconfirmSince(fx *Effects) time.Duration {
	if fx.MasterSince == nil {
		return fx.ReconfirmSince
	}
	return max(fx.ReconfirmSince, fx.MasterSince(l.key))
}

// mayShorten reports whether a command with that lease may lower the TTL, as far as this engine knows. It compares with
// what was confirmed. After a command without a reply, or a rejected one, the TTL may still be what it was before, so
// mayShorten then returns true.
func (l *Lock) mayShorten(now, lease time.Duration) bool {
	if lease == 0 {
		return false
	}
	x := l.ext
	return now+validity(lease) < l.ttlEnd() || l.flags&wantSet != 0 || x != nil && (l.minUnackedLease() != 0 || x.lastErr() != nil)
}

// shorten shortens the validity: from now on the TTL may fall to lease.
func (l *Lock) shorten(now, lease time.Duration, fx *Effects) {
	if until := now + validity(lease); until < l.validUntil {
		l.validUntil = until
		l.publish(fx)
	}
}

// noteUnacked records that a command sent at that time with that lease got no reply. It may have run, or may still run
// at any time until the tenure ends. So the validity is limited to the last confirmation, or to the time of sending if
// that is later, plus the shortest such lease. The command cannot have run before it was sent.
func (l *Lock) noteUnacked(sent, lease time.Duration, fx *Effects) {
	x := l.ensureExt().ensureLease()
	x.maxSentLease = max(x.maxSentLease, lease)
	if lease != 0 && (x.minUnackedLease == 0 || lease < x.minUnackedLease) {
		x.minUnackedLease = lease
		if l.phase != acquiring { // otherwise it has no validity yet
			l.validUntil = min(l.validUntil, max(l.confirmedAt, sent)+validity(lease))
			l.publish(fx)
		}
	}
}

// publish makes the end of the validity visible to the users of the owner's holds.
func (l *Lock) publish(fx *Effects) {
	h := l.holds
	if h == nil || h.hasEnded() {
		return
	}
	if s := h.set.Load(); s != nil {
		l.publishSet(s)
		return
	}
	if limit := l.holdLimit(h.fixedEnd, fx); limit < l.validUntil {
		h.publish(limit, h.ownLimitCause())
	} else {
		h.publish(l.validUntil, l.limitCause())
	}
}

// publishSet is publish for an owner with several holds.
func (l *Lock) publishSet(s *holdSet) { s.until.Store(l.limitCause().with(l.validUntil)) }

// limitCause returns why the tenure is over at the end of its validity.
func (l *Lock) limitCause() limitCause {
	switch {
	case l.flags&leaseCapped != 0:
		return maxHoldOver
	case l.holds != nil && !l.watched() && !l.leaseCut():
		return leaseOver
	}
	return notRenewed
}

// holdLimit returns a hold's limit, whatever the tenure's validity: the end of its own lease, or MaxHold.
func (l *Lock) holdLimit(fixed time.Duration, fx *Effects) time.Duration {
	switch {
	case fixed != 0:
		return fixed
	case fx.Config.MaxHold != 0:
		return l.ownedSince + fx.Config.MaxHold
	}
	return never
}

// expire ends what is over by the clock. It runs before anything else in a step.
func (l *Lock) expire(now time.Duration, fx *Effects) {
	switch {
	case l.phase == releasing && now >= l.validUntil:
		l.releases.each(func(r *Request) { fx.completeRelease(now, r, ErrUnavailable, l.withLastErr(errReleaseUnacked)) })
		l.addOrphan(now, l.tenure, l.maxSentLease(), fx)
		l.endTenure(now, fx)
	case l.phase == held && now >= l.validUntil:
		for h := l.holds; h != nil; h = l.holds {
			l.remove(h)
			l.endHold(now, h, ErrLost, l.expiryCause(h), fx)
		}
		l.lose(now, errNotRenewed, fx)
	case l.phase == held && l.holds != nil:
		l.expireHolds(now, fx)
	}
}

// expiryCause returns the cause of a hold that ended with the validity: the one that its user has found by the clock,
// if that was earlier.
func (l *Lock) expiryCause(h *Hold) error {
	if cause := h.ExpiryCause(); cause != nil {
		return cause
	}
	return l.lateCause()
}

// lateCause returns the cause of a confirmation that did not come in time.
func (l *Lock) lateCause() error { return l.withLastErr(errNotRenewed) }

// withLastErr returns a cause, joined with the error of the last try if that failed.
func (l *Lock) withLastErr(cause error) error {
	if l.ext != nil && l.ext.lastErr() != nil {
		return joinCauses(cause, l.ext.lastErr())
	}
	return cause
}

// expireHolds ends the holds that have reached their limit; others of the same owner may go on.
func (l *Lock) expireHolds(now time.Duration, fx *Effects) {
	if now < l.nextHoldLimit(fx) {
		return
	}
	if s := l.set(); s != nil {
		for _, h := range s.expired(now) {
			l.expireHold(now, h, fx)
		}
		s.expiring = nil
	} else {
		l.expireHold(now, l.holds, fx)
	}
	if l.holds == nil {
		l.demoteRequests(now, ErrLost, fx)
	}
}

func (l *Lock) expireHold(now time.Duration, h *Hold, fx *Effects) {
	cause := errFixedLeaseOver
	if h.fixedEnd == 0 {
		cause = errMaxHold
	}
	l.removeOne(h)
	l.endHold(now, h, ErrLost, cause, fx)
}

// lose ends a tenure that is over or gone. What may be left of it in Redis is released later.
func (l *Lock) lose(now time.Duration, cause error, fx *Effects) {
	l.endHolds(now, ErrLost, cause, fx)
	l.demoteRequests(now, ErrLost, fx)
	if cause != errKeyGone {
		l.addOrphan(now, l.tenure, l.maxSentLease(), fx)
	}
	l.endTenure(now, fx)
}

// heldTooLongAt returns when the owner's hold lasts for Config.HeldTooLong, if that is not reported yet.
func (l *Lock) heldTooLongAt(fx *Effects) time.Duration {
	most := fx.Config.HeldTooLong
	if most == 0 || l.phase != held || l.holds == nil || l.reportedSince() == l.ownedSince {
		return never
	}
	return l.ownedSince + most
}

// onLeaked reports a hold that no caller can unlock any more, and stops renewing the lock for that hold. It ends with
// the lease that it has. Work under it may still run until then.
func (l *Lock) onLeaked(now time.Duration, h *Hold, fx *Effects) {
	if !h.held() {
		return
	}
	fx.Stats.Leaked++
	fx.Leaks = append(fx.Leaks, HoldNotice{h, l.key, now - l.ownedSince})
	if h.fixedEnd == 0 {
		l.setHoldLease(h, l.validUntil, fx)
	}
}

// reportedSince returns the first grant of the owner that was reported to hold the lock too long; 0 if none was.
func (l *Lock) reportedSince() time.Duration {
	if l.ext == nil || l.ext.failure == nil {
		return 0
	}
	return l.ext.failure.reportedSince
}

// reportHeldTooLong reports a hold that lasts too long, once an owner. Timers, and so the reports of a turn, are
// bounded.
func (l *Lock) reportHeldTooLong(now time.Duration, fx *Effects) {
	if now < l.heldTooLongAt(fx) {
		return
	}
	l.ensureExt().ensureFailure().reportedSince = l.ownedSince
	fx.Stats.HeldTooLong++
	fx.TooLong = append(fx.TooLong, HoldNotice{l.firstHold(), l.key, now - l.ownedSince})
}

// demoteRequests handles the owner's pending requests when the owner has lost its last hold:
//   - An extension ends with err, as its hold did.
//   - A re-entry becomes an ordinary request, at the place of its age in the queue. Of a read/write lock its owner may
//     hold the other half, which the coordinator checks.
func (l *Lock) demoteRequests(now time.Duration, err error, fx *Effects) {
	if l.ext == nil {
		return
	}
	owner := uint64(0)
	l.ext.leaseRequests.each(func(r *Request) {
		if r.Op == Extend {
			fx.Complete(now, r, err, nil)
			return
		}
		l.ext.leaseRequests.remove(r)
		r.inCommand = false
		l.queue.insertByAge(r, nil, fx) // no acquire of the first is in flight, as the lock is held
		owner = r.Owner
	})
	if owner != 0 && (l.kind == Read || l.kind == Write) {
		fx.ReentryChecks = append(fx.ReentryChecks, ReentryCheck{l, owner})
	}
}

func (l *Lock) endHolds(now time.Duration, err, cause error, fx *Effects) {
	for h := l.holds; h != nil; h = l.holds {
		l.remove(h)
		l.endHold(now, h, err, cause, fx)
	}
}

// endHold marks a hold as ended and publishes that. A hold that ends before its grant was published is noted: observers
// are to be notified of the grant first.
func (l *Lock) endHold(now time.Duration, h *Hold, err, cause error, fx *Effects) {
	h.fixedEnd = endedMark
	fx.Stats.Held--
	switch err {
	case ErrNotHeld:
		fx.Stats.Released++
	case ErrLost:
		h.fixedEnd = lostMark
		fx.Stats.Lost++
	}
	if h.Tenure&unpublished != 0 {
		h.Tenure &^= unpublished
		fx.EndedUnpublished = append(fx.EndedUnpublished, len(fx.HoldEnds))
	}
	fx.HoldEnds = append(fx.HoldEnds, HoldEnd{Hold: h, Key: l.key, Err: err, Cause: cause, Held: now - l.ownedSince, HeldUntil: l.heldUntil(now, cause)})
}

// heldUntil returns until when an ending tenure is known to have been held. The loss of a key is found out later, so
// then only the last confirmation counts.
func (l *Lock) heldUntil(now time.Duration, cause error) time.Duration {
	switch cause {
	case errKeyGone, errDisplaced, errForced:
		return l.confirmedAt
	}
	return min(now, l.validUntil)
}

// endTenure resets the lock to free. If an acquire without a reply may still run, the tenure becomes an orphan.
func (l *Lock) endTenure(now time.Duration, fx *Effects) {
	l.setLowering(noLowering, fx)
	if x := l.ext; x != nil {
		if x.acquireUnacked {
			l.addOrphan(now, l.tenure, l.maxSentLease(), fx)
		}
		if x.reader != nil {
			x.reader.onTenureEnd(l)
		}
		x.resetTenure()
		x.knownHeld = x.knownHeld || l.phase == held || l.phase == releasing && !l.rollsBack()
		if h := x.handoff; h != nil && h.yieldAfterRelease != 0 {
			x.yieldUntil, h.yieldAfterRelease = now+h.yieldAfterRelease, 0
			x.nextTry = x.yieldUntil
			h.yieldedAt = now
			if h.notifications > 1 {
				x.yieldUntil, x.nextTry = 0, now // another holder had it already
			}
		}
	}
	if l.phase == acquiring {
		fx.AcquiringLocks--
	} else {
		fx.HeldLocks--
	}
	if l.protocol().ownChannel && l.ext != nil {
		l.setSubscription(false, fx)
	}
	if l.inFlight != l.protocol().release || !l.IsOrphan(l.tenure) { // otherwise the release in flight belongs to the orphan
		l.clearInFlight(fx)
	}
	l.tenure, l.validUntil, l.ownedSince, l.storedCount = 0, 0, 0, 0
	l.setPhase(free, fx)
	l.inFlight, l.flags, l.holds = None, l.flags&hasStaleCommand, nil
}

// leaseCut reports whether a hold's own lease outlasts the validity: a command without a reply could shorten the TTL,
// so the lease needs regular confirmations.
func (l *Lock) leaseCut() bool {
	return l.minUnackedLease() != 0 && l.lastFixed(nil) > l.validUntil
}

// leaseShort reports whether a hold's own lease outlasts the TTL that was confirmed last. That was set for an extension
// which its caller gave up, so the hold has the lease that it had before.
func (l *Lock) leaseShort() bool {
	return l.phase == held && l.ext != nil && l.ext.leaseRequests.empty() && l.minUnackedLease() == 0 && l.lastFixed(nil) > l.validUntil
}
