package actor

import "time"

const (
	// confirmEvery is the interval at which a tenure that is handed off is confirmed with the server.
	confirmEvery = 50 * time.Millisecond
	// keepAtMost is how long a tenure is handed off before it is released for clients that poll.
	keepAtMost = 100 * time.Millisecond
	// stepBackFloor is the minimum time of yielding to others.
	stepBackFloor = 2 * time.Millisecond
	// stepBackMost is the maximum: one reply that took seconds must not keep an engine away for as long.
	stepBackMost = 250 * time.Millisecond
)

// Values of handoff.listeners that are not a number.
const (
	unasked    = -1 // not asked yet
	unknowable = -2 // the server's reply had no number
)

// permission is the decision about a tenure that has no owner any more.
type permission uint8

const (
	keep     permission = iota // hand it off
	giveAway                   // release it
	askFirst                   // confirm it, and ask for other subscribers, before the decision
)

// passOn decides about a tenure that has no owner any more, and reports whether this engine keeps it. The next request
// of this engine's queue gets it without a round trip, or after one that confirms it. Otherwise it is released.
func (l *Lock) passOn(now time.Duration, fx *Effects) bool {
	r := l.queue.first()
	if r == nil || r.Joint != nil { // a request for several locks is not granted one of them alone
		if x := l.rare; x != nil && x.shared {
			h := x.withHandoff()
			h.yield, h.heard = fx.Back(), 0 // a writer that comes while the release is in flight lets them go first
		}
		l.end(fx)
		return false
	}
	allowed := l.mayKeep(now, fx)
	if allowed == giveAway {
		l.end(fx)
		return false
	}
	if allowed == askFirst || !l.covers(r, now, fx) {
		if l.flight == None {
			l.wants |= wantConfirm
		}
		return true
	}
	l.hand(now, r, fx)
	return true
}

// Back returns for how long this engine yields to others that were notified.
func (fx *Effects) Back() time.Duration {
	return min(max(2*fx.RoundTrip, stepBackFloor), stepBackMost)
}

// mayKeep decides whether this engine may keep the tenure for its own queue, or must let others acquire the lock.
func (l *Lock) mayKeep(now time.Duration, fx *Effects) permission {
	if l.since == 0 {
		return l.mayTake(fx.leaseOf(l.queue.first()))
	}
	x := l.withRare()
	h := x.withHandoff()
	switch {
	case x.shared: // they have been waiting, or go on reading
	case fx.Config.HandoffMax < 0 || l.shortest() != 0 || l.protocol().claims:
		return giveAway
	case h.again: // release, to see whether others come
	case h.handed == 0:
		return keep
	case now-h.handedAt >= keepAtMost:
	case h.listeners == 0 && x.keeps(now):
		return keep
	case h.listeners == 0:
	case int(h.handed) < fx.Config.HandoffMax && now-h.handedAt < fx.Config.HandoffFor:
		return keep
	case h.listeners == unasked:
		return askFirst
	}
	h.yield, h.heard = x.backFor(now, fx), 0
	return giveAway
}

// mayTake decides about a tenure that had no owner yet and was not acquired with the lease that the first request
// needs. If an acquire without a reply and with a shorter lease limits the validity, no confirmation can cover that
// request. Then the tenure is released.
func (l *Lock) mayTake(lease time.Duration) permission {
	if s := l.shortest(); s != 0 && s < lease {
		return giveAway
	}
	return keep
}

// covers reports whether the confirmed lease suits the next owner. A watched owner needs at least half of its lease
// left, and at most all of it. An owner with a fixed lease needs a confirmation of exactly that lease since the last
// owner unlocked.
func (l *Lock) covers(r *Request, now time.Duration, fx *Effects) bool {
	lease, left := fx.leaseOf(r), l.until-now
	p := l.protocol()
	if l.confirmed < l.doubted(fx) || p.tokens && l.rare.lease().token == l.rare.lease().given {
		return false
	}
	if (l.flight == p.renew || l.flight == p.pass) && l.withRare().lease().sending > lease {
		return false // it would leave the next owner's key with a lease that is too long
	}
	if r.Lease != 0 {
		return l.wants&wantFresh != 0 && l.withRare().lease().confirmed == lease
	}
	return left >= lease/2 && left <= lease
}

// hand gives the tenure to the first request of the queue.
func (l *Lock) hand(now time.Duration, r *Request, fx *Effects) {
	if l.since != 0 {
		h := l.withRare().withHandoff()
		if h.handed == 0 {
			h.handedAt = now
		}
		h.handed++
		fx.Stats.Handed++
	}
	fixed := time.Duration(0)
	if r.Lease != 0 {
		fixed = l.until
	}
	l.grant(now, r, fixed, fx)
}
