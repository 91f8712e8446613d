package actor

import "time"

// renewDue returns when a watched lock must be renewed; never, if it needs no renewal.
//
//   - It is due one renewal interval after its last confirmation. That is so for a lease longer than Config.Lease, too:
//     holders learn of a loss by a renewal.
//   - If its lease is d shorter than Config.Lease, it is due d earlier. For example, take Config.Lease of 30 s and a
//     RenewInterval of 10 s. A lock that was handed over with 27 s confirmed is due after about 7 s. It then has 20 s
//     left, like any other.
//   - If Config.MaxHold cut the lease (leaseCapped), the first rule alone holds: no renewal makes the lease longer.
//   - If a command without a reply may shorten the lease, renewInterval replaces the interval.
//   - With Config.RenewSpread it is due up to that much earlier, in the slot of the tenure.
func (l *Lock) renewDue(fx *Effects) time.Duration {
	if !l.watched() && !l.leaseCut() {
		return never
	}
	lease, due := fx.Config.Lease, l.confirmedAt
	if l.flags&leaseCapped == 0 {
		due = min(due, l.validUntil-fx.watchedValidity)
	}
	due += fx.Config.RenewInterval
	if l.minUnackedLease() != 0 {
		return roundUp(l.confirmedAt+l.renewInterval(fx), grain(lease))
	}
	if fx.Config.RenewSpread == 0 {
		return roundUp(due, grain(lease))
	}
	return due - max(due-fx.renewSlots.slotOf(l.tenure), 0)%fx.Config.RenewSpread
}

// roundUp rounds due up to a multiple of grain, so that many locks are renewed in one batch.
func roundUp(due, grain time.Duration) time.Duration {
	return (due + grain - 1) / grain * grain
}

// renewGroup is how many successive tenures are renewed in one batch. They are neighbours in memory, here and in the
// server. Measured: spread one by one, both cost a third more.
const renewGroup = 128

// renewSlots are the slots of Config.RenewSpread at which tenures are renewed. Each tenure stays in its slot, so only
// its first renewal is early. newRenewSlots makes them; the zero value has no slot, and slotOf would divide by 0. They
// are immutable.
type renewSlots struct {
	count uint64
	width time.Duration
}

// A slot of renewals is a part of the renewal interval, and at most maxRenewSlot. With several groups it makes a burst,
// of which the first batch warms caches and wakes threads for all others; they still leave one after the other.
// Measured with 100 000 locks and a lease of 30 s, with slots of 100 ms instead of 5: a renewal costs the client 0.86
// times as much, and the server 1.08 times. Bursts of 8192 locks were not clearly cheaper, nor several batches of a
// burst in flight while no other command is sent; and commands of other processes wait behind several.
const (
	slotsPerInterval = 100
	maxRenewSlot     = 100 * time.Millisecond
)

// RenewSlot returns the width of a slot of renewals. Those of one slot are due together.
func (c *Config) RenewSlot() time.Duration {
	return roundUp(max(min(c.RenewInterval/slotsPerInterval, maxRenewSlot), 1), grain(c.Lease))
}

func newRenewSlots(config *Config) renewSlots {
	width := config.RenewSlot()
	return renewSlots{max(uint64(config.RenewSpread/width), 1), width}
}

func (s renewSlots) slotOf(tenure uint64) time.Duration {
	return time.Duration(tenure/renewGroup%s.count) * s.width
}

// renewInterval returns the renewal interval. It is shorter while a command without a reply may shorten the lease.
func (l *Lock) renewInterval(fx *Effects) time.Duration {
	if s := l.minUnackedLease(); s != 0 {
		return min(fx.Config.RenewInterval, s/3)
	}
	return fx.Config.RenewInterval
}

// confirmDue returns when a lock that is handed off from owner to owner must be confirmed. While one owner keeps it for
// long, the intervals grow with that: another client then waits for that owner, not for the confirmation.
func (l *Lock) confirmDue() time.Duration {
	x := l.ext
	if x == nil || x.handoff == nil || x.handoff.handoffs == 0 || l.queue.empty() {
		return never
	}
	if x.handoff.otherListeners == listenersUnknown {
		return 0
	}
	last := max(l.confirmedAt, x.leaseView().lastRenewReply)
	return last + max(confirmInterval, (last-x.handoff.handoffStart)/2)
}

