package actor

import "time"

// need is the lease that a hold or request needs: a lease from now on, and the time until which it must be valid. For a
// fixed lease that is already running, only that time counts.
type need struct {
	lease time.Duration
	until time.Duration
	exact bool // the TTL may have to fall to the lease
}

// needLease returns the need of a lease from now on.
func needLease(now, lease time.Duration) need {
	return need{lease: lease, until: now + believed(lease)}
}

// both returns a need that covers two needs.
func (n need) both(other need) need {
	return need{max(n.lease, other.lease), max(n.until, other.until), n.exact || other.exact}
}

// need returns what all holds and pending re-entries need together, with one lease that covers all of it.
func (l *Lock) need(now time.Duration, fx *Effects) (all need) {
	if l.holds == nil {
		all = needLease(now, fx.leaseOf(l.queue.first()))
		all.exact = true
		return all
	}
	all = l.needOfHolds(now, fx)
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

// mayOutlive reports whether outlives can be true, and is cheap. Nearly always there is one hold, it is watched, and the TTL
// is no longer than that needs.
func (l *Lock) mayOutlive(now time.Duration, fx *Effects) bool {
	return l.holds != nil && (l.holds.fixed != 0 || l.lasting() > now+fx.watched)
}

// lasting returns until when the key may exist, as far as is known. That is the end of the validity, or of what a read
// beside a writer needed if that is later.
func (l *Lock) lasting() time.Duration {
	if l.rare == nil || l.rare.leases == nil {
		return l.until
	}
	return max(l.until, l.rare.leases.raised)
}

// outlives reports whether the key has a longer TTL than any hold needs, because the hold or request that needed it is
// gone. If the process died, other waiters would wait for that TTL in vain. What reaching adds, or a renewal that left
// late, does not count as too long.
func (l *Lock) outlives(now time.Duration, fx *Effects) bool {
	if l.rare != nil && !l.rare.changes.empty() {
		return false
	}
	until := l.lastFixed(nil)
	if l.watched() {
		until = max(until, now+fx.watched)
	}
	lease := l.lasting() - l.confirmed
	return l.lasting()-until > max(min(lease/50, time.Second), min(lease/16, fx.Config.Timeout))+3*tick(lease)
}

// needOfChange returns what a re-entry or an extension needs.
func (l *Lock) needOfChange(now time.Duration, r *Request, fx *Effects) need {
	if r.Lease == 0 {
		return needLease(now, l.watchLease(now, fx))
	}
	return needLease(now, r.Lease)
}

// needOfHolds returns what all present holds need together. It does not scan them: only holds with a pending extension
// are looked at one by one. Of the others, all watched holds need the same, and of the fixed leases the longest counts.
func (l *Lock) needOfHolds(now time.Duration, fx *Effects) (all need) {
	extensions, watched := l.extensions(), 0
	for h := range extensions {
		if !h.held() {
			delete(extensions, h)
			continue
		}
		if h.fixed == 0 {
			watched++
		}
		all = all.both(l.needOf(now, h, extensions[h], fx))
	}
	if l.watchedHolds() > watched {
		all = all.both(needLease(now, l.watchLease(now, fx)))
	}
	if fixed := l.lastFixed(extensions); fixed != 0 {
		all = all.both(need{until: fixed})
	}
	return all
}

// longestNeeds returns the needs of the holds that need most: of at least stampsMost holds, or of all.
func (l *Lock) longestNeeds(now time.Duration, fx *Effects) (needs []need) {
	extensions, watched := l.extensions(), l.watchedHolds()
	for h, r := range extensions {
		if !h.held() {
			continue
		}
		if h.fixed == 0 {
			watched--
		}
		needs = append(needs, l.needOf(now, h, r, fx))
	}
	for range min(watched, stampsMost) {
		needs = append(needs, needLease(now, l.watchLease(now, fx)))
	}
	for _, h := range l.longestFixed(stampsMost, extensions) {
		needs = append(needs, need{until: h.fixed})
	}
	return needs
}

// needOf returns what one hold needs. A pending extension replaces its own need.
func (l *Lock) needOf(now time.Duration, h *Hold, change *Request, fx *Effects) need {
	if change != nil {
		own := l.needOfChange(now, change, fx)
		own.exact = true
		return own
	}
	if h.fixed == 0 {
		return needLease(now, l.watchLease(now, fx))
	}
	return need{until: h.fixed}
}

// extensions returns the last pending extension of each hold; nil if there is none.
func (l *Lock) extensions() (last map[*Hold]*Request) {
	if l.rare == nil {
		return nil
	}
	l.rare.changes.each(func(r *Request) {
		if r.Tag != Extend {
			return
		}
		if last == nil {
			last = make(map[*Hold]*Request)
		}
		last[r.Hold] = r
	})
	return last
}

// reaching returns a lease with a validity of at least d.
func reaching(d time.Duration) time.Duration {
	return d + min(d/50, time.Second) + 3*tick(d)
}
