package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// calmSince reports whether nothing has gone wrong since a moment.
func (w *simWorld) calmSince(moment time.Duration) bool { return w.disturbed < moment }

// inTurn checks that an engine grants a lock in the order of its requests. A request that carries an owner may
// re-enter, and one that does not wait is never in the line. If a turn opens few messages, requests that block come
// before those that do not. So do they if very many lie before the server.
func (w *simWorld) inTurn(a *simRequest) {
	for _, earlier := range a.caller.e.requests { // the remaining ones, in the order in which they came
		if earlier.requestedAt > a.requestedAt || a.mayReenter() || w.names[a.name].kind == actor.Fair && !w.calmSince(earlier.requestedAt-w.maxFreeTime()) {
			return
		}
		if a.Kind == actor.Read || earlier.Kind != a.Kind || earlier.parts != nil {
			continue // a reader goes beside others, a writer may have been asleep, and a request for several waits for one of them
		}
		if earlier.setAside() != a.setAside() && w.plan.share < coordinator.MaxMessagesPerTurn {
			continue
		}
		if earlier.setAside() && !a.setAside() && earlier.heldBackFor(a) {
			continue
		}
		if earlier.leaseAsked() < a.leaseAsked() && !w.calmSince(earlier.requestedAt) {
			continue // its lease may have ended before the replies to its tries
		}
		if earlier.Op == actor.Acquire && a.about(earlier.name) && earlier.Owner == 0 && !earlier.Once && earlier.number < a.number {
			w.fail("%s grants %s, though %s came before", a.caller.e.name, a, earlier)
		}
	}
}

// mayReenter reports whether a request for one lock carries an owner. One for several is never granted a re-entry.
func (a *simRequest) mayReenter() bool { return a.Owner != 0 && a.parts == nil }

// hasOwner reports whether a request carries an owner for one of its locks.
func (a *simRequest) hasOwner() bool {
	return a.Owner != 0 || a.parts != nil && slices.ContainsFunc(a.Multi.Parts, func(part actor.Part) bool { return part.Owner != 0 })
}

// setAside reports whether a request may lie with its node until the blocking ones have had their turn.
func (a *simRequest) setAside() bool { return a.Async }

// heldBackFor reports whether a request may have lain with its node, because very many commands lay there before it,
// until its engine had opened the other one. At least half of the commands that have not left are still wanted.
func (a *simRequest) heldBackFor(other *simRequest) bool {
	many := 4 * coordinator.BatchKeys
	if a.Kind.Queues() {
		many = coordinator.BatchKeys
	}
	return a.beside >= many/2 && (a.opened == 0 || other.opened != 0 && other.opened < a.opened)
}

// leaseAsked returns the lease with which a request asks for the lock.
func (a *simRequest) leaseAsked() time.Duration {
	switch config := &a.caller.e.config; {
	case a.Lease != 0:
		return a.Lease
	case config.MaxHold != 0:
		return min(config.Lease, config.MaxHold)
	default:
		return config.Lease
	}
}

// fences checks that the token of a fenced lock is greater than all before it, and that a re-entry gets the owner's
// token.
func (w *simWorld) fences(a *simRequest) {
	n, h := &w.names[a.name], a.hold
	if n.kind != actor.Fenced {
		return
	}
	h.token = a.Token
	for _, other := range h.e.holds {
		if other != h && other.active && other.tenure == h.tenure {
			if h.token != other.token {
				w.fail("%s grants %s with token %d, though its owner has %d", a.caller.e.name, a, h.token, other.token)
			}
			return
		}
	}
	if h.tenure.keyTaken || h.tenure.revived {
		return // another may have had it since
	}
	owner := holderOf(h.e.life, h.name, false, h.grant.Owner)
	if again := owner == n.tokened && h.tenure == n.tokenOf && a.Token == n.token; again {
		return // its hold before ended in this turn
	}
	n.tokened, n.tokenOf = owner, h.tenure
	if a.Token <= n.token {
		w.fail("%s grants %s with token %d, after %d", a.caller.e.name, a, a.Token, n.token)
	}
	n.token = a.Token
	w.cover(coverToken)
}

// checkFullLease checks that a grant is for about as long as requested. It is less the time that the reply took, and
// for a watched lock at least half.
func (w *simWorld) checkFullLease(a *simRequest, h *simHold) {
	e := a.caller.e
	if h.tenure.uncertain || a.mayReenter() || !w.calmSince(w.now-e.config.Lease) {
		return
	}
	least := e.config.Lease/2 - e.config.Lease/50
	if a.Lease != 0 {
		least = a.Lease - a.Lease/50
	}
	if longest := e.config.MaxHold; longest != 0 && a.Lease == 0 {
		least = min(least, longest/2)
	}
	least -= 20*time.Millisecond + 50*w.plan.latency
	if left := h.grant.Until() - e.now(); left < least {
		w.fail("%s grants %s for %v, which is less than %v", e.name, a, left, least)
	}
}