// renewAt returns when the next renewal must be sent, for any reason.
func (l *Lock) renewAt(now time.Duration, fx *Effects) time.Duration {
	at := min(l.renewDue(fx), l.confirmDue())
	if l.flags&wantConfirm != 0 || l.holds != nil && l.holdCount() != l.storedCount || l.hasNewRequests() || l.leaseShort() {
		at = 0
	}
	if l.mayExceedNeed(now, fx) && l.exceedsNeed(now, fx) {
		at = min(at, l.lowersAt(fx))
	}
	if l.ext != nil && at != never {
		at = max(at, l.ext.retryAt())
	}
	return at
}

func (l *Lock) hasNewRequests() bool {
	return l.ext != nil && !l.ext.leaseRequests.empty() && !l.ext.leaseRequests.last.inCommand
}

// renew sends a renewal if it is time. It carries all that the tenure wants: lease, count, subscribers.
func (l *Lock) renew(now time.Duration, fx *Effects) {
	if now < l.renewAt(now, fx) {
		return
	}
	n := l.totalNeed(now, fx)
	lowers := l.mayExceedNeed(now, fx) && l.exceedsNeed(now, fx)
	n.mustSet = n.mustSet || l.flags&wantSet != 0 || lowers
	if p := l.protocol(); !p.holdKeys && !n.mustSet && now < l.renewDue(fx) && n.until <= l.validUntil && l.confirmedAt >= l.reconfirmSince(fx) {
		n.lease = 0 // the TTL is already what is needed
	}
	mayShorten := l.mayShorten(now, n.lease)
	if n.lease != 0 {
		if lowers {
			l.setLowering(lowerSent, fx)
		}
		l.shorten(now, n.lease, fx)
		if l.ext != nil && l.ext.lease != nil {
			l.ext.lease.raisedUntil = 0 // if this renewal fails, another one sets the TTL
		}
	}
	p := l.protocol()
	c := Command{Verb: p.renew, Lease: n.lease, MayShorten: mayShorten, Fair: p.queues, Routine: l.flags&wantConfirm == 0 && now < l.confirmDue() && !l.hasNewRequests() && !l.leaseShort()}
	if l.holds == nil {
		c.Verb = p.renewForNext
	}
	if count := l.holdCount(); count != 0 && count != l.storedCount {
		c.Count = int32(count)
	}
	if x := l.ext; x != nil {
		c.CountListeners, c.ExcludeSelf = x.handoff != nil && x.handoff.handoffs > 0, x.subscribed
		s := x.ensureLease()
		s.inFlightLease, c.Token = c.Lease, s.token
		s.maxSentLease = max(s.maxSentLease, c.Lease) // the tenure may end before the reply
		x.leaseRequests.each(func(r *Request) { r.inCommand = true })
	}
	if p.holdKeys {
		n.mustSet = n.mustSet || mayShorten // for a watched lock, near MaxHold
		c.Reader = l.readerArgs(now, n, fx)
	}
	l.flags &^= wantConfirm
	l.inFlight = c.Verb
	l.emit(fx, c)
}

// watchLease returns the lease of a watched lock, cut so that its owner has it for at most MaxHold.
func (l *Lock) watchLease(now time.Duration, fx *Effects) time.Duration {
	lease := fx.Config.Lease
	if fx.Config.MaxHold == 0 {
		return lease
	}
	if left := l.ownedSince + fx.Config.MaxHold - now; left < lease {
		lease = max(left, time.Millisecond)
	}
	return lease
}

// maxHoldReached reports whether the owner has had the lock for MaxHold, so that it has the lock only by fixed leases.
func (l *Lock) maxHoldReached(now time.Duration, fx *Effects) bool {
	return fx.Config.MaxHold != 0 && now >= l.ownedSince+fx.Config.MaxHold
}

