package actor

import (
	"iter"
	"slices"
	"sync/atomic"
	"time"
)

// fewSpare is how many places of holds that have ended a holdSet keeps besides one for each that lives.
const fewSpare = 8

// holdSet is the holds of an owner that has re-entered, from its second one until the last has ended: nearly every tenure has one hold, and
// none of this. Very many are not gone through: what a step asks of them takes O(log n), amortized, and its memory is that of those that live.
type holdSet struct {
	until atomic.Int64 // of the tenure. No hold goes on for longer

	// The coordinator's.
	holds   []*Hold // as they came. One that has ended keeps its place until it is the last, or until half have
	live    int
	watched int       // of them
	soonest deadlines // until when each may go on at most
	latest  deadlines // the end of each own lease, negative: the last comes first
	over    []*Hold   // those that soonest had and that are over: the next step ends them
}

func (s *holdSet) add(h *Hold, limit time.Duration) {
	s.holds = append(s.holds, h)
	s.live++
	h.set.Store(s) // first: see Until
	s.bound(h, limit)
}

// bound takes in until when a hold may go on, when it came and when it has another lease.
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

// tidy leaves nothing but what lives as soon as that is less than half.
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

// remove takes a hold out, which ends. Until when it was held stays as it is then.
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

// innermost is the youngest; nil if none is left.
func (s *holdSet) innermost() *Hold {
	if len(s.holds) == 0 {
		return nil
	}
	return s.holds[len(s.holds)-1]
}

// has, ends and leased report whether something is still so.
func (s *holdSet) has(h *Hold) bool { return h.set.Load() == s }

func (s *holdSet) ends(d deadline) bool { return s.has(d.hold) && d.hold.until.Load() == int64(-d.at) }

func (s *holdSet) leased(d deadline) bool { return s.has(d.hold) && d.hold.fixed == -d.at }

// limit is when the first of them is over, however long the tenure is believed in.
func (s *holdSet) limit() time.Duration {
	if len(s.over) > 0 {
		return 0
	}
	if d, some := s.soonest.first(s.ends); some {
		return d.at
	}
	return never
}

// passed are those that are over at that moment. They are to be removed before anything else changes.
func (s *holdSet) passed(now time.Duration) []*Hold {
	for d, some := s.soonest.first(s.ends); some && d.at <= now; d, some = s.soonest.first(s.ends) {
		d.hold.until.Store(int64(d.hold.Until())) // so it is not there a second time
		s.over = append(s.over, d.hold)
	}
	return s.over
}

// longest are so many holds with leases of their own, but those in a map: the ones that end last.
func (s *holdSet) longest(n int, but map[*Hold]*Request) (last []*Hold) {
	var aside []deadline
	for len(last) < n {
		d, some := s.latest.first(s.leased)
		if !some {
			break
		}
		s.latest.pop()
		if len(aside) > 0 && slices.Contains(last, d.hold) {
			continue // it is there twice
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

// all goes through them, as they came.
func (s *holdSet) all() iter.Seq[*Hold] {
	return func(yield func(*Hold) bool) {
		for _, h := range s.holds {
			if s.has(h) && !yield(h) {
				return
			}
		}
	}
}

// set is what an owner has that re-entered; nil if it did not.
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

// remove takes a hold out, which ends.
func (l *Lock) remove(h *Hold) {
	s := l.set()
	if s == nil {
		l.holds = nil
		return
	}
	s.remove(h)
	l.holds = s.innermost()
}

// fix gives a hold a lease of its own that ends at that moment, or has it watched: 0.
func (l *Lock) fix(h *Hold, fixed time.Duration, fx *Effects) {
	if s := l.set(); s != nil {
		s.fix(h, fixed, l.limitOf(fixed, fx))
		return
	}
	h.fixed = fixed
	l.publish(fx)
}

// holdCount is how many holds the owner has.
func (l *Lock) holdCount() uint32 {
	switch s := l.set(); {
	case s != nil:
		return uint32(s.live)
	case l.holds != nil:
		return 1
	}
	return 0
}

// watched reports whether one of the owner's holds is to be renewed.
func (l *Lock) watched() bool { return l.watchedHolds() > 0 }

// watchedHolds is how many are.
func (l *Lock) watchedHolds() int {
	if s := l.set(); s != nil {
		return s.watched
	}
	if l.holds != nil && l.holds.fixed == 0 {
		return 1
	}
	return 0
}

// longestFixed are so many holds with leases of their own, but those in a map: the ones that end last, the last of them first.
func (l *Lock) longestFixed(n int, but map[*Hold]*Request) []*Hold {
	switch s := l.set(); {
	case s != nil:
		return s.longest(n, but)
	case l.holds != nil && l.holds.fixed > 0 && but[l.holds] == nil:
		return []*Hold{l.holds}
	}
	return nil
}

// lastFixed is the end of the longest lease of its own that a hold has, but for some; 0 if there is none.
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

// limit is when the first of the holds is over, however long the tenure is believed in.
func (l *Lock) limit(fx *Effects) time.Duration {
	switch s := l.set(); {
	case s != nil:
		return s.limit()
	case l.holds != nil:
		return l.limitOf(l.holds.fixed, fx)
	}
	return never
}
