package sim

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// windDown is the end of a history: no more faults, and no new requests. Every waiter is granted in time, and when
// all is unlocked, nothing is left.
func (w *simWorld) windDown() {
	w.plan.faults, w.draining, w.drainingSince = nil, true, w.now
	w.begin(simMixed(w.seed, 1)) // what follows is the same, whichever event was the last
	w.runUntil(w.disturbed, func() bool { return false })
	w.endFaults()
	limit := w.now + 3*w.plan.longest + 2*w.maxFreeTime() + w.queued() + w.polls()
	if !w.runUntil(limit, w.settled) {
		w.unsettled()
		return
	}
	w.runFor(2*w.plan.longest + w.maxFreeTime()) // leases of dead holders run out, orphans are released
	w.checkQueueExpiry()
	w.sweep()
	w.probe()
	w.begin(simMixed(w.seed, 2))
	contest, pollers, procession := w.chance(0.03), w.chance(0.03), w.chance(0.1)
	overtaken, absence := w.chance(0.1), w.chance(0.05)
	medley, shortened, beside := w.chance(0.04), w.chance(0.05), w.chance(0.1)
	switch fair := w.names[0].kind == actor.Fair; {
	case fair && procession:
		w.longQueueWorld()
	case fair: // each caller has to wait for all others
	default:
		if contest && !slices.ContainsFunc(w.engines, func(e *simEngine) bool { return e.config.Poll }) { // engines that poll may wait for long
			w.enginesCompete(len(w.engines))
		}
		if pollers {
			w.pollers()
		}
		if overtaken {
			w.multiAmongSingles()
		}
		if medley && slices.ContainsFunc(w.engines, func(e *simEngine) bool { return e.config.Poll }) {
			w.mixedWaiters()
		}
		if shortened {
			w.shortened()
		}
		if w.plan.spinning {
			w.spin()
		}
		if beside && w.names[0].kind == actor.Write && w.engines[0].config.MaxHold == 0 {
			w.readBesideWriter()
		}
	}
	w.runFor(2*w.plan.longest + w.maxFreeTime())
	if absence {
		w.serverAway()
		w.runFor(2*w.plan.longest + w.maxFreeTime())
	}
	w.removeDeadPlaces(absence)
	w.nothingIsLeft()
}

// endFaults ends every fault that lasts.
func (w *simWorld) endFaults() {
	w.tracef("from here on nothing goes wrong, and every caller tidies up")
	w.faultsOver = true
	w.unlimited()
	w.sweepCheck()
	w.disturb(w.plan.lease / 2) // late copies come until then
	for name := range w.server.keys {
		if k := w.server.key(name); k.exists && (k.expires == simForever || k.foreign()) {
			w.server.takeKey(name, simKey{})
		}
	}
	for _, o := range w.externalClients {
		w.after(w.spread(time.Millisecond, 100*time.Millisecond), o.leave)
	}
	most := 100 * time.Millisecond
	if w.chance(0.3) {
		most = 3 * w.plan.lease // so that locks are held while nothing goes wrong
	}
	for _, e := range w.engines {
		for _, c := range e.callers {
			w.after(w.between(time.Millisecond, max(most, time.Millisecond)), c.tidy)
		}
	}
	for _, v := range w.quorumUsers {
		if w.chance(0.3) {
			most = w.maxFreeTime() + 2*w.plan.lease // so that a missing lock has to come
		}
		w.after(w.between(time.Millisecond, max(most, time.Millisecond)), v.tidy)
	}
}

// sweepCheck looks at the names also when nothing happens.
func (w *simWorld) sweepCheck() {
	w.checkNames()
	w.after(w.maxFreeTime(), w.sweepCheck)
}

func (w *simWorld) settled() bool {
	for _, e := range w.engines {
		if len(e.requests) > 0 || len(e.holds) > 0 || len(e.pendingResults) > 0 {
			return false
		}
	}
	return !slices.ContainsFunc(w.quorumUsers, (*simQuorumUser).busy)
}

func (w *simWorld) unsettled() {
	for _, v := range w.quorumUsers {
		if v.busy() {
			w.fail("%s still waits for a majority, or has one, though there is no other request", v)
		}
	}
	for _, e := range w.engines {
		for _, a := range e.requests {
			w.fail("%s still waits: %s of %s, asked %v ago, has no verdict though nothing is wrong", e.name, a, a.caller, w.now-a.requestedAt)
		}
		for _, t := range e.pendingResults {
			w.fail("%s has decided %v, and does not tell", e.name, t.request.Op)
		}
		for _, h := range e.holds {
			w.fail("%s still holds %s, though no caller wants it", e.name, h)
		}
	}
}

