package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/wire"
)

// lockSeveral asks for some plain locks together, as Multi does.
func (c *simCaller) lockSeveral() {
	w := c.e.w
	names := slices.Clone(w.plain)
	simShuffle(w, names)
	names = names[:2+w.random.IntN(min(len(names), 5)-1)]
	c.bounded(c.askSeveral(names))
}

// askSeveral makes a request for several locks. If the caller has one of them, the request may carry its owner.
func (c *simCaller) askSeveral(names []int) *simRequest {
	w := c.e.w
	slices.SortFunc(names, func(a, b int) int { return strings.Compare(w.plan.names[a], w.plan.names[b]) })
	a := c.newRequest(actor.Acquire, names[0])
	a.Multi, a.Async = &actor.MultiRequest{}, false // as in the root package, there is no LockAsync of several locks
	for _, name := range names {
		h, owner := w.newHold(c.e, name), c.thread
		if at := slices.IndexFunc(c.holds, func(h *simHold) bool { return h.name == name }); at >= 0 && w.chance(0.5) {
			owner = c.holds[at].grant.Owner
		}
		h.together = a
		a.parts = append(a.parts, h)
		a.Multi.Parts = append(a.Multi.Parts, actor.Part{Name: w.plan.names[name], Key: w.plan.names[name], Owner: owner, Hold: &h.grant})
	}
	return a
}

// of returns the holds that a request for a lock is for.
func (a *simRequest) of() []*simHold {
	if a.parts != nil {
		return a.parts
	}
	return a.single[:]
}

// about reports whether a request for locks includes that name.
func (a *simRequest) about(name int) bool {
	return slices.ContainsFunc(a.of(), func(h *simHold) bool { return h.name == name })
}

// meets reports whether two requests for locks have one in common.
func (a *simRequest) meets(other *simRequest) bool {
	return slices.ContainsFunc(a.of(), func(h *simHold) bool { return other.about(h.name) })
}

// multiAcquire takes all parts, or none.
func (s *simServer) multiAcquire(life int, c *actor.Command) actor.Reply {
	lease := wire.Milliseconds(c.Lease)
	for i := range c.Parts {
		holder := holderOf(life, s.w.nameOf(c.Parts[i].Key), false, c.Tenure)
		reply := actor.Reply{Status: actor.OK}
		switch k := s.key(holder.name()); {
		case k.foreign():
			reply = refusedBy(errSimType)
		case k.exists && k.holder != holder:
			reply = s.taken(k)
		}
		if reply.Status != actor.OK {
			reply.FailedPart = i
			return reply
		}
		if s.w.bug == bugPartKept {
			s.acquire(holder.name(), holder, lease)
		}
	}
	for i := range c.Parts { // the first write makes room for all others
		holder := holderOf(life, s.w.nameOf(c.Parts[i].Key), false, c.Tenure)
		if reply := s.acquire(holder.name(), holder, lease); reply.Status != actor.OK {
			reply.FailedPart = i
			return reply
		}
	}
	return done()
}

// together checks that of several locks all were granted, or none.
func (w *simWorld) together(e *simEngine, a *simRequest) {
	for _, h := range a.parts {
		if has := h.grant.Lock() != nil; has != (a.Err == nil) {
			w.fail("%s decides %s: %v, and it is otherwise for %s", e.name, a, a.Err, w.plan.names[h.name])
		}
	}
	if a.Err == nil {
		w.cover(coverMultiGranted)
		return
	}
	e.back = slices.DeleteFunc(e.back, func(h *simHold) bool { return h.together == a })
	if a.Err != actor.ErrReentry {
		return
	}
	if w.cover(coverMultiReentry); a.due != 0 {
		w.cover(coverMultiOwnerGranted)
	}
	for i, part := range a.Multi.Parts {
		if part.Owner != 0 && e.holding(a.parts[i].name, part.Owner, false) {
			return
		}
	}
	w.fail("%s refuses %s as held already by its owner, who holds none of them", e.name, a)
}

// checkForeignOwners checks that no lock is granted together with others if its owner has it already.
func (w *simWorld) checkForeignOwners(h *simHold) {
	for _, other := range h.e.holds {
		if other != h && other.active && other.name == h.name && other.grant.Owner == h.grant.Owner {
			w.fail("%s grants %s together with others, though its owner has it", h.e.name, h)
		}
	}
}

// checkGiveBack handles the result of a request that the engine made itself. It made the request to release what was
// granted to a caller that wanted several locks and had left.
func (e *simEngine) checkGiveBack(r *actor.Request) bool {
	i := slices.IndexFunc(e.back, func(h *simHold) bool { return &h.grant == r.Hold })
	if r.Op != actor.Unlock || i < 0 {
		return false
	}
	e.back = slices.Delete(e.back, i, i+1)
	return true
}

// freeTogether returns since when all locks of a request are free, 0 if one is not.
func (w *simWorld) freeTogether(a *simRequest) (since time.Duration) {
	for _, h := range a.parts {
		n := &w.names[h.name]
		if n.free == 0 {
			return 0
		}
		since = max(since, n.free)
	}
	return since
}

// probeSeveral takes several locks at once in one engine, and has another wait for one of them.
func (w *simWorld) probeSeveral(within time.Duration) {
	if len(w.plain) < 2 {
		return
	}
	first, second := w.prober(0), w.prober(1%len(w.engines))
	a := first.askSeveral(slices.Clone(w.plain[:min(len(w.plain), 4)]))
	first.want(a)
	if !w.runUntil(w.now+within, func() bool { return a.decided }) || a.Err != nil {
		w.fail("%s does not get %s, which is not held, within %v", first.e.name, a, within)
		return
	}
	other := second.plainLock(a.parts[len(a.parts)-1].name)
	w.runFor(first.heldFor())
	if other.decided {
		w.fail("%s was granted %s, which %s has", second.e.name, other, first.e.name)
		return
	}
	for _, h := range a.parts {
		first.change(h, actor.Unlock, 0)
	}
	if !w.runUntil(w.now+300*time.Millisecond+within, func() bool { return other.decided }) {
		w.fail("%s waits for %s, 300ms after its release", second.e.name, other)
		return
	}
	second.change(other.hold, actor.Unlock, 0)
	w.runFor(w.spread(time.Millisecond, time.Second))
}
