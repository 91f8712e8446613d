package actor

import "time"

const (
	// ThreadOwner is set in owner numbers that a caller chose to keep for several locks. All others are made by a first
	// grant and end with its last hold.
	ThreadOwner = 1 << 63
	// QuorumOwner is set in addition in owner numbers of a quorum. They are valid while the quorum has the lock or asks
	// for it. A caller that got such a number keeps it afterwards, but does not re-enter once the quorum is over.
	QuorumOwner = 1 << 62
)

// acquire handles a request for the lock.
func (l *Lock) acquire(now time.Duration, r *Request, fx *Effects) {
	r.lock = l
	if r.Multi != nil {
		r.Owner = r.Multi.ownerAt(l.key) // which holds none of the locks: the coordinator has looked
	} else if l.ownedBy(r.Owner) {
		l.reenter(now, r, fx)
		return
	}
	if r.Once && l.rejectsTry(now) {
		l.RejectTry(now, r, fx)
		return
	}
	if x := l.ext; x != nil && l.phase == free {
		switch {
		case l.queue.empty():
			x.resetWait(now)
		case r.Once && x.lastErr() == nil:
			x.nextTry = now // the requests before it sleep, and the reply for which they do may be outdated
		}
	}
	l.queue.push(r)
	fx.LimitWait(r, fx.Config.CallTimeout+fx.Config.ReplicaTimeout)
	if l.phase == held {
		l.ensureExt()
	}
}

// rejectsTry reports whether a request that tries once can be rejected without asking the server. That is so if this
// engine has the lock, or had it just now and yields to other engines. A grant that is given back because no owner got
// it is no reason. Nor is a reply about another holder's lock, because it may be outdated.
func (l *Lock) rejectsTry(now time.Duration) bool {
	x := l.ext
	switch {
	case l.phase == held:
		return true
	case l.queue.empty() || x != nil && x.lastErr() == errLateReply: // it may be free: the leases of the waiters are too short
		return false
	case l.phase == free || l.phase == acquiring || l.phase == forcing:
		return x != nil && (now < x.yieldUntil || x.lastErr() != nil)
	}
	return !l.rollsBack()
}

// rejectWaitingTries rejects the requests that try once: another owner has the lock.
func (l *Lock) rejectWaitingTries(now time.Duration, fx *Effects) {
	if first := l.queue.first(); first != nil && first.Once {
		l.rejectHeldByOther(now, first, nil, fx)
	}
	l.rejectTries(now, fx)
}

// rejectHeldByOther rejects a request because another owner has the lock.
func (l *Lock) rejectHeldByOther(now time.Duration, r *Request, cause error, fx *Effects) {
	r.Final = !l.mayStillBeGranted()
	fx.Complete(now, r, ErrNotAcquired, cause)
	l.noteMultiRequest(r)
}

// mayStillBeGranted reports whether the server may have granted the lock to this engine, or may still do so. That is so
// if an acquire is in flight, or if one got no reply.
func (l *Lock) mayStillBeGranted() bool {
	if x := l.ext; x != nil && (x.acquireUnacked || len(x.orphans()) != 0) {
		return true
	}
	return l.phase == acquiring && l.inFlight != None && l.flags&dispatched != 0
}

// eachOnce calls f for the requests of the queue that try once. These are the first of the queue, which is not
// recorded, and the recorded ones behind others. It does not scan the queue.
func (l *Lock) eachOnce(f func(*Request)) {
	if first := l.queue.first(); first != nil && first.Once {
		f(first)
	}
	if l.ext == nil || l.ext.tries == nil {
		return
	}
	for _, r := range l.ext.tries.all() {
		f(r)
	}
}

// RejectTry rejects a request that tries once. The error is ErrNotAcquired if another caller of this engine has the
// lock. Otherwise it is ErrUnavailable if the last try failed or the server is known not to reply to it, and
// ErrNotAcquired if not.
func (l *Lock) RejectTry(now time.Duration, r *Request, fx *Effects) {
	switch {
	case l.phase == held: // in an outage, too
		l.rejectHeldByOther(now, r, nil, fx)
	case l.ext != nil && l.ext.lastErr() != nil:
		fx.Complete(now, r, ErrUnavailable, l.ext.lastErr())
	case l.asksInVain(now, fx):
		fx.Complete(now, r, ErrUnavailable, errNoReply)
	default:
		l.rejectHeldByOther(now, r, nil, fx)
	}
}

// resetWait resets what was known for earlier waiters: the next request asks the server itself.
func (x *ext) resetWait(now time.Duration) {
	x.knownHeld = false
	x.resetPolling(now)
	if x.handoff != nil {
		x.handoff.yieldedAt = 0
	}
	ready := max(now, x.yieldUntil)
	if f := x.failure; f != nil && f.lastErr != nil {
		ready = min(x.nextTry, max(now+f.backoff, x.yieldUntil)) // no later than the pause, whatever lease was waited for before
	}
	x.nextTry = ready
}

