package sim

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// checkTurn checks an engine after each of its turns. Every request that must have a result has one, and the gauges
// equal what can be counted.
func (e *simEngine) checkTurn(now time.Duration) {
	w := e.w
	if e.c.Closed {
		return
	}
	held, waiting := int64(0), int64(0)
	for _, h := range e.holds {
		if h.active {
			held++
			h.unconfirmed = h.unconfirmed && (e.doubts || h.tenure.confirmed < e.doubted)
			h.bounded(now)
			h.learns()
			h.vouchedFor()
			h.lasts()
			h.persists()
		}
	}
	for _, a := range e.requests {
		if a.Op == actor.Acquire && !a.Completed() {
			waiting++
		}
		e.checkPunctual(a, now)
	}
	e.shuttingDown = e.c.Fx.Draining
	if e.c.DrainRound.On() {
		w.cover(coverDrainedLater)
	}
	if len(e.c.Fx.Rejecting) > 0 {
		w.cover(coverRejectedLater)
	}
	if e.c.Fx.Draining && waiting > 0 && !e.c.HasMessages() && !e.c.DrainRound.On() && len(e.c.Fx.Rejecting) == 0 {
		w.fail("%s shuts down, and %d still wait for a lock", e.name, waiting)
	}
	if w.ran%16 == 0 {
		e.checkMemory()
		e.listens()
	}
	if s := &e.c.Fx.Stats; s.Held != held || s.Waiting != waiting {
		w.fail("%s counts %d held and %d waiting, but it is %d and %d", e.name, s.Held, s.Waiting, held, waiting)
	}
	e.bounds()
	if n := e.c.Fx.Stats.LostAtUnlock; n > e.lostAtUnlock {
		w.fail("%s counts %d losses that unlocks found, and has told %d unlocks so", e.name, n, e.lostAtUnlock)
	}
}

// checkSend checks a batch that leaves. Renewals go first, and if the batch has none, nothing is left behind that could
// go.
//
//   - A renewal that became due while the batch was packed is too late for it.
//   - A renewal that asks replicas waits for one of the few connections for that.
func (e *simEngine) checkSend() {
	c := e.c
	waited := e.renewalWaits
	e.renewalWaits = slices.ContainsFunc(coordinator.Priorities[0], func(verb actor.Verb) bool {
		return c.Fallback.Queues[verb].Len() > 0 && !(c.WaitsForReplicas(verb) && c.Fallback.InFlightReplicated == coordinator.ReplicaSendersPerNode)
	})
	if c.Fallback.InFlightBundles >= c.Senders && len(c.Batches) == 0 || !c.Fallback.Backlog() || c.Closed {
		return
	}
	renewing := 0
	for verb := range c.Fallback.Queues {
		if v := actor.Verb(verb); coordinator.IsRenewal(v) {
			renewing += c.Fallback.InFlightByVerb[v]
		} else if c.Fallback.Queues[v].Len() > 0 && c.Fallback.InFlightBundles < c.Senders && !c.Fallback.Breaker.Down && !c.Throttled(c.Fallback, v) {
			e.w.fail("%s leaves a %s behind though a sender is free", e.name, simVerbs[v])
		}
	}
	for _, b := range c.Batches {
		if waited && e.renewalWaits && renewing == 0 && !coordinator.IsRenewal(b.Verb) {
			e.w.fail("%s sends a %s before renewals, of which none is under way", e.name, simVerbs[b.Verb])
		}
	}
}

// timersOverdue reports whether timers are due that the turn did not reach. The turn then asks for another one at once.
func (e *simEngine) timersOverdue(now time.Duration) bool {
	at, ok := e.c.Next()
	return ok && at <= now
}

// checkPunctual checks that a request, once opened, has its result when its time is over or its caller canceled.
func (e *simEngine) checkPunctual(a *simRequest, now time.Duration) {
	if !a.Handled() {
		return
	}
	if a.due == 0 {
		a.due, a.opened = now+a.limit(e), e.turnCount
		e.waitsForItself(a)
		e.forcedAtOnce(a)
	} else {
		e.waitsForItsOwner(a)
	}
	e.toldOfReplicas(a, now)
	const slack = 2 * coordinator.Tick
	if a.canceled && !e.c.HasMessages() {
		e.w.fail("%s has no verdict for %s of %s, who gave up", e.name, a, a.caller)
	} else if now > a.due+slack && !e.timersOverdue(now) {
		e.w.fail("%s has no verdict for %s of %s, %v after it was due", e.name, a, a.caller, now-a.due)
	}
}

// limit returns how long a request may take.
func (a *simRequest) limit(e *simEngine) time.Duration {
	switch {
	case a.Op == coordinator.AskCount:
		return 0
	case a.Op == coordinator.AskShutdown || a.Op == actor.Acquire && !a.Once && a.Wait == 0:
		return 1 << 60
	case a.Wait > 0:
		return a.Wait
	case a.Op == actor.Acquire:
		return e.config.CallTimeout + e.config.ReplicaTimeout
	}
	return e.config.CallTimeout
}
