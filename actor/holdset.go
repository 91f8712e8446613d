package actor

import (
	"iter"
	"slices"
	"sync/atomic"
	"time"
)

// fewSpare is how many slots of ended holds a holdSet keeps in addition to one slot per live hold.
const fewSpare = 8

// holdSet is the set of holds of an owner that has re-entered, from its second hold until the last has ended. Nearly
// every tenure has one hold and no holdSet. No step scans all holds: its queries take O(log n) amortized, and memory is
// proportional to the live holds. Only until may be read outside the coordinator.
type holdSet struct {
	until atomic.Int64 // end of the tenure's validity: no hold is valid for longer

	// Owned by the coordinator.
	holds   []*Hold // in the order of their grants. An ended hold keeps its slot until it is the last, or half have ended
	live    int
	watched int       // how many of the live ones are watched
	soonest deadlines // the limit of each hold
	latest  deadlines // the negative end of each own lease, so that the last comes first
	over    []*Hold   // holds past their limit, taken from soonest: the next step ends them
}

func (s *holdSet) add(h *Hold, limit time.Duration) {
	s.holds = append(s.holds, h)
	s.live++
	h.set.Store(s) // first: see Until
	s.bound(h, limit)
}

// bound records the limit of a hold, when it is granted and when its lease changes.
func (s *holdSet) bound(h *Hold, limit time.Duration) {
	h.until.Store(int64(-limit))
	if limit != never {
		s.soonest.push(deadline{limit, h})
	}
	if h.fixed == 0 {
		s.watched++
	} else {
		s.latest.push(deadline{-h.fixed, h})
	}
	s.tidy()
}

// tidy removes ended holds and outdated deadlines once they are more than half.
func (s *holdSet) tidy() {
	most := 2*s.live + fewSpare
	if len(s.holds) > most {
		s.holds = slices.Collect(s.all())
	}
	if len(s.soonest) > most {
		s.soonest = nil
		for h := range s.all() {
			if limit := -h.until.Load(); limit > 0 && limit != int64(never) {
				s.soonest.push(deadline{time.Duration(limit), h})
			}
		}
	}
	if len(s.latest) > most {
		s.latest = nil
		for h := range s.all() {
			if h.fixed != 0 {
				s.latest.push(deadline{-h.fixed, h})
			}
		}
	}
}

// fix gives a hold another lease.
func (s *holdSet) fix(h *Hold, fixed, limit time.Duration) {
	if h.fixed == 0 {
		s.watched--
	}
	h.fixed = fixed
	s.bound(h, limit)
}

// remove takes out a hold that is ending, and freezes its Until at the current value.
func (s *holdSet) remove(h *Hold) {
	if h.fixed == 0 {
		s.watched--
	}
	s.live--
	h.until.Store(int64(h.Until()))
	h.set.Store(nil)
	for last := len(s.holds) - 1; last >= 0 && !s.has(s.holds[last]); last-- {
		s.holds[last] = nil
		s.holds = s.holds[:last]
	}
	s.tidy()
}

// innermost returns the youngest hold; nil if none is left.
func (s *holdSet) innermost() *Hold {
	if len(s.holds) == 0 {
		return nil
	}
	return s.holds[len(s.holds)-1]
}

// has, ends and leased report whether an entry is still current: the hold is in the set, and has that limit or lease.
func (s *holdSet) has(h *Hold) bool { return h.set.Load() == s }

func (s *holdSet) ends(d deadline) bool { return s.has(d.hold) && d.hold.until.Load() == int64(-d.at) }

func (s *holdSet) leased(d deadline) bool { return s.has(d.hold) && d.hold.fixed == -d.at }

// limit returns the earliest limit of the holds, whatever the tenure's validity.
func (s *holdSet) limit() time.Duration {
	if len(s.over) > 0 {
		return 0
	}
	if d, some := s.soonest.first(s.ends); some {
		return d.at
	}
	return never
}

// passed returns the holds with a limit at or before now. They must be removed before anything else changes.
func (s *holdSet) passed(now time.Duration) []*Hold {
	for d, some := s.soonest.first(s.ends); some && d.at <= now; d, some = s.soonest.first(s.ends) {
		d.hold.until.Store(int64(d.hold.Until())) // the entry is outdated now, so the hold is not returned twice
		s.over = append(s.over, d.hold)
	}
	return s.over
}

// longest returns up to n holds with leases of their own, except those in but, starting with the one that ends last.
func (s *holdSet) longest(n int, but map[*Hold]*Request) (last []*Hold) {
	var aside []deadline
	for len(last) < n {
		d, some := s.latest.first(s.leased)
		if !some {
			break
		}
		s.latest.pop()
		if len(aside) > 0 && slices.Contains(last, d.hold) {
			continue // a second entry of the same hold
		}
		aside = append(aside, d)
		if but[d.hold] == nil {
			last = append(last, d.hold)
		}
	}
	for _, other := range aside {
		s.latest.push(other)
	}
	return last
}

// all iterates over the live holds in the order of their grants.
func (s *holdSet) all() iter.Seq[*Hold] {
	return func(yield func(*Hold) bool) {
		for _, h := range s.holds {
			if s.has(h) && !yield(h) {
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
		s.until.Store(int64(l.until))
		s.add(outer, l.limitOf(outer.fixed, fx))
	}
	s.add(h, l.limitOf(h.fixed, fx))
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

// fix gives a hold a lease of its own that ends at fixed, or makes it watched if fixed is 0.
func (l *Lock) fix(h *Hold, fixed time.Duration, fx *Effects) {
	if s := l.set(); s != nil {
		s.fix(h, fixed, l.limitOf(fixed, fx))
		return
	}
	h.fixed = fixed
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
	if l.holds != nil && l.holds.fixed == 0 {
		return 1
	}
	return 0
}

// longestFixed returns up to n holds with leases of their own, except those in but, starting with the one that ends
// last.
func (l *Lock) longestFixed(n int, but map[*Hold]*Request) []*Hold {
	switch s := l.set(); {
	case s != nil:
		return s.longest(n, but)
	case l.holds != nil && l.holds.fixed > 0 && but[l.holds] == nil:
		return []*Hold{l.holds}
	}
	return nil
}

// lastFixed returns the latest end of the holds' own leases, except those of holds in but; 0 if there is none.
func (l *Lock) lastFixed(but map[*Hold]*Request) time.Duration {
	if s := l.set(); s == nil {
		if l.holds != nil && but[l.holds] == nil {
			return l.holds.fixed
		}
	} else if d, some := s.latest.first(s.leased); !some || but[d.hold] == nil {
		return -d.at
	} else if last := s.longest(1, but); len(last) > 0 {
		return last[0].fixed
	}
	return 0
}

// limit returns the earliest limit of the holds, whatever the tenure's validity.
func (l *Lock) limit(fx *Effects) time.Duration {
	switch s := l.set(); {
	case s != nil:
		return s.limit()
	case l.holds != nil:
		return l.limitOf(l.holds.fixed, fx)
	}
	return never
}