// LimitWait sets the time at which a request that acquires times out, if it has a limit besides its caller's own. With
// Once that is when the server has had the time reply, or when the request's own Wait is over: with several locks the
// caller's wait can be shorter than a round trip. The time counts from when the request was received. It may have been
// held back since, with a limit that counts from then as well.
func (fx *Effects) LimitWait(r *Request, reply time.Duration) {
	limit := r.Wait
	if r.Once && (limit <= 0 || limit > reply) {
		limit = reply
	}
	if limit > 0 {
		fx.SetDeadline(r, r.receivedAt+limit)
	}
}

// grant gives the lock to a request. fixed is the end of its own lease; 0: it is watched.
func (l *Lock) grant(now time.Duration, r *Request, fixed time.Duration, fx *Effects) {
	first := l.holds == nil
	l.grantHold(now, r.Hold, r.Owner, r.OfQuorum, fixed, fx)
	if l.protocol().tokens {
		r.Token = l.ensureExt().ensureLease().ownerToken
	}
	fx.Complete(now, r, nil, nil)
	if first {
		l.reenterWaiters(now, fx)
		l.rejectWaitingTries(now, fx)
	}
}

// keepsOwner reports whether a first grant leaves the owner its number instead of making a new one. A quorum's number
// stays only with a request of the quorum itself: with this one, or with one that waits and re-enters then.
func (l *Lock) keepsOwner(owner uint64, ofQuorum bool, fx *Effects) bool {
	switch {
	case l.UnderWriter():
		return true
	case owner&ThreadOwner == 0:
		return false
	case owner&QuorumOwner == 0 || ofQuorum:
		return true
	case l.kind.PerRequest():
		return fx.QuorumWaits != nil && fx.QuorumWaits(l.key, owner)
	}
	return l.hasWaiters(owner, true)
}

// grantHold makes a hold the innermost of the lock.
func (l *Lock) grantHold(now time.Duration, h *Hold, owner uint64, ofQuorum bool, fixed time.Duration, fx *Effects) {
	if l.holds == nil {
		l.takeToken()
		l.ownedSince = now
		l.flags &^= leaseCapped | confirmedSinceHandoff
		h.Owner = owner
		if !l.keepsOwner(owner, ofQuorum, fx) {
			h.Owner = fx.nextOwner()
		}
		if l.kind.PerRequest() {
			fx.OwnerChanged = append(fx.OwnerChanged, l)
		}
		if longest := fx.Config.MaxHold; longest != 0 && longest <= fx.Config.Lease && fixed == 0 && !l.isLeftOver(now, longest) {
			l.flags |= leaseCapped
		}
	} else {
		h.Owner = l.holds.Owner
	}
	if fixed == 0 && !l.watched() && (l.holds != nil || l.validUntil-l.confirmedAt > fx.watchedValidity) {
		l.flags |= noRenewDue
	}
	h.Tenure, h.lock, h.fixedEnd = l.tenure|unpublished, l, fixed
	l.add(h, fx)
}

// isLeftOver reports whether an owner before this one has used up a part of the lease, so that it must be renewed.
func (l *Lock) isLeftOver(now, lease time.Duration) bool {
	return l.ext != nil && l.ext.handoff != nil && l.ext.handoff.handoffs > 0 && l.validUntil-now < validity(lease)/8*7
}

// takeToken makes the latest token the new owner's. A token that comes after the grant is the next owner's.
func (l *Lock) takeToken() {
	if l.protocol().tokens {
		x := l.ensureExt().ensureLease()
		x.ownerToken = x.token
	}
}

// leaseFor returns the lease that a request needs when it becomes the owner.
func (fx *Effects) leaseFor(r *Request) time.Duration {
	if r.Lease != 0 {
		return r.Lease
	}
	if fx.Config.MaxHold != 0 {
		return min(fx.Config.Lease, fx.Config.MaxHold)
	}
	return fx.Config.Lease
}

// sendAcquire sends an acquire for the first request of the queue, if it is time.
func (l *Lock) sendAcquire(now time.Duration, fx *Effects) {
	r := l.queue.first()
	if r == nil {
		return
	}
	if r.Multi != nil {
		l.announceReady(now, r, fx)
		return
	}
	x := l.ext
	if x != nil && now < x.nextTry {
		return
	}
	if l.phase == free {
		l.tenure, l.phase = l.nextTenure(fx), acquiring
		l.noteTenure(l.tenure, fx)
		fx.AcquiringLocks++
	}
	l.inFlight = l.protocol().acquire
	c := Command{Verb: l.inFlight, Lease: fx.leaseFor(r), Retry: x != nil && x.knownHeld && !r.Once && !x.fairView().notified}
	if x != nil {
		x.retryNow = false
		c.Orphans, c.Retry = x.orphanIDs(), c.Retry && !l.hastened()
		if l.UnderWriter() {
			c.Reader = &ReaderArgs{Writer: x.reader.writer}
			x.reader.sentUnderWriter = true
		}
	}
	if l.protocol().queues {
		p := l.ensureExt().ensureFair()
		c.Wait, c.QueuedAfter = p.renew(r, fx), p.queuedAfter
	} else {
		c.Async = r.Async && !l.hastened()
	}
	l.emit(fx, c)
}

