package actor

import (
	"iter"
	"slices"
	"sync/atomic"
	"time"
)

// spareHolds is how many slots of ended holds a holdSet keeps in addition to one slot per live hold.
const spareHolds = 8

// holdSet is the set of holds of an owner that has re-entered, from its second hold until the last has ended. Nearly
// every tenure has one hold and no holdSet. No step scans all holds: its queries take O(log n) amortized, and memory is
// proportional to the live holds. The zero value is empty. Only until may be read outside the coordinator.
type holdSet struct {
	until atomic.Int64 // end of the tenure's validity, with its limitCause: no hold is valid for longer

	// Owned by the coordinator.
	holds     []*Hold // in the order of their grants. An ended hold keeps its slot until it is the first or the last, or half have ended
	live      int
	watched   int       // how many of the live ones are watched
	limits    deadlines // the limit of each hold
	leaseEnds deadlines // the negative end of each own lease, so that the last comes first
	expiring  []*Hold   // holds past their limit, taken from limits: the next step ends them
}

func (s *holdSet) add(h *Hold, limit time.Duration) {
	s.holds = append(s.holds, h)
	s.live++
	h.set.Store(s) // first: see Until
	s.setLimits(h, limit)
}

// setLimits records the limit of a hold, when it is granted and when its lease changes.
func (s *holdSet) setLimits(h *Hold, limit time.Duration) {
	h.storeLimit(limit)
	limit = h.limit() // as it was stored
	if limit != never {
		s.limits.push(deadline{limit, h})
	}
	if h.fixedEnd == 0 {
		s.watched++
	} else {
		s.leaseEnds.push(deadline{-h.fixedEnd, h})
	}
	s.compact()
}

// compact removes ended holds and outdated deadlines once they are more than half.
func (s *holdSet) compact() {
	maxLen := 2*s.live + spareHolds
	if len(s.holds) > maxLen {
		s.holds = slices.Collect(s.all())
	}
	if len(s.limits) > maxLen {
		s.limits = nil
		for h := range s.all() {
			if limit := h.limit(); limit > 0 && limit != never {
				s.limits.push(deadline{limit, h})
			}
		}
	}
	if len(s.leaseEnds) > maxLen {
		s.leaseEnds = nil
		for h := range s.all() {
			if h.fixedEnd != 0 {
				s.leaseEnds.push(deadline{-h.fixedEnd, h})
			}
		}
	}
}

// setLease gives a hold another lease.
func (s *holdSet) setLease(h *Hold, fixed, limit time.Duration) {
	if h.fixedEnd == 0 {
		s.watched--
	}
	h.fixedEnd = fixed
	s.setLimits(h, limit)
}

// remove takes out a hold that is ending, and freezes its Until at the current value.
func (s *holdSet) remove(h *Hold) {
	if h.fixedEnd == 0 {
		s.watched--
	}
	s.live--
	h.freeze()
	h.set.Store(nil)
	for last := len(s.holds) - 1; last >= 0 && !s.contains(s.holds[last]); last-- {
		s.holds[last] = nil
		s.holds = s.holds[:last]
	}
	for len(s.holds) > 0 && !s.contains(s.holds[0]) {
		s.holds[0] = nil
		s.holds = s.holds[1:]
	}
	s.compact()
}

// innermost returns the newest hold; nil if none is left.
func (s *holdSet) innermost() *Hold {
	if len(s.holds) == 0 {
		return nil
	}
	return s.holds[len(s.holds)-1]
}

// contains, isLimit and isLeaseEnd report whether an entry is still current: the hold is in the set, and has that limit
// or lease.
func (s *holdSet) contains(h *Hold) bool { return h.set.Load() == s }

func (s *holdSet) isLimit(d deadline) bool {
	return s.contains(d.hold) && d.hold.limit() == d.at
}

func (s *holdSet) isLeaseEnd(d deadline) bool { return s.contains(d.hold) && d.hold.fixedEnd == -d.at }

// nextLimit returns the earliest limit of the holds, whatever the tenure's validity.
func (s *holdSet) nextLimit() time.Duration {
	if len(s.expiring) > 0 {
		return 0
	}
	if d, some := s.limits.first(s.isLimit); some {
		return d.at
	}
	return never
}

// expired returns the holds with a limit at or before now. They must be removed before anything else changes.
func (s *holdSet) expired(now time.Duration) []*Hold {
	for d, some := s.limits.first(s.isLimit); some && d.at <= now; d, some = s.limits.first(s.isLimit) {
		d.hold.freeze() // the entry is outdated now, so the hold is not returned twice
		s.expiring = append(s.expiring, d.hold)
	}
	return s.expiring
}

