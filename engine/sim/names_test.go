package sim

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// simName is what the simulation knows of a name besides its key. Moments are true time, zero for never.
type simName struct {
	key     string
	kind    actor.LockKind
	channel string
	token   uint64          // the greatest that an owner was given, of a fenced lock
	tokened simHolder       // that owner
	tokenOf *simTenure      // and in which tenure
	free    time.Duration   // since when it is free
	silent  time.Duration   // until when waiters may sleep because no message reached them
	open    time.Duration   // since when it has no writer, of a read/write lock
	dead    time.Duration   // since when the leases of all its readers are over
	written time.Duration   // when it was last written
	changed time.Duration   // when the server wrote it last
	line    []simQueueEntry // arrivals in the queue of a fair lock, in order
	mixed   bool            // a client of another kind was in the queue

	active  []*simHold    // granted and not ended
	moved   time.Duration // when that changed last
	touched bool          // something happened to it since the last check
}

// checkNamesEvery is the shortest time between two looks at the names. What a look finds lasts far longer.
const checkNamesEvery = 4 * time.Millisecond

// since keeps in *moment since when something is so.
func (w *simWorld) since(moment *time.Duration, so bool) {
	if !so {
		*moment = 0
	} else if *moment == 0 {
		*moment = w.now
	}
}

// checkNames goes through the names now and then: each engine's state and the server's must converge.
func (w *simWorld) checkNames() {
	for i := range w.names {
		n, k := &w.names[i], w.server.key(i)
		w.server.removeExpiredQueue(i)
		w.since(&n.free, w.free(i))
		if n.free != 0 {
			n.free = max(n.free, n.changed)
		}
		if n.kind == actor.Write {
			w.since(&n.open, !k.exists || len(k.readers) > 0 && k.tenure == nil)
			if n.open != 0 {
				n.open = max(n.open, n.written)
			}
		}
		if n.kind == actor.Fair {
			w.checkPlaces(n, w.server.queues[i])
		}
		if k.tenure != nil {
			w.stands(n, k.holder, k.tenure, k.count)
		}
		w.overstays(n, k)
		for at := range k.readers {
			r := &k.readers[at]
			if w.outlived(r) {
				continue
			}
			w.stands(n, r.holder, r.tenure, len(r.leases))
		}
	}
	for _, e := range w.engines {
		w.hears(e)
		for _, a := range e.requests {
			w.awake(a)
		}
	}
	for _, v := range w.quorumUsers {
		v.whole()
		v.checkHoarding()
	}
}

// stands looks at a tenure in the server, if its engine still runs.
func (w *simWorld) stands(n *simName, h simHolder, t *simTenure, count int) {
	if e := w.alive(h.life); e != nil {
		w.adopted(n, h, t, e)
		w.fits(n, h, t, e)
		w.counted(n, h, t, count, e)
	}
}

// hears finds engines that keep polling as if they could not subscribe, though they could.
func (w *simWorld) hears(e *simEngine) {
	w.since(&e.unheard, e.c.Fx.PolledLocks != 0 && !e.config.Poll)
	if e.unheard != 0 && w.now-max(e.unheard, w.disturbed) > w.maxFreeTime() {
		w.fail("%s waits for %d locks as if it could not hear, and has for %v", e.name, e.c.Fx.PolledLocks, w.now-e.unheard)
	}
}

// alive returns the engine that a holder belongs to, if it still runs.
func (w *simWorld) alive(life int32) *simEngine {
	for _, e := range w.engines {
		if int32(e.life) == life {
			return e
		}
	}
	return nil
}

// maxFreeTime returns how long a free lock may stay free while a caller waits for it and nothing is wrong. A rejected
// subscription is tried again after half a second. Everything else comes sooner.
func (w *simWorld) maxFreeTime() time.Duration { return 1500*time.Millisecond + 50*w.plan.latency }

