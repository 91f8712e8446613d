package actor

import "time"

// leaseNeed is the lease that a hold or request needs: a lease from now on, and the time until which it must be valid.
// For a fixed lease that is already running, only that time counts. The zero value needs nothing. It is a plain value,
// and belongs to the step that computes it.
type leaseNeed struct {
	lease   time.Duration
	until   time.Duration
	mustSet bool // the TTL may have to fall to the lease
}

// needFromNow returns the need of a lease from now on.
func needFromNow(now, lease time.Duration) leaseNeed {
	return leaseNeed{lease: lease, until: now + validity(lease)}
}

// union returns a need that covers two needs.
func (n leaseNeed) union(other leaseNeed) leaseNeed {
	return leaseNeed{max(n.lease, other.lease), max(n.until, other.until), n.mustSet || other.mustSet}
}

// totalNeed returns what all holds and pending re-entries need together, with one lease that covers all of it.
func (l *Lock) totalNeed(now time.Duration, fx *Effects) (all leaseNeed) {
	if l.holds == nil {
		all = needFromNow(now, fx.leaseFor(l.queue.first()))
		all.mustSet = true
		return all
	}
	all = l.allHoldsNeed(now, fx)
	if l.ext != nil {
		l.ext.leaseRequests.each(func(r *Request) {
			if r.Op == Acquire {
				all = all.union(l.requestNeed(now, r, fx))
			}
		})
	}
	if now+validity(all.lease) < all.until {
		all.lease = leaseCovering(all.until - now)
	}
	return all
}

// mayExceedNeed reports whether exceedsNeed can be true, and is cheap. Nearly always there is one hold, it is watched,
// and the TTL is no longer than that needs.
func (l *Lock) mayExceedNeed(now time.Duration, fx *Effects) bool {
	return l.holds != nil && (l.holds.fixedEnd != 0 || l.ttlEnd() > now+fx.watchedValidity)
}

// ttlEnd returns until when the key may exist, as far as is known. That is the end of the validity, or of what a read
// beside a writer needed if that is later.
func (l *Lock) ttlEnd() time.Duration {
	if l.ext == nil || l.ext.lease == nil {
		return l.validUntil
	}
	return max(l.validUntil, l.ext.lease.raisedUntil)
}

// exceedsNeed reports whether the key has a longer TTL than any hold needs, because the hold or request that needed it
// is gone. If the process died, other waiters would wait for that TTL in vain. What leaseCovering adds, or a renewal
// that left late, does not count as too long.
func (l *Lock) exceedsNeed(now time.Duration, fx *Effects) bool {
	if l.ext != nil && !l.ext.leaseRequests.empty() {
		return false
	}
	return l.exceeds(now, l.ttlEnd(), l.ttlEnd()-l.confirmedAt, fx)
}

// exceeds reports whether a lease that lasts until end is longer than any hold needs.
func (l *Lock) exceeds(now, end, lease time.Duration, fx *Effects) bool {
	until := l.lastFixed(nil)
	if l.watched() {
		until = max(until, now+fx.watchedValidity)
	}
	return end-until > max(min(lease/50, time.Second), min(lease/16, fx.Config.CallTimeout))+3*grain(lease)
}

// lowering says whether the TTL of a tenure is to fall to what its holds need. Effects.LoweringLocks counts the locks
// for which it is not noLowering, so that a close waits for them without looking at each lock.
type lowering uint8

const (
	noLowering lowering = iota
	lowerDue            // a command is to be sent; noted only once the engine is about to close
	lowerSent           // a command was sent, and none of the tenure has been confirmed since
)

// lowersAt returns when a command is to lower the TTL, which exceeds the need. There is a limit on how often it is
// tried. When the engine is about to close it is tried at once: no other command follows.
func (l *Lock) lowersAt(fx *Effects) time.Duration {
	if l.confirmedAt < fx.ClosingSince {
		return 0
	}
	return l.confirmedAt + fx.Config.CallTimeout
}

// noteLowering notes whether the TTL is to fall before a close.
func (l *Lock) noteLowering(now time.Duration, fx *Effects) {
	due := l.phase == held && l.holds != nil && l.confirmedAt < fx.ClosingSince && (l.exceedsNeed(now, fx) || l.willExceedNeed(now, fx))
	switch known := l.lowering(); {
	case due && known == noLowering:
		l.setLowering(lowerDue, fx)
	case !due && known == lowerDue:
		l.setLowering(noLowering, fx)
	}
}