// onAcquireReply handles the result of an acquire.
func (l *Lock) onAcquireReply(now time.Duration, m *Message, fx *Effects) {
	switch m.Reply.Status {
	case OK:
		l.setPhase(held, fx)
		l.storedCount = 1
		fx.AcquiringLocks--
		fx.HeldLocks++
		pause := l.lateReplyBackoff()
		l.confirm(m.Sent, m.Command.Lease, fx)
		l.setToken(m.Reply)
		if x := l.ext; x != nil {
			x.resetPolling(now)
			x.noteAcquired(now)
			if x.reader != nil && m.Command.Reader == nil {
				x.reader.ended = true // no other owner writes
			}
		}
		if !m.Reply.replicated(fx) {
			l.rollBack(now, m.Reply, fx)
			return
		}
		if now >= l.validUntil {
			l.onLateReply(now, pause, m.Command.Lease, fx)
			l.validUntil = now + fx.Config.CallTimeout // for the release only
			l.startRelease(fx)
			return
		}
		l.grantFirst(now, m, fx)
	case HeldByOther:
		l.onHeldByOther(now, m, fx)
	case Rejected:
		l.onAcquireRejected(now, m.Reply, fx)
	default:
		l.noteUnacked(m.Sent, m.Command.Lease, fx)
		l.ext.acquireUnacked = true
		l.ext.ensureFailure().lastErr = m.Reply.Err
		if m.Reply.shouldBackOff() {
			l.ext.nextTry = now + l.ext.nextBackoff(fx)
		}
	}
}

// setToken stores the fencing token of a reply.
func (l *Lock) setToken(reply *Reply) {
	if reply.Token != 0 {
		l.ensureExt().ensureLease().token = reply.Token
	}
}

// grantFirst hands a tenure that was just acquired to the first request of the queue, if it has the lease that this
// request needs. Otherwise handOff confirms it first, or releases it if an acquire without a reply had a shorter lease:
// that may still run, so a hold with a fixed lease would end before its time, and a watched one before its first
// renewal is confirmed.
func (l *Lock) grantFirst(now time.Duration, m *Message, fx *Effects) {
	r := l.queue.first()
	forced := l.ext != nil && !l.ext.forceRequests.empty()
	if r != nil && r.Multi == nil && !forced && fx.leaseFor(r) == m.Command.Lease && m.Sent >= l.reconfirmSince(fx) &&
		(l.decideFirstGrant(m.Command.Lease) == keepTenure || r.Lease == 0 && l.validUntil-now >= minWatch(fx)) {
		l.grantNext(now, r, fx)
	}
}

// maxLeaseSearch is the maximum number of requests that are passed over to find one with a longer lease.
const maxLeaseSearch = 1 << 10

// lateReplyBackoff returns the pause before this try if the previous reply was too late as well; else 0. It must be
// called before confirm. The reason is that confirm takes the reply for a success and resets the pause, even if it
// turns out to be late, too.
func (l *Lock) lateReplyBackoff() time.Duration {
	if l.ext == nil || l.ext.lastErr() != errLateReply {
		return 0
	}
	return l.ext.failure.backoff
}

// onLateReply handles a reply that came after the validity of its own lease, which is no grant; pause is the one before
// this try. The pauses grow with each late reply.
//
// The first late reply may be a short delay of the server or of this process. Two in a row suggest that the lease of
// the first request is shorter than a round trip. Such a request would never be granted the lock, and would keep all
// other callers of this engine from it. So a request with a longer lease then goes first.
func (l *Lock) onLateReply(now, pause, lease time.Duration, fx *Effects) {
	x := l.ensureExt()
	f := x.ensureFailure()
	f.lastErr, f.backoff = errLateReply, pause
	x.nextTry = now + x.nextBackoff(fx)
	if pause == 0 {
		return
	}
	first := l.queue.first() // not the request that the command was for, if that one has left
	for r, left := l.queue.first(), maxLeaseSearch; r != nil && left > 0; r, left = l.queue.following(r), left-1 {
		if fx.leaseFor(r) <= lease {
			continue
		}
		if r != first {
			l.queue.moveToFront(r)
		}
		x.nextTry = now
		return
	}
}

// onAcquireRejected handles a rejection by the server, temporary or permanent.
func (l *Lock) onAcquireRejected(now time.Duration, reply *Reply, fx *Effects) {
	if !l.protocol().queues {
		l.endTenure(now, fx)
	}
	x := l.ensureExt()
	if reply.isTransient() {
		x.ensureFailure().lastErr = reply.Err
		x.nextTry = now + x.nextBackoff(fx)
		return
	}
	l.rejectAll(now, rejectedPart{err: reply.Err}, fx)
}
