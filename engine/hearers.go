package engine

import (
	"slices"

	"github.com/lockwheel/lockwheel/actor"
)

// fewHearers is the largest number of listeners that are searched linearly.
const fewHearers = 16

// hearers is a set of the locks that listen to a channel, in the order in which they were added. Removal takes
// amortized constant time.
type hearers struct {
	locks  []*actor.Lock       // nil where a lock was removed
	places map[*actor.Lock]int // index of each lock; nil while there are few
	left   int
}

func (h *hearers) len() int { return len(h.locks) - h.left }

func (h *hearers) add(l *actor.Lock) {
	h.locks = append(h.locks, l)
	switch {
	case h.places != nil:
		h.places[l] = len(h.locks) - 1
	case len(h.locks) > fewHearers:
		h.number()
	}
}

func (h *hearers) has(l *actor.Lock) bool {
	if h.places == nil {
		return slices.Contains(h.locks, l)
	}
	_, is := h.places[l]
	return is
}

func (h *hearers) number() {
	h.places = make(map[*actor.Lock]int, len(h.locks))
	for i, l := range h.locks {
		h.places[l] = i
	}
}

func (h *hearers) remove(l *actor.Lock) {
	if h.places == nil {
		h.locks = slices.DeleteFunc(h.locks, func(other *actor.Lock) bool { return other == l })
		return
	}
	place, is := h.places[l]
	if !is {
		return
	}
	delete(h.places, l)
	h.locks[place] = nil
	if h.left++; 2*h.left > len(h.locks) {
		h.close()
	}
}

// close removes the gaps.
func (h *hearers) close() {
	*h = hearers{locks: h.all()}
	if len(h.locks) > fewHearers {
		h.number()
	}
}

// all returns a copy.
func (h *hearers) all() []*actor.Lock {
	if h.left == 0 {
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
