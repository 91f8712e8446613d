package sim

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// ended checks the end of a hold: there is one, and what it reports is true.
func (w *simWorld) ended(e *simEngine, end *actor.HoldEnd) {
	h := e.holdOf(end.Hold)
	if w.bug == bugEndUnsaid && end.Err == actor.ErrNotHeld && w.chance(0.1) {
		return
	}
	if h == nil || h.ended != nil {
		w.fail("%s ends a hold of %s twice, or one that it never gave", e.name, end.Key)
		return
	}
	e.tracef("ends %s: %v (%v)", h, end.Err, end.Cause)
	end.Hold.End(end.Err, end.Cause, end.HeldUntil)
	w.signalled(e, end)
	h.ended, h.cause = end.Err, end.Cause
	e.holds = without(e.holds, h)
	e.over = append(e.over, h)
	w.drop(h)
	h.nested = slices.ContainsFunc(e.holds, func(other *simHold) bool { return other.active && other.tenure == h.tenure })
	if end.Err == actor.ErrLost {
		w.cover(coverLost)
		if h.tenure != nil {
			h.tenure.lost = true
		}
		if w.chance(0.7) {
			w.after(w.spread(10*time.Microsecond, w.plan.think), func() { h.noticed() })
		}
	}
	w.checkWatched(h)
	if e.onlyTold && end.Err == actor.ErrLost && !simCauseIs(end.Cause, "lease ended") && !simCauseIs(end.Cause, "MaxHold") {
		w.fail("%s ends %s because it was told that the lock was forced: only the server's reply may end it", e.name, h)
	}
	if simCauseIs(end.Cause, "gone") && !w.excused(h) {
		w.fail("%s says that %s is gone, but it was not taken away", e.name, h)
	}
}

// signalled checks that the users of a hold can see its end.
func (w *simWorld) signalled(e *simEngine, end *actor.HoldEnd) {
	s := end.Hold.Signal()
	if s == nil || s.Err != end.Err {
		w.fail("%s ends a hold of %s without a word to its users", e.name, end.Key)
		return
	}
	select {
	case <-s.Done:
	default:
		w.fail("%s ends a hold of %s, and its users wait for the end", e.name, end.Key)
	}
}

// excused reports whether a tenure may be missing from the server without a release by its engine.
func (w *simWorld) excused(h *simHold) bool {
	t := h.tenure
	return t == nil || t.keyTaken || t.expired || t.revived || t.late
}

// noticed runs when its caller learns of the end.
func (h *simHold) noticed() {
	for _, c := range h.e.callers {
		if slices.Contains(c.holds, h) {
			c.forget(h)
			if h.together != nil {
				c.leaveRest(h)
			}
		}
	}
}

func (e *simEngine) holdOf(grant *actor.Hold) *simHold {
	for _, h := range e.holds {
		if &h.grant == grant {
			return h
		}
	}
	return nil
}

func (e *simEngine) requestOf(r *actor.Request) *simRequest {
	for _, a := range e.requests {
		if &a.Request == r {
			return a
		}
	}
	return nil
}

