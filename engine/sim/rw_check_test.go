package sim

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/wire"
)

// holding reports whether an owner has a hold of that kind on a lock, or had until this turn.
func (e *simEngine) holding(name int, owner uint64, reads bool) bool {
	is := func(h *simHold) bool {
		return h.granted && h.name == name && h.grant.Owner == owner && h.reads == reads
	}
	return slices.ContainsFunc(e.holds, func(h *simHold) bool { return h.active && is(h) }) || slices.ContainsFunc(e.over, is)
}

// upgraded checks that a new writer is not a reader at the same time.
func (w *simWorld) upgraded(h *simHold) {
	if w.names[h.name].kind != actor.Write {
		return
	}
	if h.reads {
		w.cover(coverReadGranted)
		if h.e.holding(h.name, h.grant.Owner, false) {
			w.cover(coverReadUnderWriter)
		}
		return
	}
	for _, other := range h.e.holds {
		if other.active && other.reads && other.name == h.name && other.grant.Owner == h.grant.Owner && !h.e.holding(h.name, h.grant.Owner, false) {
			w.fail("%s grants %s to a reader", h.e.name, h)
		}
	}
}

// refusedUpgrade checks that only a reader gets the result that it cannot become the writer.
func (w *simWorld) refusedUpgrade(e *simEngine, a *simRequest) {
	w.cover(coverUpgradeRejected)
	if a.Owner == 0 || a.Kind != actor.Write || !e.holding(a.name, a.Owner, true) {
		w.fail("%s refuses %s as one of a reader, but its owner does not read", e.name, a)
	}
}

// waitsForItself checks that a reader that wants to write is rejected at once. So is a caller that wants several locks
// and has one of them.
func (e *simEngine) waitsForItself(a *simRequest) {
	for i, h := range a.parts {
		owner := a.Multi.Parts[i].Owner
		for _, other := range e.holds {
			if owner != 0 && other.name == h.name && other.grant.Owner == owner && other.believed() && other.tenure.granted < e.w.now {
				e.w.fail("%s lets %s wait for %s, which its owner has", e.name, a, other)
			}
		}
	}
	if a.Op != actor.Acquire || a.Kind != actor.Write || a.Owner == 0 {
		return
	}
	for _, h := range e.holds {
		if h.reads && h.name == a.name && h.grant.Owner == a.Owner && h.believed() && h.tenure.granted < e.w.now && !e.holding(a.name, a.Owner, false) {
			e.w.fail("%s lets %s wait for %s, which its owner has", e.name, a, h)
		}
	}
}

// waitsForItsOwner checks that a waiter re-enters at once when its owner is granted the lock, unless that needs a
// round trip first. A waiter with a grant on too few replicas waits for that grant to be undone instead.
func (e *simEngine) waitsForItsOwner(a *simRequest) {
	e.waitsBehindItself(a)
	e.waitsAtAnothers(a)
	if a.Op != actor.Acquire || a.parts != nil || a.Owner == 0 || a.canceled || a.undone || e.doubts {
		return
	}
	if e.waitsForItsRead(a); a.Lease != 0 {
		return
	}
	for _, h := range e.holds {
		if at := a.Lock(); at != nil && at != h.grant.Lock() && at.HasOwner() && at.Owner() == a.Owner {
			continue // it re-enters another read of its owner, which ends now: it waits there for the renewal or the end
		}
		if h.active && h.name == a.name && h.reads == a.hold.reads && h.grant.Owner == a.Owner && h.believed() && !h.unconfirmed && h.tenure.inFlight == 0 && h.tenure.confirmed >= e.doubted && !h.endsSoon() {
			e.w.fail("%s lets %s wait, though its owner has %s", e.name, a, h)
		}
	}
}

// waitsAtAnothers checks that no request waits at the lock that another request of a kind with per-request locks has:
// it would wait for all of that hold, although it could be granted, or would have no place in the queue.
func (e *simEngine) waitsAtAnothers(a *simRequest) {
	at := a.Lock()
	if a.Op == actor.Acquire && at != nil && at.Kind().PerRequest() && at.HeldAt(e.now()) && at.Owner() != a.Owner {
		e.w.fail("%s lets %s wait at the lock of another owner", e.name, a)
	}
}