// extend handles a request for another lease of a hold.
func (l *Lock) extend(now time.Duration, r *Request, fx *Effects) {
	if !r.Hold.held() {
		err, cause := r.Hold.EndError()
		fx.Complete(now, r, err, cause)
		return
	}
	r.lock = l
	if r.Lease == 0 && l.maxHoldReached(now, fx) {
		// As if it had been watched all the time.
		l.setHoldLease(r.Hold, 0, fx)
		fx.Complete(now, r, ErrLost, errMaxHold)
		l.expireHolds(now, fx)
		return
	}
	if l.flags&leaseCapped != 0 {
		l.flags &^= leaseCapped
		l.publish(fx) // its holds end for another cause
	}
	l.ensureExt().leaseRequests.push(r)
	l.retrySoon(now)
	fx.SetDeadline(r, now+fx.Config.CallTimeout)
}

// onRenewReply handles the result of a renewal.
func (l *Lock) onRenewReply(now time.Duration, m *Message, fx *Effects) {
	switch reply := m.Reply; {
	case l.phase == releasing:
		// The owner unlocked meanwhile. The release that follows gives the result, unless the tenure is gone.
		switch reply.Status {
		case NotFound:
			l.finishRelease(now, ErrLost, errKeyGone, fx)
		case NoReply:
			l.burnOwnNumber()
		}
	case reply.Status == OK:
		l.onRenewed(now, m, fx)
		if l.holds == nil && m.Command.Verb == SendFencedRenew && !reply.replicated(fx) {
			l.rollBack(now, reply, fx)
		}
	case reply.Status == NotFound:
		l.lose(now, errKeyGone, fx)
	case reply.Status == Rejected && !reply.isTransient():
		l.lose(now, reply.Err, fx)
	default:
		l.retryRenewal(now, m, fx)
	}
}

// renewLag returns how much after its due time a renewal was confirmed, or how long ago it was due. A renewal of a lock
// that had a fixed lease until now has no due time: 0.
func (l *Lock) renewLag(now time.Duration, fx *Effects) time.Duration {
	cut := l.minUnackedLease() != 0
	if l.flags&noRenewDue != 0 || !cut && l.flags&leaseCapped == 0 && l.validUntil-l.confirmedAt < fx.watchedValidity {
		return 0
	}
	return now - l.renewDue(fx)
}

// onRenewed handles a successful renewal, and gives the requests that needed it their result.
func (l *Lock) onRenewed(now time.Duration, m *Message, fx *Effects) {
	c := m.Command
	fx.RenewLag.Note(now, l.renewLag(now, fx))
	fx.RenewalMargins = append(fx.RenewalMargins, l.validUntil-now)
	if c.Lease != 0 {
		l.confirm(m.Sent, c.Lease, fx)
	}
	if c.Lease != 0 && fx.Config.MaxHold != 0 {
		defer l.noteCapped(m, fx)
	}
	if m.Reply.replicated(fx) {
		l.setToken(m.Reply) // otherwise it will be renewed again
	}
	fx.Stats.Renewed++
	l.onRenewExtras(now, m, fx)
	if l.ext == nil {
		return
	}
	sent := l.lastExtensions(true)
	l.ext.leaseRequests.each(func(r *Request) {
		switch {
		case m.Sent < l.reconfirmSince(fx):
			r.inCommand = false // what was confirmed may be over: renew again
		case r.inCommand && r.Op == Extend:
			l.applyExtension(now, m, r, sent[r.Hold], fx)
		case r.inCommand:
			l.applyReentry(now, m, r, fx)
		case r.Op == Acquire && r.Lease == 0:
			l.reenterNow(now, r, fx) // the renewal was in flight before this watched re-entry came, and is all it needs
		}
	})
}

// noteCapped records that a renewal has set a lease that ends with MaxHold. It does so with the reply, after extensions
// have theirs: without a reply the holds do not end because of MaxHold.
func (l *Lock) noteCapped(m *Message, fx *Effects) {
	if l.watched() && m.Sent+m.Command.Lease >= l.ownedSince+fx.Config.MaxHold {
		l.flags |= leaseCapped
		l.publish(fx)
	}
}