// awake finds waiters that sleep though their lock is free.
func (w *simWorld) awake(a *simRequest) {
	if a.Op != actor.Acquire {
		return
	}
	free, timeout := w.freeFor(a), w.maxFreeTime()
	if free == 0 {
		return
	}
	if a.parts == nil && a.Kind == actor.Read && a.caller.e.writesSince(a) != 0 {
		timeout -= time.Second // no message is needed for that
	}
	since := max(a.requestedAt, free, w.disturbed)
	for _, h := range a.of() {
		since = max(since, w.names[h.name].silent)
		for _, holder := range w.names[h.name].active {
			if holder.e == a.caller.e && holder.tenure.keyTaken {
				return // it waits behind a hold that does not know of its loss yet, with a lease of its own until that ends
			}
		}
	}
	if w.now-since <= timeout {
		return
	}
	for _, earlier := range a.caller.e.requests {
		if earlier.Op == actor.Acquire && a.meets(earlier) && earlier.Lease != 0 && earlier.Lease < w.plan.usableLease() {
			return // an earlier request tries in vain until its time is over
		}
	}
	w.fail("%s sleeps: %s was asked for %v ago and is free for %v", a.caller.e.name, a, w.now-a.requestedAt, w.now-free)
}

// adopted finds orphans: locks in the server that their engine neither has nor releases. A late copy of an acquire may
// leave an orphan in two cases. The copy comes after the second release, or after the lease in which its engine wanted
// to release the orphan.
func (w *simWorld) adopted(n *simName, h simHolder, t *simTenure, e *simEngine) {
	s := &t.standing
	w.unwanted(n, h, t, e)
	w.halved(n, h, t, e)
	w.since(&s.orphan, !t.keyTaken && !t.revived && !t.forbidden && e.lockOf(h) == nil)
	if s.orphan == 0 {
		s.own = 0
		return
	}
	if s.own != 0 && w.now-max(s.own, w.disturbed) > 700*time.Millisecond+50*w.plan.latency { // a rejected release comes again after half a second
		w.fail("%s was told %v ago that it has %s:%d itself, and has not released it", e.name, w.now-s.own, n.key, h.tenure)
	}
	timeout := e.config.CallTimeout
	if n.kind == actor.Fair { // an acquire that queues may run for that long, and its engine releases once more after that
		timeout = e.config.MaxCommandDelay()
	}
	timeout += timeout / 50
	if t.late && (t.released == 0 || w.now > t.released+e.config.Lease+timeout || t.created > t.released+timeout*9/10) {
		return
	}
	if late := w.now - max(s.orphan, t.released, w.disturbed); late > timeout+w.maxFreeTime() {
		w.fail("%s left %s:%d in the server: it has had no holder for %v", e.name, n.key, h.tenure, late)
	}
}

// unwanted finds locks that an engine knows to be its own and does not release, though they have no holder and no
// waiter there.
func (w *simWorld) unwanted(n *simName, h simHolder, t *simTenure, e *simEngine) {
	s := &t.standing
	if t.keyTaken || t.revived || t.forbidden || e.lockOf(h) == nil || w.wants(e, &actor.Command{Key: n.key, Tenure: h.tenure}) {
		s.kept = 0
		return
	}
	w.since(&s.kept, true)
	if late := w.now - max(s.kept, w.disturbed); late > 700*time.Millisecond+50*w.plan.latency {
		w.fail("%s keeps %s:%d, without a holder or a waiter there for %v", e.name, n.key, h.tenure, late)
	}
}

// noteReportedHolder notes which holder an engine learns of. If that is the engine itself and it does not know the
// tenure, it must release it.
func (w *simWorld) noteReportedHolder(e *simEngine, c *actor.Command, reply *actor.Reply) {
	if !strings.HasPrefix(reply.Holder, w.lives[e.life]) {
		return
	}
	key := c.Key
	if c.Parts != nil {
		key = c.Parts[reply.FailedPart].Key
	}
	k := w.server.key(w.nameOf(key))
	if k.tenure == nil || k.tenure.standing.own != 0 || k.holder.life != int32(e.life) || e.lockOf(k.holder) != nil {
		return
	}
	if reply.Holder == w.holderName(k.holder) {
		k.tenure.standing.own = w.now
	}
}

// toldOfHalf notes that an engine learns that an unknown tenure of its own keeps it from the other half of a lock.
func (w *simWorld) toldOfHalf(e *simEngine, c *actor.Command, reply *actor.Reply) {
	if reply.Status != actor.HeldByOther || c.Lock == nil || c.Lock.Tenure() != c.Tenure {
		return
	}
	name := w.nameOf(c.Key)
	k := w.server.key(name)
	k.each(func(h simHolder, t *simTenure) {
		names := h.reads() && slices.Contains(strings.Fields(reply.Readers), strconv.FormatUint(h.tenure, 10)) ||
			!h.reads() && reply.Writer == w.holderName(h)
		if h.life == int32(e.life) && names && t.standing.half == 0 && e.lockOf(h) == nil {
			t.standing.half = w.now
			w.cover(coverOtherHalf)
		}
	})
}