// checkResult checks a request's one result.
func (w *simWorld) checkResult(e *simEngine, r *actor.Request) {
	a := e.requestOf(r)
	if a == nil && e.checkGiveBack(r) {
		e.pendingResults = append(e.pendingResults, simPendingResult{r, nil})
		return
	}
	if a == nil {
		w.fail("%s gives a second verdict, or one without a request: %s, %v", e.name, r.Key, r.Err)
		return
	}
	e.requests, e.pendingResults = without(e.requests, a), append(e.pendingResults, simPendingResult{r, a})
	a.decided = true
	e.shedding(a)
	if w.trace != nil {
		e.tracef("decides for %s: %s: %s", a.caller, a, simResultText(r))
	}
	if a.parts != nil {
		w.together(e, a)
	}
	switch {
	case r.Op == actor.Acquire && r.Err == nil:
		w.granted(a)
	case r.Op == actor.Acquire:
		for _, h := range a.of() {
			e.holds = without(e.holds, h)
		}
		w.checkRejection(a)
		e.checkOnce(a)
	case r.Op == actor.Unlock && r.Err == nil:
		w.unlocked(a)
	case r.Op == actor.Unlock && r.Err == actor.ErrLost && a.hold.ended != actor.ErrLost && !w.excused(a.hold):
		w.fail("%s says that %s was lost before its unlock, but it was not taken away", e.name, a.hold)
	case r.Op == actor.Unlock && r.Err == actor.ErrNotHeld && a.hold.ended == actor.ErrLost:
		w.fail("%s says that %s was not held at its unlock, but it was lost before", e.name, a.hold)
	case r.Op == actor.Extend && r.Err == nil:
		w.extended(a)
	case r.Op == actor.Extend:
		w.notExtended(a)
	case r.Op == coordinator.AskShutdown && r.Err == nil && !a.canceled && !e.c.Closed:
		w.shutDown(e, a)
	}
	if r.Op == actor.Unlock && r.Err == actor.ErrLost {
		e.lostAtUnlock++
	}
	if r.Err == actor.ErrUpgrade {
		w.refusedUpgrade(e, a)
	}
	if k := &e.c.Fallback.Breaker; r.Err == actor.ErrUnavailable && k.Down && !simCauseIs(r.Cause, k.Cause.Error()) {
		w.fail("%s tells %s of %s that there was no answer, %v, but not why: %v", e.name, a, a.caller, r.Cause, k.Cause)
	}
	w.replicated(e, a)
	e.inTime(a)
	w.answered(a)
	w.coverResult(a)
}

// simPendingResult is a result that was decided and not delivered yet. No caller made the requests that the engine made
// itself.
type simPendingResult struct {
	request *actor.Request
	tracked *simRequest
}

// checkResultOrder checks that callers receive their results in the order of the decisions, each once.
func (w *simWorld) checkResultOrder(e *simEngine, r *actor.Request) {
	if len(e.pendingResults) == 0 || e.pendingResults[0].request != r {
		w.fail("%s tells of a verdict twice, or before an earlier one: %s, %v", e.name, r.Key, r.Err)
		return
	}
	a := e.pendingResults[0].tracked
	if e.pendingResults = e.pendingResults[1:]; len(e.pendingResults) > 0 {
		w.cover(coverToldLater)
	}
	if a != nil {
		a.caller.resultArrives(a)
	}
}

// inTime checks that a result does not come later than it should, unless the process was stopped, or more was due
// than a turn reaches.
func (e *simEngine) inTime(a *simRequest) {
	if a.due == 0 {
		return // it came in the first turn
	}
	const slack = 2 * coordinator.Tick
	if late := e.now() - max(a.due, e.clock.at(e.paused)); late > slack && !e.moreDue {
		e.w.fail("%s gives the verdict for %s of %s %v after it was due", e.name, a, a.caller, late)
	}
}

func (w *simWorld) granted(a *simRequest) {
	e := a.caller.e
	if e.shuttingDown {
		w.fail("%s grants %s, and shuts down", e.name, a)
	}
	if handed := e.c.Fx.Stats.HandedOff; handed != e.handed {
		e.handed = handed
		w.cover(coverHandedOff)
	}
	for _, h := range a.of() {
		w.given(a, h)
	}
	w.inTurn(a)
}

// given handles one hold of a request.
func (w *simWorld) given(a *simRequest, h *simHold) {
	e := a.caller.e
	if h.granted {
		w.fail("%s grants one request twice", e.name)
	}
	if h.granted = true; h.grant.Lock() == nil || h.grant.Owner == 0 {
		w.fail("%s grants %s, which is no lock's or no owner's", e.name, h)
	}
	h.tenure = w.model.tenure(h.holder())
	h.tenure.granted = w.now
	if h.tenure.alone {
		w.fail("%s grants %s, which too few replicas have", e.name, h)
	}
	if h.ended != nil {
		return
	}
	if e.now() >= h.grant.Until() {
		w.fail("%s grants %s, which ended %v ago", e.name, h, e.now()-h.grant.Until())
	}
	h.active, h.watched, h.watchedAt, h.since = true, a.Lease == 0, w.now, e.now()
	if a.Lease != 0 {
		h.promised, h.tenure.fixed = h.grant.Until(), true
	}
	if a.parts != nil {
		w.checkForeignOwners(h)
	} else {
		w.reentry(h)
		w.upgraded(h)
		w.fences(a)
		w.inOrder(a)
	}
	w.checkFullLease(a, h)
	n := &w.names[h.name]
	n.active, n.moved = append(n.active, h), w.now
	w.touch(h.name)
	w.cover(coverGrant)
}

