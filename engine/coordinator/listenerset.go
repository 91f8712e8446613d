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
	locks     []*actor.Lock       // nil where a lock was removed
	positions map[*actor.Lock]int // index of each lock; nil while there are few
	gaps      int
}

func (h *listenerSet) len() int { return len(h.locks) - h.gaps }

func (h *listenerSet) add(l *actor.Lock) {
	h.locks = append(h.locks, l)
	switch {
	case h.positions != nil:
		h.positions[l] = len(h.locks) - 1
	case len(h.locks) > maxScannedListeners:
		h.buildIndex()
	}
}

func (h *listenerSet) has(l *actor.Lock) bool {
	if h.positions == nil {
		return slices.Contains(h.locks, l)
	}
	_, is := h.positions[l]
	return is
}

func (h *listenerSet) buildIndex() {
	h.positions = make(map[*actor.Lock]int, len(h.locks))
	for i, l := range h.locks {
		h.positions[l] = i
	}
}

func (h *listenerSet) remove(l *actor.Lock) {
	if h.positions == nil {
		h.locks = slices.DeleteFunc(h.locks, func(other *actor.Lock) bool { return other == l })
		return
	}
	place, is := h.positions[l]
	if !is {
		return
	}
	delete(h.positions, l)
	h.locks[place] = nil
	if h.gaps++; 2*h.gaps > len(h.locks) {
		h.compact()
	}
}

// compact removes the gaps.
func (h *listenerSet) compact() {
	*h = listenerSet{locks: h.all()}
	if len(h.locks) > maxScannedListeners {
		h.buildIndex()
	}
}

// all returns a copy.
func (h *listenerSet) all() []*actor.Lock {
	if h.gaps == 0 {
		return slices.Clone(h.locks)
	}
	all := make([]*actor.Lock, 0, h.len())
	for _, l := range h.locks {
		if l != nil {
			all = append(all, l)
		}
	}
	return all
}
