package coordinator

import (
	"slices"

	"github.com/lockwheel/lockwheel/actor"
)

// maxScannedListeners is the largest number of listeners that are searched linearly.
const maxScannedListeners = 16

// listenerSet is a set of the locks that listen to a channel, in the order in which they were added. Removal takes
// amortized constant time. The zero value is empty. Owned by the coordinator.
type listenerSet struct {
	locks     []*actor.Lock       // nil where a lock was removed; not at the end
	positions map[*actor.Lock]int // index of each lock; nil while there are few
	gaps      int
}

func (s *listenerSet) len() int { return len(s.locks) - s.gaps }

func (s *listenerSet) add(l *actor.Lock) {
	s.locks = append(s.locks, l)
	switch {
	case s.positions != nil:
		s.positions[l] = len(s.locks) - 1
	case len(s.locks) > maxScannedListeners:
		s.buildIndex()
	}
}

func (s *listenerSet) has(l *actor.Lock) bool {
	if s.positions == nil {
		return slices.Contains(s.locks, l)
	}
	_, is := s.positions[l]
	return is
}

func (s *listenerSet) buildIndex() {
	s.positions = make(map[*actor.Lock]int, len(s.locks))
	for i, l := range s.locks {
		s.positions[l] = i
	}
}

func (s *listenerSet) remove(l *actor.Lock) {
	if s.positions == nil {
		s.locks = slices.DeleteFunc(s.locks, func(other *actor.Lock) bool { return other == l })
		return
	}
	place, is := s.positions[l]
	if !is {
		return
	}
	delete(s.positions, l)
	s.locks[place] = nil
	for s.gaps++; len(s.locks) > 0 && s.locks[len(s.locks)-1] == nil; s.gaps-- {
		s.locks = s.locks[:len(s.locks)-1]
	}
	if 2*s.gaps > len(s.locks) {
		s.compact()
	}
}

// compact removes the gaps.
func (s *listenerSet) compact() {
	*s = listenerSet{locks: s.all()}
	if len(s.locks) > maxScannedListeners {
		s.buildIndex()
	}
}

// last returns the lock that was added last, of a set that is not empty.
func (s *listenerSet) last() *actor.Lock { return s.locks[len(s.locks)-1] }

// all returns a copy.
func (s *listenerSet) all() []*actor.Lock {
	if s.gaps == 0 {
		return slices.Clone(s.locks)
	}
	all := make([]*actor.Lock, 0, s.len())
	for _, l := range s.locks {
		if l != nil {
			all = append(all, l)
		}
	}
	return all
}
