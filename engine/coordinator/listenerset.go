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
	locks []*actor.Lock  // nil where a lock was removed; not at the end
	index *listenerIndex // nil while there are few: a million channels may have one listener each
}

// listenerIndex is where the locks of a large set are. buildIndex makes it. Owned by the coordinator.
type listenerIndex struct {
	positions map[*actor.Lock]int
	gaps      int // how many locks of the set are nil
}

func (s *listenerSet) len() int {
	if s.index == nil {
		return len(s.locks)
	}
	return len(s.locks) - s.index.gaps
}

func (s *listenerSet) add(l *actor.Lock) {
	s.locks = append(s.locks, l)
	switch {
	case s.index != nil:
		s.index.positions[l] = len(s.locks) - 1
	case len(s.locks) > maxScannedListeners:
		s.buildIndex()
	}
}

func (s *listenerSet) has(l *actor.Lock) bool {
	if s.index == nil {
		return slices.Contains(s.locks, l)
	}
	_, is := s.index.positions[l]
	return is
}

// buildIndex makes the index of a set without gaps.
func (s *listenerSet) buildIndex() {
	s.index = &listenerIndex{positions: make(map[*actor.Lock]int, len(s.locks))}
	for i, l := range s.locks {
		s.index.positions[l] = i
	}
}

func (s *listenerSet) remove(l *actor.Lock) {
	x := s.index
	if x == nil {
		s.locks = slices.DeleteFunc(s.locks, func(other *actor.Lock) bool { return other == l })
		return
	}
	place, is := x.positions[l]
	if !is {
		return
	}
	delete(x.positions, l)
	s.locks[place] = nil
	for x.gaps++; len(s.locks) > 0 && s.locks[len(s.locks)-1] == nil; x.gaps-- {
		s.locks = s.locks[:len(s.locks)-1]
	}
	if 2*x.gaps > len(s.locks) {
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
	if s.len() == len(s.locks) {
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