// endsSoon reports whether a hold with a lease of its own may end before a renewal is confirmed, for which a watched
// re-entry then waits. The engine's measure of a round trip may have fallen since that came.
func (h *simHold) endsSoon() bool {
	return !h.watched && h.grant.Until()-h.e.now() < max(8*h.e.c.Fx.RoundTrip, 2*time.Millisecond)
}

// waitsBehindItself checks that a request for several locks does not wait at one that its owner was granted since. If
// there are very many, they end in several turns.
func (e *simEngine) waitsBehindItself(a *simRequest) {
	at := a.Lock()
	if at != nil && at.Rejecting() {
		return
	}
	for i, h := range a.parts {
		part := &a.Multi.Parts[i]
		if part.Owner == 0 || at == nil || at.Key() != part.Key {
			continue
		}
		for _, other := range e.holds {
			if other.active && other.name == h.name && other.grant.Owner == part.Owner && other.believed() {
				e.w.fail("%s lets %s wait behind %s, which its owner has", e.name, a, other)
			}
		}
	}
}

// waitsForItsRead checks that a waiter that wants to write is rejected when its owner is granted the read.
func (e *simEngine) waitsForItsRead(a *simRequest) {
	for _, h := range e.holds {
		if a.Kind == actor.Write && h.active && h.reads && h.name == a.name && h.grant.Owner == a.Owner && h.believed() && !h.unconfirmed && !e.holding(a.name, a.Owner, false) {
			e.w.fail("%s lets %s wait for %s, which its owner has", e.name, a, h)
		}
	}
}

// forcedAtOnce checks that an engine's own holds of a lock which it is to force away are over, and what its writer
// reads as well.
func (e *simEngine) forcedAtOnce(a *simRequest) {
	if a.Op != actor.Force {
		return
	}
	wrote := slices.ContainsFunc(e.over, func(h *simHold) bool { return h.name == a.name && !h.reads && simCauseIs(h.cause, "by force") })
	writes := slices.ContainsFunc(e.holds, func(h *simHold) bool { return h.active && h.name == a.name && !h.reads && h.believed() })
	for _, h := range e.holds {
		if !h.active || h.name != a.name || !h.believed() || h.tenure.granted >= e.w.now || h.reads && writes {
			continue
		}
		if h.reads == (a.Kind == actor.Read) || wrote {
			e.w.fail("%s believes in %s, which %s takes away", e.name, h, a)
		}
	}
}

// writesSince returns since when the owner of a waiting reader has the write, beside which it may read; 0 if it has
// not.
func (e *simEngine) writesSince(a *simRequest) time.Duration {
	for _, h := range e.holds {
		if h.active && h.name == a.name && !h.reads && a.Owner != 0 && h.grant.Owner == a.Owner && h.believed() && !h.unconfirmed && e.w.server.key(a.name).tenure == h.tenure {
			return h.tenure.granted
		}
	}
	return 0
}

// freeFor returns since when a lock is free for a waiting request, 0 if it is not. A reader may yield to a writer
// of its own engine.
func (w *simWorld) freeFor(a *simRequest) time.Duration {
	if a.parts != nil {
		return w.freeTogether(a)
	}
	n := &w.names[a.name]
	if a.Kind != actor.Read {
		return n.free
	}
	if since := a.caller.e.writesSince(a); since != 0 {
		return since
	}
	for _, other := range a.caller.e.requests {
		if other.Op == actor.Acquire && other.name == a.name && other.Kind == actor.Write {
			a.writerWaitedAt = w.now
			return 0
		}
	}
	if n.open == 0 {
		return 0
	}
	return max(n.open, a.writerWaitedAt)
}

// outlived reports whether a reader's field legitimately stays though its lease is over. Its engine could not release
// it, or not within the lease in which it tries. The field goes with the lock's TTL, which the leases of live readers
// bound.
func (w *simWorld) outlived(r *simReader) bool {
	if simEnd(r.longest()) > w.now || w.waits(r.holder) {
		return false
	}
	e := w.alive(r.holder.life)
	return r.tenure.uncertain || r.tenure.lost || r.tenure.leaseUnanswered || e != nil && e.apart()
}

