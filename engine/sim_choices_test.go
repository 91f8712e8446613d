package engine

import "time"

// simChoices decides, of the things that a history could do without, which happen in it: what callers and
// outsiders wish for, and what goes wrong. Each is known by what the event draws that it belongs to.
type simChoices struct {
	met  []simChoice     // that happened, in order
	keep map[uint32]bool // which may; nil: all
}

type simChoice struct {
	key  uint32
	who  string
	what string
	at   time.Duration
}

// may is asked about everything that a history could do without, before it happens.
func (w *simWorld) may(who, what string) bool {
	w.led++ // several may be of one event
	c := w.choices
	if c == nil {
		return true
	}
	key := uint32(simMixed(w.key, w.led))
	if c.keep != nil && !c.keep[key] {
		return false
	}
	c.met = append(c.met, simChoice{key, who, what, w.now})
	return true
}
