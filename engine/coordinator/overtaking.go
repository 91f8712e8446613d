package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// caughtUpShare divides the share of a turn. If more requests for one name than that part wait in the lane
// asyncUnlocks, a later request for the name waits there as well.
const caughtUpShare = 8

// waitingOfName holds the requests for one name in the lane asyncUnlocks that are not handled, in their order. Nearly
// always there is one, so that has a place of its own. Owned by the coordinator. The zero value has none, and is never
// stored.
type waitingOfName struct {
	first *actor.Request
	more  []*actor.Request
}

// note records the request of a message that is about to be appended to the lane asyncUnlocks.
func (in *intake) note(key string, m *LoopMessage) {
	r, ok := m.Value.(*actor.Request)
	if !ok || key == "" || r.Multi != nil {
		return // a request for several locks: no later one has to wait for it
	}
	r.Key = key // that of its lock may be gone when the lane comes to it
	if in.unlocksOf == nil {
		in.unlocksOf = make(map[string]waitingOfName)
	}
	w := in.unlocksOf[key]
	if w.first == nil {
		w.first = r
	} else {
		w.more = append(w.more, r)
	}
	in.unlocksOf[key] = w
	in.mostUnlocksOf.note(len(in.unlocksOf))
}

// forget removes the request of a message of the lane asyncUnlocks, if it was not handled earlier than the lane came to
// it.
func (in *intake) forget(m *LoopMessage) {
	if r, ok := m.Value.(*actor.Request); ok {
		if w := in.unlocksOf[r.Key]; w.first == r {
			in.forgetFirst(r.Key, w)
		}
	}
}

// forgetFirst removes the first request of a name.
func (in *intake) forgetFirst(key string, w waitingOfName) {
	if len(w.more) == 0 {
		if delete(in.unlocksOf, key); in.mostUnlocksOf.outgrown(len(in.unlocksOf)) {
			in.unlocksOf = nil
		}
		return
	}
	w.first, w.more[0], w.more = w.more[0], nil, w.more[1:]
	in.unlocksOf[key] = w
}

// handleInOrder handles a message, of any lane but asyncUnlocks, after the requests for the same name that wait in that
// lane, and after late cancellations for it. A caller that has called UnlockAsync does not wait for the result, and
// calls TryLock next: its own hold must not be in its way. If very many wait, the message follows them in their lane.
func (c *Coordinator) handleInOrder(now time.Duration, m *LoopMessage) {
	if len(c.intake.lateCancels) > 0 {
		c.catchUpCancels(now, m)
	}
	if len(c.intake.unlocksOf) > 0 && !c.catchUp(now, m) {
		c.intake.note(nameOf(m), m)
		c.intake.lanes[asyncUnlocks].push(m)
		return
	}
	c.handle(now, m)
}

// nameOf returns the key of the lock that a message is about, or "".
func nameOf(m *LoopMessage) string {
	hold := (*actor.Hold)(nil)
	switch what := m.Value.(type) {
	case *actor.Request:
		if what.Key != "" {
			return what.Key
		}
		hold = what.Hold
	case LeakedHold:
		hold = what.Hold
	}
	if hold == nil || hold.Lock() == nil {
		return ""
	}
	return hold.Lock().Key()
}

// catchUp handles the requests in the lane asyncUnlocks that are to be handled before a message, and reports whether
// none is left.
func (c *Coordinator) catchUp(now time.Duration, m *LoopMessage) (all bool) {
	r, ok := m.Value.(*actor.Request)
	if !ok || r.Multi == nil {
		return c.catchUpName(now, nameOf(m))
	}
	for i := range r.Multi.Parts {
		if !c.catchUpName(now, r.Multi.Parts[i].Key) {
			return false
		}
	}
	return true
}

// catchUpName handles the requests for a name that wait in the lane asyncUnlocks, unless they are too many for this
// turn. It reports whether none is left. It leaves those of callers that block, and what follows them: such a caller
// uses its request and the message again as soon as it has the result, and the message is still in the lane.
func (c *Coordinator) catchUpName(now time.Duration, key string) (all bool) {
	in := &c.intake
	w, found := in.unlocksOf[key]
	if !found {
		return true
	}
	if n := 1 + len(w.more); n > max(in.laneBudget/caughtUpShare, 1) || n > in.caughtUpLeft {
		return false
	}
	for ; found; w, found = in.unlocksOf[key] {
		r := w.first
		if !r.Async {
			return false
		}
		in.forgetFirst(key, w)
		in.caughtUpLeft--
		c.handleRequest(now, r)
	}
	return true
}