// halved finds tenures that keep their engine from the other half of a lock, though the engine was notified and no
// caller there has them. A server that restarts with old data has such tenures again after their release.
func (w *simWorld) halved(n *simName, h simHolder, t *simTenure, e *simEngine) {
	s := &t.standing
	asks := slices.ContainsFunc(e.requests, func(a *simRequest) bool {
		return a.Op == actor.Acquire && a.parts == nil && a.name == h.name() && (a.Kind == actor.Read) != h.reads()
	})
	if t.forbidden || e.lockOf(h) != nil || !asks { // the reply to a caller that left does not concern the next one
		s.half = 0
	}
	if s.half != 0 && w.now-max(s.half, w.disturbed) > 700*time.Millisecond+50*w.plan.latency {
		w.fail("%s was told %v ago that %s:%d, which has no holder there, keeps it from the other half, and has not released it", e.name, w.now-s.half, n.key, h.tenure)
	}
}

// counted checks that others see how often a lock is held.
func (w *simWorld) counted(n *simName, h simHolder, t *simTenure, count int, e *simEngine) {
	holds := 0
	for _, other := range n.active {
		if other.tenure == t {
			holds++
		}
	}
	s := &t.standing
	if holds != s.holds {
		s.holds, s.wrong = holds, 0 // an earlier mismatch is over, or a different one now
	}
	w.since(&s.wrong, holds != 0 && holds != count && !t.forbidden && !t.keyTaken && !t.recounted)
	if s.wrong != 0 {
		s.wrong = max(s.wrong, n.moved) // it may have been right between two looks
	}
	if s.wrong != 0 && w.now-max(s.wrong, w.disturbed) > 300*time.Millisecond+50*w.plan.latency+e.config.RenewInterval/2 { // a rejected one is not sent again early
		w.fail("%s holds %s %d times, but the server has said %d for %v", e.name, n.key, holds, count, w.now-s.wrong)
	}
}

// fits checks that the TTL of a lock falls to what its holds need, including those that read beside a writer. If
// the engine dies, others wait for that long. The same holds for the leases of a reader's holds. Tenures are left
// out while a command without a reply may raise their TTL, and while they have none: another client took it away, and
// the next renewal sets it, if there is one.
func (w *simWorld) fits(n *simName, h simHolder, t *simTenure, e *simEngine) {
	k, s := w.server.key(h.name()), &t.standing
	need := time.Duration(0)
	for _, other := range n.active {
		if other.tenure != t {
			continue
		}
		own := e.config.Lease
		if left := other.grant.Until() - e.now(); !other.watched {
			// The TTL counts from when the acquire ran, the hold from when it left.
			own = left + left/16 + max(e.config.CallTimeout, t.created-e.clock.when(t.confirmed))
		}
		need = max(need, own)
	}
	for _, a := range e.requests {
		if a.Op == actor.Extend && a.name == h.name() || a.Op == actor.Acquire && a.about(h.name()) {
			need = 0 // it may want more
			break
		}
	}
	until := k.until(h)
	left := simEnd(until) - w.now
	if need != 0 && !h.reads() {
		need = max(need, time.Duration(w.server.readersNeed(k))*time.Millisecond)
	}
	w.since(&s.long, need != 0 && until != simForever && !t.unanswered && !t.keyTaken && !t.revived && !t.late && left > need+need/10+50*time.Millisecond)
	if s.long != 0 && w.now-max(s.long, n.moved, w.disturbed) > e.config.CallTimeout+100*time.Millisecond+50*w.plan.latency {
		w.fail("%s leaves %s with a TTL of %v, though its holds need %v", e.name, n.key, left, need)
	}
}

// unheard notes that a lock may become free without a message. Waiters may then sleep until the moment that they
// learned, in ms of the server's clock.
func (w *simWorld) unheard(name int, until int64) {
	if until == simForever {
		until = w.server.clock() + int64(time.Second/time.Millisecond)
	}
	w.names[name].silent = max(w.names[name].silent, time.Duration(until)*time.Millisecond)
}

// unheardFor is like unheard, for all names of a channel if that moment is unknown.
func (w *simWorld) unheardFor(channel string) {
	for i := range w.names {
		if n := &w.names[i]; strings.HasPrefix(channel, n.channel) {
			n.silent = max(n.silent, w.now+2*w.plan.longest)
		}
	}
}