// overstays finds locks that last longer than the leases of their readers. No client may wait for dead readers or
// for ended leases. The check allows for three things:
//
//   - If there are many fields, the scripts do not look through all of them.
//   - A simulated outsider lowers its own lease without the lock's.
//   - An engine counts a lease from when its command left, the server from when it ran. The TTL may be longer by that
//     difference than what a later renewal sets. The engine does not know of it, and lets the TTL fall when the reader
//     leaves.
//   - A later renewal sets what is left of a lease by the engine's clock, which may be fast, and of a fixed lease what
//     its holder may rely on: up to 1 % less. Both count from the whole lease, of which little may be left.
func (w *simWorld) overstays(n *simName, k *simKey) {
	left, need := w.server.left(k), w.server.readersNeed(k)
	over := k.exists && k.tenure == nil && k.expires != simForever && len(k.readers) > 0 && k.fields() < simMostLookedAt && len(w.externalClients) == 0
	late := int64(0)
	for i := range k.readers {
		over = over && !k.readers[i].tenure.keyTaken && !k.readers[i].tenure.unanswered
		t := k.readers[i].tenure
		late = max(late, t.ranLate+t.longest*w.plan.skew/1e6+min(t.longest/100, 1000))
	}
	w.since(&n.dead, over && (need == 0 || left > need+need/10+2*simApart+late))
	if n.dead != 0 && w.now-n.dead > 2*simApart*time.Millisecond {
		w.fail("%s goes on for %d ms, though those who read it need %d", n.key, left, need)
	}
}

// apart reports whether an engine has had no reply for about a lease.
func (e *simEngine) apart() bool { return e.w.now-e.reached > e.config.Lease*9/10 }

// reaches notes that replies came. An engine drops what it could not release within a lease without replies.
func (e *simEngine) reaches(messages *coordinator.LoopMessage) {
	for m := messages; m != nil; m = m.Next {
		if b, is := m.Value.(*coordinator.Batch); !is || b.Failed != nil {
			continue
		}
		if e.apart() {
			e.noteUnanswered()
		}
		e.reached = e.w.now
	}
}

// noteUnanswered notes which readers and places an engine had when it was without replies for a lease.
func (e *simEngine) noteUnanswered() {
	for i := range e.w.names {
		for _, r := range e.w.server.key(i).readers {
			r.tenure.leaseUnanswered = r.tenure.leaseUnanswered || r.holder.life == int32(e.life)
		}
		for _, p := range e.w.server.queues[i] {
			if p.holder.life == int32(e.life) {
				e.w.model.tenure(p.holder).leaseUnanswered = true
			}
		}
	}
}

// probeReaders has two engines read a lock together, and a third that writes wait for both of them.
func (w *simWorld) probeReaders(name int, within time.Duration) {
	if w.names[name].kind != actor.Write {
		return
	}
	var holds []*simHold
	shortest := w.prober(0).heldFor()
	for slot := range 2 {
		c := w.prober(slot % len(w.engines))
		a := c.newRequest(actor.Acquire, name)
		a.Kind = actor.Read
		c.want(a)
		if !w.runUntil(w.now+within, func() bool { return a.decided }) {
			w.fail("%s does not get %s, which has no writer, within %v", c.e.name, a, within)
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
	w.probeDowngrade(name, within)
}

// probeDowngrade lets a writer read as well, with a lease of its own that is longer than the writer's or becomes
// longer. When it stops reading, the TTL falls to what the writer needs, because others wait for that long if the
// process dies.
func (w *simWorld) probeDowngrade(name int, within time.Duration) {
	c := w.prober(w.random.IntN(len(w.engines)))
	h := w.mustLock(c, name, within)
	if h == nil {
		return
	}
	reads := c.newRequest(actor.Acquire, name)
	reads.Kind, reads.Owner, reads.Lease = actor.Read, h.grant.Owner, 3*c.e.config.Lease
	masks := w.chance(0.5)
	if masks {
		c.change(h, actor.Extend, reads.Lease)
		reads.Lease = 0
	}
	c.want(reads)
	if !w.runUntil(w.now+within, func() bool { return reads.decided }) || reads.Err != nil {
		w.fail("%s does not read %s, which it writes: %v", c.e.name, w.plan.names[name], reads.Err)
		return
	}
	if masks {
		c.change(h, actor.Extend, 0)
		w.runFor(within)
	}
	c.change(reads.hold, actor.Unlock, 0)
	w.runFor(within)
	if left := wire.DecodeTTL(w.server.left(w.server.key(name))); h.active && left > c.e.config.Lease+within {
		w.fail("%s leaves %s with a TTL of %v though it does not read any more, and has a lease of %v", c.e.name, w.plan.names[name], left, c.e.config.Lease)
	}
	c.change(h, actor.Unlock, 0)
	w.runFor(within)
}
