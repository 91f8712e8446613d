package engine

import (
	"slices"

	"github.com/lockwheel/lockwheel/actor"
)

// fewHearers is up to how many locks of one channel are looked through for one of them.
const fewHearers = 16

// hearers are the locks that want to hear a channel, in the order in which they came. To leave costs the same however many there are.
type hearers struct {
	locks  []*actor.Lock       // nil where one has left
	places map[*actor.Lock]int // nil while there are few
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

// close closes the gaps.
func (h *hearers) close() {
	*h = hearers{locks: h.all()}
	if len(h.locks) > fewHearers {
		h.number()
	}
}

// all is a copy.
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
