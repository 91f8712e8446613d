package sim

import "time"

// simChoices decides which optional events happen in a history: requests of callers and external clients, and
// faults. The key of the event that an optional event belongs to identifies it.
type simChoices struct {
	met  []simChoice     // that happened, in order
	keep map[uint32]bool // which may happen; nil: all
}

type simChoice struct {
	key  uint32
	who  string
	what string
	at   time.Duration
}

// may is called before every event that a history could do without, and reports whether it happens.
func (w *simWorld) may(who, what string) bool {
	w.childEvents++ // one event may ask several times
	c := w.choices
	if c == nil {
		return true
	}
	key := uint32(simMixed(w.key, w.childEvents))
	if c.keep != nil && !c.keep[key] {
		return false
	}
	c.met = append(c.met, simChoice{key, who, what, w.now})
	return true
}
