package actor

import "time"

const (
	// confirmEvery is how often a tenure that is handed on is confirmed with the server.
	confirmEvery = 50 * time.Millisecond
	// keepAtMost is how long a tenure is handed on before it is released for those who poll.
	keepAtMost = 100 * time.Millisecond
	// stepBackFloor is the least time that others get to come first.
	stepBackFloor = 2 * time.Millisecond
	// stepBackMost is the most: one answer that took seconds must not keep an engine away for as long.
	stepBackMost = 250 * time.Millisecond
)

// Who else listens on the channel, when it is not a number.
const (
	unasked    = -1
	unknowable = -2
)

type permission uint8

const (
	keep permission = iota
	giveAway
	askFirst
)

// passOn decides what becomes of a tenure whose owner left: handed to the next in this engine's queue
// without a round trip, or after one that confirms it, or released. It reports whether it stays here.
func (l *Lock) passOn(now time.Duration, fx *Effects) bool {
	r := l.queue.first()
	if r == nil || r.Joint != nil { // who wants several gets none alone
		if x := l.rare; x != nil && x.shared {
			h := x.withHandoff()
			h.yield, h.heard = fx.Back(), 0 // a writer who comes while the release is under way lets them go first
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

// Back is how long others who were told are given to come first.
func (fx *Effects) Back() time.Duration {
	return min(max(2*fx.RoundTrip, stepBackFloor), stepBackMost)
}

// mayKeep reports whether this engine may keep the tenure for its own queue, or must let others come.
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
	case h.again: // and sees whether others come
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

// mayTake is for a tenure that nobody of this engine had yet and that was not asked for with the lease
// of whoever comes first. If an unanswered acquire with a shorter one cuts the belief in it, no
// confirmation would ever cover that one: it is given back.
func (l *Lock) mayTake(lease time.Duration) permission {
	if s := l.shortest(); s != 0 && s < lease {
		return giveAway
	}
	return keep
}

// covers reports whether the confirmed lease is good enough for the next owner: at least half of what it
// asks for and not more than that; for a fixed lease, confirmed for it.
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

// hand gives the tenure to the first of the queue.
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