// onRenewExtras handles the extras of a renewal: the hold count and the number of subscribers.
func (l *Lock) onRenewExtras(now time.Duration, m *Message, fx *Effects) {
	c, reply := m.Command, m.Reply
	switch {
	case reply.CountNotStored:
		l.ensureExt().ensureFailure().retryAt = now + fx.jitter(l.renewInterval(fx)/8)
	case c.Count != 0:
		l.storedCount = uint32(c.Count)
	}
	if !c.CountListeners {
		return
	}
	x := l.ensureExt()
	h := x.ensureHandoff()
	h.otherListeners, h.countedAt, x.ensureLease().lastRenewReply = listenersUncountable, now, m.Sent
	if reply.Listeners >= 0 {
		h.otherListeners = int32(reply.Listeners)
		if c.ExcludeSelf && h.otherListeners > 0 {
			h.otherListeners--
		}
	}
}

// applyReentry grants a re-entry with the lease that was confirmed for it.
func (l *Lock) applyReentry(now time.Duration, m *Message, r *Request, fx *Effects) {
	switch fixed := r.fixedEndAt(m.Sent); {
	case fixed == 0 && l.maxHoldReached(now, fx):
		fx.Complete(now, r, ErrLost, errMaxHold)
	case fixed != 0 && now >= fixed:
		fx.Complete(now, r, ErrUnavailable, errLateReply)
	default:
		l.grant(now, r, fixed, fx)
	}
}

// applyExtension gives a hold the lease that was confirmed for it. Of several extensions of one hold in one command the
// last was sent, and its outcome is the result of all of them. If the last one's caller gave up, the one before is sent
// next. One that came after the command left does not count: else the others would wait as long as callers come.
func (l *Lock) applyExtension(now time.Duration, m *Message, r, sent *Request, fx *Effects) {
	h := r.Hold
	if !h.held() {
		err, cause := h.EndError()
		fx.Complete(now, r, err, cause)
		return
	}
	if m.Command.Lease < l.requestNeed(now, sent, fx).lease {
		r.inCommand = false
		return
	}
	l.setHoldLease(h, sent.fixedEndAt(m.Sent), fx)
	switch {
	case now < h.Until():
		fx.Complete(now, r, nil, nil)
	case h.fixedEnd == 0:
		fx.Complete(now, r, ErrLost, errMaxHold)
	default:
		fx.Complete(now, r, ErrLost, errLateReply)
	}
}

// fixedEndAt returns when the lease of a request ends, if it was sent at that time; 0 if it is to be watched.
func (r *Request) fixedEndAt(sent time.Duration) time.Duration {
	if r.Lease == 0 {
		return 0
	}
	return sent + validity(r.Lease)
}

// retrySoon shortens the pause after a renewal that was rejected for now. That pause suits routine renewals of very
// many locks; what a caller waits for does not wait that long.
func (l *Lock) retrySoon(now time.Duration) {
	if l.ext != nil && l.ext.failure != nil {
		l.ext.failure.retryAt = min(l.ext.failure.retryAt, now+maxBackoff)
	}
}

// retryRenewal prepares a renewal that failed, or may have, to be sent once more while the lease lasts.
func (l *Lock) retryRenewal(now time.Duration, m *Message, fx *Effects) {
	x := l.ensureExt()
	f := x.ensureFailure()
	f.lastErr = m.Reply.Err
	fx.RenewLag.Note(now, l.renewLag(now, fx)) // so that it shows during an outage, too
	if m.Command.Count != 0 {
		l.storedCount = 0 // not known; no hold has that count, so it is sent again
	}
	if m.Command.Lease != 0 {
		l.flags |= wantSet
	}
	if m.Reply.Status == NoReply {
		l.noteUnacked(m.Sent, m.Command.Lease, fx)
	}
	if m.Reply.shouldBackOff() {
		f.retryAt = now + fx.jitter(l.renewInterval(fx)/8)
	}
	if !x.leaseRequests.empty() || l.holds == nil {
		l.retrySoon(now)
	}
	x.leaseRequests.each(func(r *Request) { r.inCommand = false })
	l.flags |= wantConfirm
}
