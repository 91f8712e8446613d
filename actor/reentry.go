package actor

import "time"

// ownedBy reports whether an owner holds the lock, so that its requests re-enter.
func (l *Lock) ownedBy(owner uint64) bool {
	return owner != 0 && l.phase == held && l.holds != nil && l.holds.Owner == owner
}

// reenter grants a re-entry at once if the confirmed lease covers it. A longer lease takes a round trip first, and so
// does a watched re-entry just before the end of its owner's fixed lease.
func (l *Lock) reenter(now time.Duration, r *Request, fx *Effects) {
	if l.tryReenter(now, r, fx) {
		return
	}
	fx.LimitWait(r, fx.Config.CallTimeout)
}

// tryReenter reports whether a re-entry got its result. If not, it is queued for a round trip.
func (l *Lock) tryReenter(now time.Duration, r *Request, fx *Effects) bool {
	if l.reenterNow(now, r, fx) {
		return true
	}
	l.ensureExt().leaseRequests.push(r)
	l.retrySoon(now)
	return false
}

// reenterNow gives a re-entry its result if that takes no round trip, and reports whether it did.
func (l *Lock) reenterNow(now time.Duration, r *Request, fx *Effects) bool {
	if r.Lease == 0 && l.maxHoldReached(now, fx) {
		fx.Complete(now, r, ErrLost, errMaxHold) // its owner has the lock only by a fixed lease
		return true
	}
	fits := r.Lease == 0 && !l.endsTooSoonToWatch(now, fx) || r.Lease != 0 && now+validity(r.Lease) <= l.validUntil
	if fits && l.confirmedAt >= l.reconfirmSince(fx) {
		fixed := time.Duration(0)
		if r.Lease != 0 {
			fixed = now + validity(r.Lease)
		}
		l.grant(now, r, fixed, fx)
		return true
	}
	return false
}

const (
	// watchableFor is how many recent round trips the validity must last for a hold that begins to be watched then. Its
	// first renewal leaves at once, and may wait for others or be slower than usual.
	watchableFor = 4
	// minWatchable is the least that the validity must last then, however near the server is.
	minWatchable = 2 * time.Millisecond
)

// endsTooSoonToWatch reports whether a watched hold could be lost before its first renewal is confirmed. Until now the
// lock is held by fixed leases alone, so no renewal is due, and the validity may be about to end.
func (l *Lock) endsTooSoonToWatch(now time.Duration, fx *Effects) bool {
	return !l.watched() && l.validUntil-now < minWatch(fx)
}

// minWatch returns how long the validity must last at least for a hold that begins to be watched.
func minWatch(fx *Effects) time.Duration { return max(watchableFor*fx.RoundTrip, minWatchable) }

// reenterWaiters lets all requests re-enter that wait as the owner which was just granted the lock. This is necessary
// because the first hold may wait for them before it unlocks. A request for several locks ends with ErrReentry. For
// kinds with per-request locks those requests wait at other Locks, which the coordinator knows. Without such a request
// the queue is not scanned.
func (l *Lock) reenterWaiters(now time.Duration, fx *Effects) {
	owner := l.holds.Owner
	switch {
	case l.kind.PerRequest():
		// They were re-entering when their owner lost it: a per-request lock has no other queue.
		if l.kind == Read {
			l.shareQueued(now, fx)
		} else {
			l.reenterQueued(now, fx)
		}
		if owner&ThreadOwner != 0 || l.UnderWriter() || l.kind.Queues() && !l.queue.empty() {
			fx.ReentryChecks = append(fx.ReentryChecks, ReentryCheck{l, owner})
		}
	case owner&ThreadOwner != 0 && l.hasWaiters(owner, false):
		l.reenterQueued(now, fx)
		l.rejectMultis(now, fx)
	}
	if l.kind == Write && owner&ThreadOwner != 0 {
		fx.ReentryChecks = append(fx.ReentryChecks, ReentryCheck{l, owner}) // they may wait to read as well
	}
}

// onTransferred takes over a request of this lock's owner from another per-request lock.
func (l *Lock) onTransferred(now time.Duration, r *Request, fx *Effects) {
	r.list.remove(r)
	r.lock = l
	if l.phase == held && l.holds != nil {
		l.tryReenter(now, r, fx)
		return
	}
	l.queue.push(r)
}

// RejectUpgrades rejects requests that wait to write as an owner that reads: they would wait for themselves. It reports
// whether there were any. Without one the queue is not scanned.
func (l *Lock) RejectUpgrades(now time.Duration, owner uint64, fx *Effects) bool {
	if l.kind != Write || l.HoldCount(owner, now) > 0 || !l.hasWaiters(owner, false) {
		return false
	}
	for _, r := range l.waitingAs(owner) {
		fx.Complete(now, r, ErrUpgrade, nil)
	}
	return true
}

// shareQueued lets all requests of the queue of a reader re-enter. They had one owner until that lost the lock, also if
// the one that was granted has become another. Otherwise each would wait until that one has unlocked.
func (l *Lock) shareQueued(now time.Duration, fx *Effects) {
	for r := l.queue.first(); r != nil; r = l.queue.first() {
		l.queue.remove(r)
		r.Owner = l.holds.Owner
		l.tryReenter(now, r, fx)
	}
}

// reenterQueued lets the requests of the queue re-enter that have the lock's owner.
func (l *Lock) reenterQueued(now time.Duration, fx *Effects) {
	owner := l.holds.Owner
	if owner == 0 {
		return
	}
	for _, r := range l.waitingAs(owner) {
		l.queue.remove(r)
		l.tryReenter(now, r, fx)
	}
}