// latestLeases returns up to n holds with leases of their own, except those in except, starting with the one that ends
// last.
func (s *holdSet) latestLeases(n int, except map[*Hold]*Request) (last []*Hold) {
	var popped []deadline
	for len(last) < n {
		d, some := s.leaseEnds.first(s.isLeaseEnd)
		if !some {
			break
		}
		s.leaseEnds.pop()
		if len(popped) > 0 && slices.Contains(last, d.hold) {
			continue // a second entry of the same hold
		}
		popped = append(popped, d)
		if except[d.hold] == nil {
			last = append(last, d.hold)
		}
	}
	for _, other := range popped {
		s.leaseEnds.push(other)
	}
	return last
}

// all iterates over the live holds in the order of their grants.
func (s *holdSet) all() iter.Seq[*Hold] {
	return func(yield func(*Hold) bool) {
		for _, h := range s.holds {
			if s.contains(h) && !yield(h) {
				return
			}
		}
	}
}

// set returns the owner's holdSet; nil if the owner has not re-entered.
func (l *Lock) set() *holdSet {
	if l.holds == nil {
		return nil
	}
	return l.holds.set.Load()
}

// add makes a hold the innermost of its owner.
func (l *Lock) add(h *Hold, fx *Effects) {
	outer, s := l.holds, l.set()
	l.holds = h
	if outer == nil {
		l.publish(fx)
		return
	}
	if s == nil {
		s = &holdSet{holds: make([]*Hold, 0, 4)}
		s.until.Store(notRenewed.with(l.validUntil))
		s.add(outer, l.holdLimit(outer.fixedEnd, fx))
	}
	s.add(h, l.holdLimit(h.fixedEnd, fx))
	l.publishSet(s)
}

// remove takes out a hold that is ending.
func (l *Lock) remove(h *Hold) {
	s := l.set()
	if s == nil {
		l.holds = nil
		return
	}
	s.remove(h)
	l.holds = s.innermost()
}

// removeOne takes out a hold that ends by itself: what the others say at their end can follow from that.
func (l *Lock) removeOne(h *Hold) {
	l.remove(h)
	if s := l.set(); s != nil {
		l.publishSet(s)
	}
}

// setHoldLease gives a hold a lease of its own that ends at fixed, or makes it watched if fixed is 0.
func (l *Lock) setHoldLease(h *Hold, fixed time.Duration, fx *Effects) {
	if s := l.set(); s != nil {
		s.setLease(h, fixed, l.holdLimit(fixed, fx))
		l.publishSet(s)
		return
	}
	h.fixedEnd = fixed
	l.publish(fx)
}

// holdCount returns the number of the owner's holds.
func (l *Lock) holdCount() uint32 {
	switch s := l.set(); {
	case s != nil:
		return uint32(s.live)
	case l.holds != nil:
		return 1
	}
	return 0
}

// watched reports whether at least one of the owner's holds is renewed automatically.
func (l *Lock) watched() bool { return l.watchedHolds() > 0 }

// watchedHolds returns the number of those holds.
func (l *Lock) watchedHolds() int {
	if s := l.set(); s != nil {
		return s.watched
	}
	if l.holds != nil && l.holds.fixedEnd == 0 {
		return 1
	}
	return 0
}

// latestFixed returns up to n holds with leases of their own, except those in except, starting with the one that ends
// last.
func (l *Lock) latestFixed(n int, except map[*Hold]*Request) []*Hold {
	switch s := l.set(); {
	case s != nil:
		return s.latestLeases(n, except)
	case l.holds != nil && l.holds.fixedEnd > 0 && except[l.holds] == nil:
		return []*Hold{l.holds}
	}
	return nil
}

// lastFixed returns the latest end of the holds' own leases, except those of holds in except; 0 if there is none.
func (l *Lock) lastFixed(except map[*Hold]*Request) time.Duration {
	if s := l.set(); s == nil {
		if l.holds != nil && except[l.holds] == nil {
			return l.holds.fixedEnd
		}
	} else if d, some := s.leaseEnds.first(s.isLeaseEnd); !some || except[d.hold] == nil {
		return -d.at
	} else if last := s.latestLeases(1, except); len(last) > 0 {
		return last[0].fixedEnd
	}
	return 0
}

// nextHoldLimit returns the earliest limit of the holds, whatever the tenure's validity.
func (l *Lock) nextHoldLimit(fx *Effects) time.Duration {
	switch s := l.set(); {
	case s != nil:
		return s.nextLimit()
	case l.holds != nil:
		return l.holdLimit(l.holds.fixedEnd, fx)
	}
	return never
}
