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

// mayOutlive reports whether outlives has to be asked. Nearly always the one hold is watched, and the TTL no longer than that.
func (l *Lock) mayOutlive(now time.Duration, fx *Effects) bool {
	return l.holds != nil && (l.holds.fixed != 0 || l.lasting() > now+fx.watched)
}

// lasting is until when the key may be there, as far as is known: as long as it is believed in, or as a read beside a
// writer needed.
func (l *Lock) lasting() time.Duration {
	if l.rare == nil || l.rare.leases == nil {
		return l.until
	}
	return max(l.until, l.rare.leases.raised)
}

// outlives reports whether the key has a longer TTL than any hold needs: whoever needed it has unlocked, or gave up. If
// the process died, others would wait for nothing. What reaching adds is not too long, nor is what a renewal that left
// late adds.
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

// needOfChange is what a re-entry or an extension needs.
func (l *Lock) needOfChange(now time.Duration, r *Request, fx *Effects) need {
	if r.Lease == 0 {
		return needLease(now, l.watchLease(now, fx))
	}
	return needLease(now, r.Lease)
}

// needOfHolds is what all holds need that there are. They are not gone through: of those without an extension under way the watched
// ones need the same, and of the others the longest lease counts.
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

// longestNeeds are the needs of so many holds at least as a reader has keys, or of all: of those without an extension under way the
// longest.
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

// needOf is what one hold needs. An extension under way counts for it.
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

// extensions are the last of each hold that are not confirmed yet; nil if there are none.
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

// reaching is a lease that is believed for at least d.
func reaching(d time.Duration) time.Duration {
	return d + min(d/50, time.Second) + 3*tick(d)
}
