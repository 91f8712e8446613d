package sim

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// serverAway takes the server away for longer than any lease, while callers come and go.
func (w *simWorld) serverAway() {
	bound := 2*w.plan.longest + 2*w.plan.longest/25 + simFairWait + time.Second // a release without a reply, and then the release of its orphan
	w.disturb(w.plan.lease + bound)
	stops := w.now + w.spread(time.Millisecond, w.plan.lease)
	for slot := range w.engines {
		for range 1 + w.random.IntN(4) {
			w.addImpatientCaller(w.prober(slot), stops)
		}
	}
	w.runFor(w.spread(time.Millisecond, w.plan.lease/2))
	w.tracef("the server goes away")
	w.server.down = stops + bound
	for _, e := range w.engines {
		e.conn.breakConn(0)
		if e.pubsub.conn != nil {
			e.pubsub.breakConns(0)
		}
	}
	w.runUntil(stops+bound, func() bool { return false })
	for _, e := range w.engines {
		if c := e.c; c.Locks.Len()+len(c.LockSets) > 0 || c.Fallback.Backlog() || c.Timers() > 0 || len(c.Fallback.Subscriptions.Channels) > 0 {
			w.fail("%s keeps %d locks, %d timers and %d channels, though nothing has been wanted for %v", e.name,
				c.Locks.Len()+len(c.LockSets), c.Timers(), len(c.Fallback.Subscriptions.Channels), bound)
		}
	}
	w.server.down = w.now
}

// removeDeadPlaces removes dead places from the queues if one of their commands had no reply or could not be sent. The
// next client to ask would remove them as well. After an outage longer than a place lives the server still has such
// places, but their engines have dropped them.
func (w *simWorld) removeDeadPlaces(absent bool) {
	for name, queue := range w.server.queues {
		w.server.queues[name] = slices.DeleteFunc(slices.Clone(queue), func(p simQueuePlace) bool {
			dead := p.till <= w.server.clock() && (p.till != 0 || p.time <= w.server.clock())
			t := w.model.tenure(p.holder)
			return dead && (absent || t.uncertain || t.leaseUnanswered)
		})
	}
}

// addImpatientCaller has a caller make one request after another and cancel each soon.
func (w *simWorld) addImpatientCaller(c *simCaller, stops time.Duration) {
	var again func()
	c.onResult = func(a *simRequest) {
		if a.Op == actor.Acquire && a.Err == nil && !a.canceled {
			for _, h := range a.of() {
				w.after(w.spread(time.Millisecond, w.plan.lease/2), func() { c.change(h, actor.Unlock, 0) })
			}
		}
		if a.Op != actor.Unlock {
			again()
		}
	}
	again = func() {
		w.after(w.spread(10*time.Microsecond, w.plan.lease/20), func() {
			if w.now < stops {
				a := c.impatient()
				w.at(min(stops, w.now+w.spread(10*time.Microsecond, w.plan.lease/4)), func() { c.cancel(a) })
			}
		})
	}
	for range 3 {
		again()
	}
}

func (c *simCaller) impatient() *simRequest {
	w := c.e.w
	name := w.random.IntN(len(w.plan.names))
	switch n := w.random.IntN(10); {
	case n == 0:
		a := c.newRequest(coordinator.AskState, name)
		c.post(a)
		return a
	case n == 1 && w.plan.forcing:
		a := c.newRequest(actor.Force, name)
		c.post(a)
		return a
	case n < 4 && len(w.plain) > 1:
		a := c.askSeveral(append([]int(nil), w.plain[:2]...))
		c.want(a)
		return a
	}
	a := c.newRequest(actor.Acquire, name)
	switch {
	case w.chance(0.3):
		a.Wait = w.spread(time.Millisecond, w.plan.lease/4)
	case w.chance(0.2):
		a.Once = true
	}
	c.want(a)
	return a
}

// checkMemory checks two bounds. At most half of the commands that wait to be sent may be unwanted. A lock from which
// no command was ever sent must be wanted by a caller.
func (e *simEngine) checkMemory() {
	for verb := range e.c.Fallback.Queues {
		q, vain, stale := &e.c.Fallback.Queues[verb], 0, 0
		for c := range q.All() {
			if !coordinator.StillWanted(c) {
				stale++
			}
			if !e.needs(c) {
				vain++
			}
		}
		if q.Sweep.On {
			continue // the next turn
		}
		if 2*vain > q.Len()+q.InRetries {
			e.w.fail("%s has %d commands to send to %s, %d of them not wanted", e.name, q.Len(), simVerbs[verb], vain)
		}
		if len(e.c.Fallback.Retries) == 0 && stale != q.Stale {
			e.w.fail("%s counts %d commands to %s that are not to leave any more, but it is %d", e.name, q.Stale, simVerbs[verb], stale)
		}
	}
	for _, l := range e.c.NewRound().Left {
		if l.Tenure() != 0 && e.excessLocks(l) > 0 {
			e.w.fail("%s keeps %s:%d, which the server was never asked for and no caller wants", e.name, l.Key(), l.Tenure())
		}
	}
}

// excessLocks returns by how many the locks of a name that never sent a command outnumber the callers that want one.
func (e *simEngine) excessLocks(l *actor.Lock) (locks int) {
	name := e.w.nameOf(l.Key())
	asks := func(l *actor.Lock) int {
		if l.Tenure() == 0 || e.w.model.tenure(holderOf(e.life, name, l.Kind() == actor.Read, l.Tenure())).departed {
			return 0
		}
		return 1
	}
	if !l.Kind().PerRequest() {
		locks = asks(l)
	} else {
		for _, l := range e.c.LockSets[l.Key()].All() {
			locks += asks(l)
		}
	}
	for _, a := range e.requests {
		if (a.Op == actor.Acquire || a.Op == actor.Force) && (a.name == name || a.parts != nil && a.about(name)) {
			locks--
		}
	}
	return locks
}

// needs reports whether a caller or a hold still needs a command.
func (e *simEngine) needs(c *actor.Command) bool {
	if simReleases(c.Verb) || simRenews(c.Verb) && e.w.wants(e, c) {
		return true
	}
	name := e.w.nameOf(c.Key)
	for _, a := range e.requests {
		switch {
		case c.Request != nil && c.Request == &a.Request:
			return true
		case c.Request == nil && !simRenews(c.Verb) && (a.Op == actor.Acquire || a.Op == actor.Force) && a.name == name && a.parts == nil:
			return true
		}
	}
	return false
}