// checkRejection checks that a request is rejected only if the lock is held, or wanted by another request.
func (w *simWorld) checkRejection(a *simRequest) {
	if a.Err != actor.ErrNotAcquired || a.canceled {
		return
	}
	free := w.freeFor(a)
	if free == 0 || len(w.server.queues[a.name]) > 0 {
		return
	}
	for _, h := range a.of() {
		free = max(free, w.names[h.name].changed) // it may have been held between two looks
		k := w.server.key(h.name)
		// A tenure of its own that is just about to go counts, too.
		own := slices.ContainsFunc(k.readers, func(r simReader) bool { return r.holder.life == int32(a.caller.e.life) })
		if slices.ContainsFunc(w.names[h.name].active, func(holder *simHold) bool { return holder.e == a.caller.e && holder.tenure.keyTaken }) {
			return // a hold of its engine has it, and does not know of its loss yet
		}
		if k.exists && (a.Kind != actor.Read || k.tenure != nil || own || k.foreign()) {
			return
		}
	}
	for _, other := range a.caller.e.requests {
		if other.Op == actor.Acquire && a.meets(other) {
			return
		}
	}
	if since := a.requestedAt - w.maxFreeTime(); free < since && w.calmSince(since) {
		w.fail("%s refuses %s, asked %v ago, though it has been free for %v", a.caller.e.name, a, w.now-a.requestedAt, w.now-free)
	}
}

// answered checks that no request ends with "no reply" while nothing is wrong.
func (w *simWorld) answered(a *simRequest) {
	config := &a.caller.e.config
	enough := time.Duration(40*(1+len(w.quorumUsers))) * w.plan.latency // quorums ask for much, and all in calls of their own kind
	if a.Err != actor.ErrUnavailable || a.canceled || a.Op == actor.Acquire || !simCauseIs(a.Cause, "no reply in time") || config.CallTimeout < enough {
		return
	}
	if w.calmSince(a.requestedAt - config.Lease - w.maxFreeTime()) {
		w.fail("%s has no answer for %s within %v, though nothing is wrong", a.caller.e.name, a, config.CallTimeout)
	}
}

// extendedWhole checks that an extension is for about as long as requested.
func (w *simWorld) extendedWhole(a *simRequest) {
	h, e := a.hold, a.caller.e
	if !h.active || a.Lease == 0 || h.tenure.uncertain || h.tenure.keyTaken || !w.calmSince(a.requestedAt-e.config.Lease) {
		return
	}
	least := a.Lease - a.Lease/50 - 20*time.Millisecond - 50*w.plan.latency
	if left := h.grant.Until() - e.now(); left < least {
		w.fail("%s extends %s to %v, which is less than %v", e.name, h, left, least)
	}
}

// checkWatched checks that a watched lock is not lost while nothing is wrong.
func (w *simWorld) checkWatched(h *simHold) {
	t, config := h.tenure, &h.e.config
	if t == nil || !h.watched || t.keyTaken || config.MaxHold != 0 || !simCauseIs(h.cause, "renewed") {
		return
	}
	enough := h.e.again()
	if t.unanswered || t.fixed {
		if enough += t.minLease; t.minLease < 60*time.Millisecond+100*w.plan.latency {
			return // too short to be renewed in time
		}
	}
	if w.calmSince(w.now - enough) {
		w.fail("%s lets %s end, though nothing was wrong", h.e.name, h)
	}
}

// again returns the longest time until a failed command is tried again.
func (e *simEngine) again() time.Duration {
	return e.config.RenewInterval*3/10 + e.config.Lease/10 + 50*e.w.plan.latency + 20*time.Millisecond
}

// persists checks that a failed renewal is soon tried again.
func (h *simHold) persists() {
	w, t := h.e.w, h.tenure
	if t.failed == 0 || t.inFlight > 0 || t.keyTaken || h.unconfirmed {
		return
	}
	if late := w.now - max(t.failed, w.disturbed); late > h.e.again() {
		w.fail("%s has not tried again to renew %s, though the last attempt failed %v ago", h.e.name, h, late)
	}
}

