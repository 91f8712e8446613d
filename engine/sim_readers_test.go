package engine

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// What must be so of those who read and of those who write.

// holding reports whether an owner has a hold of that kind on a lock, or had until this turn.
func (e *simEngine) holding(name int, owner uint64, reads bool) bool {
	is := func(h *simHold) bool {
		return h.granted && h.name == name && h.grant.Owner == owner && h.reads == reads
	}
	return slices.ContainsFunc(e.holds, func(h *simHold) bool { return h.active && is(h) }) || slices.ContainsFunc(e.over, is)
}

// upgraded checks that a writer does not come from among the readers.
func (w *simWorld) upgraded(h *simHold) {
	if w.names[h.name].kind != actor.Write {
		return
	}
	if h.reads {
		w.saw(sawRead)
		if h.e.holding(h.name, h.grant.Owner, false) {
			w.saw(sawBeside)
		}
		return
	}
	for _, other := range h.e.holds {
		if other.active && other.reads && other.name == h.name && other.grant.Owner == h.grant.Owner && !h.e.holding(h.name, h.grant.Owner, false) {
			w.fail("%s grants %s to a reader", h.e.name, h)
		}
	}
}

// refusedUpgrade checks that only a reader is told that it cannot become the writer.
func (w *simWorld) refusedUpgrade(e *simEngine, a *simAsk) {
	w.saw(sawUpgrade)
	if a.Owner == 0 || a.Kind != actor.Write || !e.holding(a.name, a.Owner, true) {
		w.fail("%s refuses %s as one of a reader, but its owner does not read", e.name, a)
	}
}

// waitsForItself checks that a reader who wants to write is told at once that it cannot, and so is who wants several
// locks of which it has one.
func (e *simEngine) waitsForItself(a *simAsk) {
	for i, h := range a.parts {
		owner := a.Joint.Parts[i].Owner
		for _, other := range e.holds {
			if owner != 0 && other.name == h.name && other.grant.Owner == owner && other.believed() && other.tenure.granted < e.w.now {
				e.w.fail("%s lets %s wait for %s, which its owner has", e.name, a, other)
			}
		}
	}
	if a.Tag != actor.Acquire || a.Kind != actor.Write || a.Owner == 0 {
		return
	}
	for _, h := range e.holds {
		if h.reads && h.name == a.name && h.grant.Owner == a.Owner && h.believed() && h.tenure.granted < e.w.now && !e.holding(a.name, a.Owner, false) {
			e.w.fail("%s lets %s wait for %s, which its owner has", e.name, a, h)
		}
	}
}

// freeFor is since when a lock is free for somebody who waits for it, 0 if it is not. Who wants to read may stand
// aside for a writer of its own engine.
func (w *simWorld) freeFor(a *simAsk) time.Duration {
	if a.parts != nil {
		return w.freeTogether(a)
	}
	n := &w.names[a.name]
	if a.Kind != actor.Read {
		return n.free
	}
	for _, other := range a.caller.e.asks {
		if other.Tag == actor.Acquire && other.name == a.name && other.Kind == actor.Write {
			a.aside = w.now
			return 0
		}
	}
	if n.open == 0 {
		return 0
	}
	return max(n.open, a.aside)
}

// probeReaders lets two engines read a lock together, and a third who writes wait for both of them.
func (w *simWorld) probeReaders(name int, within time.Duration) {
	if w.names[name].kind != actor.Write {
		return
	}
	var holds []*simHold
	shortest := w.prober(0).heldFor()
	for slot := range 2 {
		c := w.prober(slot % len(w.engines))
		a := c.newAsk(actor.Acquire, name)
		a.Kind = actor.Read
		c.want(a)
		if !w.runUntil(w.now+within, func() bool { return a.decided }) {
			w.fail("%s does not get %s, which nobody writes, within %v", c.e.name, a, within)
			return
		}
		holds, shortest = append(holds, a.hold), min(shortest, c.heldFor())
	}
	writer := w.prober(0)
	a := writer.plainLock(name)
	for _, h := range holds {
		w.runFor(shortest / 4)
		if a.decided {
			w.fail("%s was granted %s, which others read", writer.e.name, a)
			return
		}
		w.prober(h.e.slot).change(h, actor.Unlock, 0)
	}
	if !w.runUntil(w.now+300*time.Millisecond+within, func() bool { return a.decided }) {
		w.fail("%s waits for %s, 300ms after its readers left", writer.e.name, a)
		return
	}
	writer.change(a.hold, actor.Unlock, 0)
	w.runFor(w.spread(time.Millisecond, time.Second))
}
