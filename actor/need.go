package actor

import "time"

// need is what covers somebody: a lease from now on, and the moment until which it must be believed. For
// a fixed lease that is running already, only the moment counts.
type need struct {
	lease time.Duration
	until time.Duration
	exact bool // the TTL may have to fall to it
}

// needLease is the need of somebody who wants that lease from now on.
func needLease(now, lease time.Duration) need {
	return need{lease: lease, until: now + believed(lease)}
}

// both covers two needs.
func (n need) both(other need) need {
	return need{max(n.lease, other.lease), max(n.until, other.until), n.exact || other.exact}
}

// need is what everybody who is left needs, with a lease that covers all of it.
func (l *Lock) need(now time.Duration, fx *Effects) (all need) {
	if l.holds == nil {
		all = needLease(now, fx.leaseOf(l.queue.first()))
		all.exact = true
		return all
	}
	for h := l.holds; h != nil; h = h.next {
		all = all.both(l.needOf(now, h, fx))
	}
	if l.rare != nil {
		l.rare.changes.each(func(r *Request) {
			if r.Tag == Acquire {
				all = all.both(l.needOfChange(now, r, fx))
			}
		})
	}
	if now+believed(all.lease) < all.until {
		all.lease = reaching(all.until - now)
	}
	return all
}

// needOfChange is what a re-entry or an extension needs.
func (l *Lock) needOfChange(now time.Duration, r *Request, fx *Effects) need {
	if r.Lease == 0 {
		return needLease(now, l.watchLease(now, fx))
	}
	return needLease(now, r.Lease)
}

// needOf is what one hold needs. An extension under way counts for it.
func (l *Lock) needOf(now time.Duration, h *Hold, fx *Effects) need {
	if change := l.extensionOf(h); change != nil {
		own := l.needOfChange(now, change, fx)
		own.exact = true
		return own
	}
	if h.fixed == 0 {
		return needLease(now, l.watchLease(now, fx))
	}
	return need{until: h.fixed}
}

// extensionOf is the last extension of a hold that is not confirmed yet; nil if there is none.
func (l *Lock) extensionOf(h *Hold) (last *Request) {
	if l.rare != nil {
		l.rare.changes.each(func(r *Request) {
			if r.Tag == Extend && r.Hold == h {
				last = r
			}
		})
	}
	return last
}

// reaching is a lease that is believed for at least d.
func reaching(d time.Duration) time.Duration {
	return d + min(d/50, time.Second) + 3*tick(d)
}