// willExceedNeed reports whether the renewal in flight sets a longer TTL than any hold needs, because the hold that
// needed it has ended meanwhile.
func (l *Lock) willExceedNeed(now time.Duration, fx *Effects) bool {
	if l.ext == nil || l.inFlight != l.protocol().renew {
		return false
	}
	wanted := false
	l.ext.leaseRequests.each(func(r *Request) { wanted = wanted || r.Op == Acquire || r.Hold.held() })
	lease := l.ext.leaseView().inFlightLease
	return !wanted && lease != 0 && l.exceeds(now, now+validity(lease), lease, fx)
}

// lowering returns whether the TTL is to fall.
func (l *Lock) lowering() lowering {
	if l.ext == nil || l.ext.failure == nil {
		return noLowering
	}
	return l.ext.failure.lowering
}

// setLowering sets whether the TTL is to fall, and counts the lock.
func (l *Lock) setLowering(to lowering, fx *Effects) {
	from := l.lowering()
	if from == to {
		return
	}
	if from == noLowering {
		fx.LoweringLocks++
	} else if to == noLowering {
		fx.LoweringLocks--
	}
	l.ensureExt().ensureFailure().lowering = to
}

// requestNeed returns what a re-entry or an extension needs.
func (l *Lock) requestNeed(now time.Duration, r *Request, fx *Effects) leaseNeed {
	if r.Lease == 0 {
		return needFromNow(now, l.watchLease(now, fx))
	}
	return needFromNow(now, r.Lease)
}

// allHoldsNeed returns what all present holds need together. It does not scan them: only holds with a pending extension
// are looked at one by one. Of the others, all watched holds need the same, and of the fixed leases the longest counts.
func (l *Lock) allHoldsNeed(now time.Duration, fx *Effects) (all leaseNeed) {
	extensions, watched := l.extensions(), 0
	for h := range extensions {
		if !h.held() {
			delete(extensions, h)
			continue
		}
		if h.fixedEnd == 0 {
			watched++
		}
		all = all.union(l.holdNeed(now, h, extensions[h], fx))
	}
	if l.watchedHolds() > watched {
		all = all.union(needFromNow(now, l.watchLease(now, fx)))
	}
	if fixed := l.lastFixed(extensions); fixed != 0 {
		all = all.union(leaseNeed{until: fixed})
	}
	return all
}

// longestNeeds returns the needs of the holds that need most: of at least maxHoldKeys holds, or of all.
func (l *Lock) longestNeeds(now time.Duration, fx *Effects) (needs []leaseNeed) {
	extensions, watched := l.extensions(), l.watchedHolds()
	for h, r := range extensions {
		if !h.held() {
			continue
		}
		if h.fixedEnd == 0 {
			watched--
		}
		needs = append(needs, l.holdNeed(now, h, r, fx))
	}
	for range min(watched, maxHoldKeys) {
		needs = append(needs, needFromNow(now, l.watchLease(now, fx)))
	}
	for _, h := range l.latestFixed(maxHoldKeys, extensions) {
		needs = append(needs, leaseNeed{until: h.fixedEnd})
	}
	return needs
}

// holdNeed returns what one hold needs. A pending extension replaces its own need.
func (l *Lock) holdNeed(now time.Duration, h *Hold, change *Request, fx *Effects) leaseNeed {
	if change != nil {
		own := l.requestNeed(now, change, fx)
		own.mustSet = true
		return own
	}
	if h.fixedEnd == 0 {
		return needFromNow(now, l.watchLease(now, fx))
	}
	return leaseNeed{until: h.fixedEnd}
}

// extensions returns the last pending extension of each hold; nil if there is none.
func (l *Lock) extensions() (last map[*Hold]*Request) { return l.lastExtensions(false) }

// lastExtensions returns the last pending extension of each hold, of all or of those that are in the command in flight.
func (l *Lock) lastExtensions(inCommand bool) (last map[*Hold]*Request) {
	if l.ext == nil {
		return nil
	}
	l.ext.leaseRequests.each(func(r *Request) {
		if r.Op != Extend || inCommand && !r.inCommand {
			return
		}
		if last == nil {
			last = make(map[*Hold]*Request)
		}
		last[r.Hold] = r
	})
	return last
}

// leaseCovering returns a lease with a validity of at least d.
func leaseCovering(d time.Duration) time.Duration {
	return d + min(d/50, time.Second) + 3*grain(d)
}