// probe takes every lock once more in every engine, one engine after the other. Without competition it is granted
// within a few round trips, and a waiter is granted soon after the release.
func (w *simWorld) probe() {
	roundTrips := 20*w.plan.latency + 10*time.Millisecond
	for name := range min(len(w.plan.names), 4) {
		for slot := range w.engines {
			w.begin(simMixed(w.seed, uint64(10+name*len(w.engines)+slot)))
			first, second := w.prober(slot), w.prober((slot+1)%len(w.engines))
			h := w.mustLock(first, name, roundTrips)
			if h == nil {
				return
			}
			a := second.plainLock(name)
			w.runFor(first.heldFor())
			if a.decided {
				w.fail("%s was granted %s, which %s holds", second.e.name, a, h)
				return
			}
			first.change(h, actor.Unlock, 0)
			if !w.runUntil(w.now+300*time.Millisecond+roundTrips, func() bool { return a.decided }) {
				w.fail("%s waits for %s, 300ms after its release", second.e.name, a)
				return
			}
			second.change(a.hold, actor.Unlock, 0)
			w.runFor(w.spread(time.Millisecond, time.Second))
		}
		w.probeReaders(name, roundTrips)
		w.probeInner(name, roundTrips)
	}
	w.probeSeveral(roundTrips)
	w.probeQuorum(roundTrips)
}

// prober returns a caller for the probes at the end, when the other callers are idle.
func (w *simWorld) prober(slot int) *simCaller {
	return &simCaller{e: w.engines[slot], number: 9, onResult: func(*simRequest) {}}
}

// heldFor returns a duration that includes renewals and stays below the engine's MaxHold.
func (c *simCaller) heldFor() time.Duration { return c.heldAtMost(2 * c.e.config.Lease) }

func (c *simCaller) heldAtMost(most time.Duration) time.Duration {
	d := c.e.w.spread(time.Millisecond, most)
	if longest := c.e.config.MaxHold; longest != 0 {
		return min(d, longest/2)
	}
	return d
}

func (c *simCaller) plainLock(name int) *simRequest {
	a := c.newRequest(actor.Acquire, name)
	a.Kind = c.e.w.names[name].kind
	c.want(a)
	return a
}

func (w *simWorld) mustLock(c *simCaller, name int, within time.Duration) *simHold {
	a := c.plainLock(name)
	if !w.runUntil(w.now+within, func() bool { return a.decided }) {
		w.fail("%s does not get %s, which is not held, within %v", c.e.name, a, within)
		return nil
	}
	return a.hold
}

// nothingIsLeft checks that no lock, timer, channel, command, key or place is left when all callers are done.
func (w *simWorld) nothingIsLeft() {
	for _, e := range w.engines {
		e.nothingRuns("at the end")
		c := e.c
		if at, ok := c.Next(); ok && w.failure == "" {
			w.fail("%s would wake at %v, with nothing to do", e.name, at)
		}
		if c.Locks.Len()+len(c.LockSets) > 0 || len(c.Fallback.Subscriptions.Channels) > 0 || c.Fallback.Subscriptions.Subscribed != 0 || c.Fallback.Subscriptions.Busy || e.pubsub.total() > 0 || c.Fx.HeldLocks != 0 || c.Fx.ReleasingLocks != 0 || c.Fx.LoweringLocks != 0 {
			w.fail("%s is left with %d locks, %d channels (%d subscribed, %d at the server) and %d tenures", e.name,
				c.Locks.Len()+len(c.LockSets), len(c.Fallback.Subscriptions.Channels), c.Fallback.Subscriptions.Subscribed, e.pubsub.total(), c.Fx.HeldLocks)
		}
	}
	for name := range w.server.keys {
		if left := w.server.queues[name]; len(left) > 0 {
			w.fail("the queue of %s is left with a place of %s", w.plan.names[name], w.holderName(left[0].holder))
		}
		if left := w.server.strayPlaces[name]; len(left) > 0 && name < 4 { // every caller has asked for it since
			w.fail("the times of %d without places are left of %s", len(left), w.plan.names[name])
		}
		if k := w.server.key(name); k.exists {
			w.fail("the server is left with %s of %s and %d readers", w.plan.names[name], w.holderName(k.holder), len(k.readers))
		}
	}
}

// nothingRuns checks that an engine has nothing in flight and nothing planned.
func (e *simEngine) nothingRuns(when string) {
	c := e.c
	s := c.Stats()
	if s.Held != 0 || s.Waiting != 0 || s.Timers != 0 || len(e.requests) > 0 || len(e.holds) > 0 || len(e.pendingResults) > 0 {
		e.w.fail("%s is left %s with %d held, %d waiting, %d timers, %d requests, %d verdicts to be told and %d holds", e.name, when,
			s.Held, s.Waiting, s.Timers, len(e.requests), len(e.pendingResults), len(e.holds))
	}
	if !c.Closed && (s.Polling != 0 || c.Fallback.Backlog() || c.Fallback.InFlightBundles != 0 || s.InFlight != 0 || s.Subscriptions != 0) {
		e.w.fail("%s is left %s with %d batches out, %d commands in flight and %d subscriptions", e.name, when, c.Fallback.InFlightBundles, s.InFlight, s.Subscriptions)
	}
}
