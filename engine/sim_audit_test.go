package engine

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// Invariants after each turn of an engine.

// audit checks an engine after each of its turns: every request that must have a result has one, and the gauges
// equal what can be counted.
func (e *simEngine) audit(now time.Duration) {
	w := e.w
	if e.c.closed {
		return
	}
	held, waiting := int64(0), int64(0)
	for _, h := range e.holds {
		if h.active {
			held++
			h.suspect = h.suspect && (e.doubts || h.tenure.confirmed < e.doubted)
			h.bounded(now)
			h.learns()
			h.vouchedFor()
			h.lasts()
			h.persists()
		}
	}
	for _, a := range e.asks {
		if a.Tag == actor.Acquire && !a.Decided() {
			waiting++
		}
		e.punctual(a, now)
	}
	e.shuts = e.c.fx.Draining
	if e.c.drains.on() {
		w.saw(sawDrainedLater)
	}
	if len(e.c.fx.Refusing) > 0 {
		w.saw(sawRefusedLater)
	}
	if e.c.fx.Draining && waiting > 0 && !e.c.unopened() && !e.c.drains.on() && len(e.c.fx.Refusing) == 0 {
		w.fail("%s shuts down, and %d still wait for a lock", e.name, waiting)
	}
	if w.ran%16 == 0 {
		e.thrifty()
		e.listens()
	}
	if s := &e.c.fx.Stats; s.Held != held || s.Waiting != waiting {
		w.fail("%s counts %d held and %d waiting, but it is %d and %d", e.name, s.Held, s.Waiting, held, waiting)
	}
	e.bounds()
	if n := e.c.fx.Stats.LostAtUnlock; n > e.lostAtUnlock {
		w.fail("%s counts %d losses that unlocks found, and has told %d unlocks so", e.name, n, e.lostAtUnlock)
	}
}

// sends checks a batch that leaves. Renewals go first, and if the batch has none, nothing is left behind that could
// go.
//
//   - A renewal that became due while the batch was packed is too late for it.
//   - A renewal that asks replicas waits for one of the few connections for that.
func (e *simEngine) sends() {
	c := e.c
	waited := e.renewalWaits
	e.renewalWaits = slices.ContainsFunc(urgency[0], func(verb actor.Verb) bool {
		return c.queues[verb].len() > 0 && !(c.asksReplicas(verb) && c.node.syncing == syncers)
	})
	if c.out >= c.couriers && len(c.batches) == 0 || !c.backlog() || c.closed {
		return
	}
	renewing := 0
	for verb := range c.queues {
		if v := actor.Verb(verb); renews(v) {
			renewing += c.underWay[v]
		} else if c.queues[v].len() > 0 && c.out < c.couriers && !c.link.down && !c.waits(c.node, v) {
			e.w.fail("%s leaves a %s behind though a courier is free", e.name, simVerbs[v])
		}
	}
	for _, b := range c.batches {
		if waited && e.renewalWaits && renewing == 0 && !renews(b.verb) {
			e.w.fail("%s sends a %s before renewals, of which none is under way", e.name, simVerbs[b.verb])
		}
	}
}

// behind reports whether timers are due that the turn did not reach. The turn then asks for another one at once.
func (e *simEngine) behind(now time.Duration) bool {
	at, ok := e.c.next()
	return ok && at <= now
}

// punctual checks that a request, once opened, has its result when its time is over or its caller canceled.
func (e *simEngine) punctual(a *simAsk, now time.Duration) {
	if !a.Opened() {
		return
	}
	if a.due == 0 {
		a.due = now + a.limit(e)
		e.waitsForItself(a)
		e.forcedAtOnce(a)
	} else {
		e.waitsForItsOwner(a)
	}
	e.toldOfReplicas(a, now)
	const slack = 2 * tick
	if a.left && !e.c.unopened() {
		e.w.fail("%s has no verdict for %s of %s, who gave up", e.name, a, a.caller)
	} else if now > a.due+slack && !e.behind(now) {
		e.w.fail("%s has no verdict for %s of %s, %v after it was due", e.name, a, a.caller, now-a.due)
	}
}

// limit returns how long a request may take.
func (a *simAsk) limit(e *simEngine) time.Duration {
	switch {
	case a.Tag == AskCount || a.Tag == AskClose:
		return 0
	case a.Tag == AskShutdown || a.Tag == actor.Acquire && !a.Once && a.Wait == 0:
		return 1 << 60
	case a.Wait > 0:
		return a.Wait
	case a.Tag == actor.Acquire:
		return e.config.Timeout + e.config.ReplicaFor
	}
	return e.config.Timeout
}