// unlocked checks that an unlock without an error left the field gone, or with another holder.
func (w *simWorld) unlocked(a *simRequest) {
	h, e := a.hold, a.caller.e
	t := h.tenure
	switch {
	case h.ended != actor.ErrNotHeld:
		w.fail("%s says that %s is unlocked, but its end says %v", e.name, h, h.ended)
	case t.present && !t.removed && !t.keyTaken && !t.expired && !w.passedOn(h):
		w.fail("%s says that %s is unlocked, but the server still has it", e.name, h)
	}
}

// passedOn reports whether another hold of the engine had the tenure of a hold after it, or is about to.
func (w *simWorld) passedOn(h *simHold) bool {
	if t := h.tenure; h.nested || t.granted == w.now || t.uncertain && t.releases > 0 {
		return true // or kept for a waiter, lost to a rejection at the same moment, and on its way out
	}
	for _, a := range h.e.requests {
		if a.Op == actor.Force && a.name == h.name {
			return true // it is about to be taken away from its next holder
		}
	}
	l := h.e.lockOf(h.holder())
	return l != nil && w.wants(h.e, &actor.Command{Key: l.Key(), Tenure: tenureOf(&h.grant)})
}

// extended checks that a lease is the last one requested, and neither longer nor over.
func (w *simWorld) extended(a *simRequest) {
	h, e := a.hold, a.caller.e
	now := e.now()
	h.watched, h.watchedAt = a.Lease == 0, w.now
	if a == h.extension && a.Lease != 0 {
		h.promised = h.grant.Until()
	}
	switch {
	case h.active && !h.unconfirmed && now >= h.grant.Until():
		w.fail("%s extended %s, which ended %v ago", e.name, h, now-h.grant.Until())
	case a != h.extension:
	case h.ended != nil && simCauseIs(h.cause, "lease"):
		w.fail("%s says that %s was extended, but %v", e.name, h, h.cause)
	case h.active && a.Lease != 0 && h.grant.Until() > now+a.Lease:
		w.fail("%s extended %s to %v, but it lasts %v", e.name, h, a.Lease, h.grant.Until()-now)
	default:
		w.extendedWhole(a)
	}
}

// notExtended makes the extension before the latest the one that is waited for.
func (w *simWorld) notExtended(a *simRequest) {
	h := a.hold
	if a != h.extension {
		return
	}
	h.extension = nil
	for _, other := range a.caller.e.requests {
		if other.Op == actor.Extend && other.hold == h && !other.canceled {
			h.extension = other
		}
	}
}

// reentry finds the hold of its owner that a grant adds to.
func (w *simWorld) reentry(h *simHold) {
	for _, other := range h.e.holds {
		if other != h && other.active && other.tenure == h.tenure {
			h.since = other.since
			w.cover(coverReentry)
			return
		}
	}
}

func (w *simWorld) coverResult(a *simRequest) {
	switch {
	case a.Err == nil && a.Op == actor.Unlock:
		w.cover(coverReleased)
	case a.Err == nil && a.Op == actor.Extend:
		w.cover(coverExtended)
	case a.Err == nil && a.Op == actor.Force && a.WasLocked:
		w.cover(coverForced)
	case a.Err == nil && a.Op == coordinator.AskState:
		w.cover(coverState)
	case a.Err == nil && a.Op == coordinator.AskCount:
		w.cover(coverCount)
	case a.Err == nil:
	case a.Err == actor.ErrNotAcquired:
		w.cover(coverNotAcquired)
	case a.Err == actor.ErrUnavailable:
		w.cover(coverUnavailable)
	case a.Err == actor.ErrClosed:
		w.cover(coverClosed)
	case a.Err == actor.ErrNotReplicated:
	case a.Err != actor.ErrLost && a.Err != actor.ErrNotHeld:
		w.cover(coverRejected)
	}
}