// learns checks that the engine finds out in time that a watched lock was taken from it.
func (h *simHold) learns() {
	w, t := h.e.w, h.tenure
	if !h.watched || !t.keyTaken || t.present || t.unanswered || t.fixed || h.e.config.MaxHold != 0 {
		return
	}
	if late := w.now - max(t.keyTakenAt, h.watchedAt, w.disturbed); late > h.e.config.RenewInterval*11/10+100*time.Millisecond+50*w.plan.latency {
		w.fail("%s still holds %s, %v after it was taken away", h.e.name, h, late)
	}
}

// vouchedFor checks that a watched hold is confirmed in every interval, whatever the lease of its tenure is. That
// bounds the time until its holder learns of a loss.
func (h *simHold) vouchedFor() {
	w, t := h.e.w, h.tenure
	if !h.watched || t.inFlight > 0 || h.unconfirmed {
		return
	}
	if late := w.now - max(t.confirmedAt, h.watchedAt, w.disturbed); late > h.e.config.RenewInterval*102/100+20*time.Millisecond+50*w.plan.latency {
		h.e.w.fail("%s has not confirmed %s for %v, though it is watched", h.e.name, h, late)
	}
}

// lasts checks that a lease ends before its promised end only by the hold's own unlock or extension.
func (h *simHold) lasts() {
	if t := h.tenure; t.uncertain || t.keyTaken || h.unconfirmed {
		h.promised = 0
	}
	if until := h.grant.Until(); until < h.promised {
		h.e.w.fail("%s promised %s until %v, and now says %v", h.e.name, h, h.promised, until)
	} else if h.promised != 0 {
		h.promised = until
	}
}

// bounded checks that no watched lock is held for longer than MaxHold.
func (h *simHold) bounded(now time.Duration) {
	longest := h.e.config.MaxHold
	if longest == 0 || h.tenure.fixed || now <= h.since+longest+2*coordinator.Tick {
		return
	}
	if now < h.grant.Until() {
		h.e.w.fail("%s holds %s for %v, which is more than MaxHold", h.e.name, h, now-h.since)
	}
}

// shutDown checks that a shutdown leaves nothing behind: nothing is held, and what was unlocked is released.
func (w *simWorld) shutDown(e *simEngine, a *simRequest) {
	for _, h := range e.holds {
		if h.believed() && !e.c.Closed {
			w.fail("%s has shut down, and still holds %s", e.name, h)
		}
	}
	for _, other := range e.requests {
		if other.Op == actor.Acquire && other.Handled() && !e.c.Closed {
			w.fail("%s has shut down, and %s still waits for %s", e.name, other.caller, other)
		}
	}
	w.cover(coverShutdown)
	if w.disturbed > a.requestedAt {
		return // a lease may have ended before the release came through, as may a short one of its own
	}
	late := e.config.Lease/20 + 20*time.Millisecond + 20*w.plan.latency // ended for the engine, not yet for the server
	for name := range w.server.keys {
		k := w.server.key(name)
		k.each(func(h simHolder, t *simTenure) {
			if simEnd(k.until(h)) > w.now+late && h.life == int32(e.life) && t.granted != 0 && !t.lost && !t.late && !t.revived && !t.uncertain && !t.fixed {
				w.fail("%s has shut down, and the server still has %s of it", e.name, w.plan.names[name])
			}
		})
	}
}

// simRate counts something within a tenth of a second.
type simRate struct {
	began time.Duration
	count int
}

const simRateFor = 100 * time.Millisecond

func (r *simRate) add(now time.Duration, n int) int {
	if now-r.began > simRateFor {
		r.began, r.count = now, 0
	}
	r.count += n
	return r.count
}

// checkBackoff checks that an engine does not repeat failing tries without a pause. There is a backoff for each name,
// and one for all names if the server does not reply.
func (e *simEngine) checkBackoff(b *coordinator.Batch) {
	vain := 0
	if b.Failed != nil && (b.NoReply || actor.Transient(b.Failed.Error()) && !strings.HasPrefix(b.Failed.Error(), "NOSCRIPT")) {
		vain = 1
	}
	for i := range b.Replies {
		if b.Failed == nil && b.Replies[i].Status == actor.Rejected && actor.Transient(b.Replies[i].Err.Error()) {
			vain++
		}
	}
	count := e.wasted.add(e.w.now, vain)
	if count == vain {
		e.maxWasted = 0
	}
	// An engine that was closed since, or releases its locks, had them when it tried.
	e.maxWasted = max(e.maxWasted, 40+30*(e.c.Locks.Len()+len(e.c.LockSets)*e.w.plan.callers))
	if count > e.maxWasted {
		e.w.fail("%s tries %d times within %v, and nothing comes of it", e.name, e.wasted.count, simRateFor)
	}
}
