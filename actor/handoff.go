package actor

import "time"

const (
	// confirmInterval is the shortest interval at which a tenure that is handed off is confirmed with the server. It
	// bounds how long another client waits that comes to a lock which has been handed off for a while. With 50 ms it
	// waited for 33 ms at p50, with 30 ms for 19 ms, and as many locks were granted.
	confirmInterval = 30 * time.Millisecond
	// staleCount is the age from which on the number of other listeners does not tell that there is none.
	staleCount = 2 * confirmInterval
	// pollerHandoffTime is how long a tenure is handed off before it is released for clients that poll.
	pollerHandoffTime = 100 * time.Millisecond
	// minYield is the minimum time of yielding to others.
	minYield = 2 * time.Millisecond
	// maxYield is the maximum: one reply that took seconds must not keep an engine away for as long.
	maxYield = 250 * time.Millisecond
)

// Values of handoffState.otherListeners that are not a number.
const (
	listenersUnknown     = -1 // not asked yet
	listenersUncountable = -2 // the server's reply had no number
)

// handoffDecision is the decision about a tenure that has no owner any more.
type handoffDecision uint8

const (
	keepTenure    handoffDecision = iota // hand it off
	releaseTenure                        // release it
	confirmFirst                         // confirm it, and ask for other subscribers, before the decision
)

// handOff decides about a tenure that has no owner any more, and reports whether this engine keeps it. The next request
// of this engine's queue gets it without a round trip, or after one that confirms it. Otherwise it is released.
func (l *Lock) handOff(now time.Duration, fx *Effects) bool {
	r := l.queue.first()
	if r == nil || r.Multi != nil { // a request for several locks is not granted one of them alone
		if x := l.ext; x != nil && x.hasLocalReaders {
			h := x.ensureHandoff()
			h.yieldAfterRelease, h.notifications = fx.YieldTime(), 0 // a writer that comes while the release is in flight lets them go first
		}
		l.startRelease(fx)
		return false
	}
	allowed := l.decideHandoff(now, fx)
	if allowed == releaseTenure {
		l.startRelease(fx)
		return false
	}
	if allowed == confirmFirst || !l.leaseCovers(r, now, fx) {
		if l.inFlight == None {
			l.flags |= wantConfirm
			l.retrySoon(now)
		}
		return true
	}
	l.grantNext(now, r, fx)
	return true
}

// YieldTime returns for how long this engine yields to others that were notified.
func (fx *Effects) YieldTime() time.Duration {
	return min(max(2*fx.RoundTrip, minYield), maxYield)
}

// decideHandoff decides whether this engine may keep the tenure for its own queue, or must let others acquire the lock.
func (l *Lock) decideHandoff(now time.Duration, fx *Effects) handoffDecision {
	if l.ownedSince == 0 {
		return l.decideFirstGrant(fx.leaseFor(l.queue.first()))
	}
	x := l.ensureExt()
	h := x.ensureHandoff()
	switch {
	case x.hasLocalReaders: // they have been waiting, or go on reading
	case fx.Config.MaxHandoffGrants < 0 || l.minUnackedLease() != 0 || l.protocol().perRequest:
		return releaseTenure
	case h.probeAgain: // release, to see whether others come
	case h.handoffs == 0:
		return keepTenure
	case now-h.handoffStart >= pollerHandoffTime && h.otherListeners == 0 && now-h.countedAt > staleCount:
		return confirmFirst // a client that subscribed since then would be taken for one that polls
	case now-h.handoffStart >= pollerHandoffTime:
	case h.otherListeners == 0 && x.inOwnWindow(now):
		return keepTenure
	case h.otherListeners == 0:
	case int(h.handoffs) < fx.Config.MaxHandoffGrants && now-h.handoffStart < fx.Config.MaxHandoffTime:
		return keepTenure
	case h.otherListeners == listenersUnknown:
		return confirmFirst
	}
	h.yieldAfterRelease, h.notifications = x.yieldFor(now, fx), 0
	return releaseTenure
}

// decideFirstGrant decides about a tenure that had no owner yet and was not acquired with the lease that the first
// request needs. If an acquire without a reply and with a shorter lease limits the validity, no confirmation can cover
// that request. Then the tenure is released.
func (l *Lock) decideFirstGrant(lease time.Duration) handoffDecision {
	if s := l.minUnackedLease(); s != 0 && s < lease {
		return releaseTenure
	}
	return keepTenure
}

// leaseCovers reports whether the confirmed lease suits the next owner. A watched owner needs at least half of its
// lease left, and at most all of it. If it has less right after a confirmation, the server is so far that no other one
// would leave more. An owner with a fixed lease needs a confirmation of exactly that lease since the last owner
// unlocked.
func (l *Lock) leaseCovers(r *Request, now time.Duration, fx *Effects) bool {
	lease, left := fx.leaseFor(r), l.validUntil-now
	p := l.protocol()
	if l.confirmedAt < l.reconfirmSince(fx) || p.tokens && l.ext.leaseView().token == l.ext.leaseView().ownerToken {
		return false
	}
	if (l.inFlight == p.renew || l.inFlight == p.renewForNext) && l.ensureExt().leaseView().inFlightLease > lease {
		return false // it would leave the next owner's key with a lease that is too long
	}
	if r.Lease == 0 && left >= lease/2 && left <= lease {
		return true
	}
	return l.flags&confirmedSinceHandoff != 0 && l.ensureExt().leaseView().confirmedLease == lease
}

// grantNext gives the tenure to the first request of the queue.
func (l *Lock) grantNext(now time.Duration, r *Request, fx *Effects) {
	if l.ownedSince != 0 {
		h := l.ensureExt().ensureHandoff()
		if h.handoffs == 0 {
			h.handoffStart = now
		}
		h.handoffs++
		fx.Stats.HandedOff++
		r.WasLocked = true
	}
	fixed := time.Duration(0)
	if r.Lease != 0 {
		fixed = l.validUntil
	}
	l.grant(now, r, fixed, fx)
}
