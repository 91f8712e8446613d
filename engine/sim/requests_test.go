package sim

import (
	"context"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// simRequest is a request and what the simulation knows about it.
type simRequest struct {
	actor.Request
	msg            coordinator.LoopMessage
	caller         *simCaller
	hold           *simHold // the hold that it asks for or is about; of several, the first
	single         [1]*simHold
	parts          []*simHold // of a request for several locks
	name           int
	number         int           // in the order of the requests
	requestedAt    time.Duration // true time
	due            time.Duration // when its result is due by the engine's clock; 0 if not known yet
	writerWaitedAt time.Duration // when another request of its engine last waited to write the lock that this one is to read. True time
	canceled       bool          // its caller canceled
	beside         int           // how many other requests of its engine had no result yet when it came
	opened         int           // the turn of its engine that opened it; 0: none before the present one
	refusals       int           // how often its engine had received "held by another" when this request came
	refused        bool          // it tries once, and no connection could be made for that try
	unreplicated   int           // how often its engine has learned since that too few replicas have the lock
	unreplicatedAt time.Duration // when it last learned that, by its clock
	undone         bool          // and that concerned an acquire of this request's own Lock
	decided        bool
	delivered      bool   // its caller has received the result
	deliver        func() // runs when the caller receives it
}

// simHold is a hold and what the simulation knows about it.
type simHold struct {
	grant       actor.Hold
	e           *simEngine
	name        int
	reads       bool        // it reads a read/write lock
	together    *simRequest // the request for several locks that it belongs to; nil if it was requested alone
	granted     bool
	active      bool  // granted, and not ended
	ended       error // how it ended
	cause       error
	tenure      *simTenure
	watched     bool          // as far as its caller knows
	watchedAt   time.Duration // since when watched is as it is. True time
	since       time.Duration // its owner's first grant, on the engine's clock
	promised    time.Duration // until when it lasts at least, on the engine's clock; 0: unknown
	token       uint64        // of a fenced lock
	nested      bool          // it ended while its owner had another
	extension   *simRequest   // the latest
	unconfirmed bool          // granted before its engine was suspended, and not confirmed since
}

func (w *simWorld) newHold(e *simEngine, name int) *simHold {
	h := w.memory.holds.new()
	h.e, h.name = e, name
	return h
}

func (h *simHold) holder() simHolder { return holderOf(h.e.life, h.name, h.reads, tenureOf(&h.grant)) }

// newRequest reuses an old request under the same condition as the root package: its caller has received the result.
func (c *simCaller) newRequest(what actor.Op, name int) *simRequest {
	w := c.e.w
	a := w.model.freeRequest()
	a.Op, a.Key, a.Name, a.Kind = what, w.plan.names[name], w.plan.names[name], w.names[name].kind
	if a.Kind == actor.Write && w.chance(0.6) {
		a.Kind = actor.Read
	}
	w.model.requestCount++
	a.Async = c.number%2 == 1
	a.caller, a.name, a.requestedAt, a.number = c, name, w.now, w.model.requestCount
	return a
}

// freed reports whether a request is reused once its caller has the result, as in the root package. A request of
// LockAsync is not: its caller keeps it in a Pending. If its deadline passes before the coordinator opened its
// message, that message is still queued.
func (a *simRequest) freed() bool {
	return !a.canceled && !a.Async && a.parts == nil && (a.Op == actor.Acquire || a.Op == actor.Unlock || a.Op == actor.Extend)
}

func (c *simCaller) post(a *simRequest) {
	if a.Op == actor.Acquire && c.e.config.Poll {
		c.e.w.cover(coverPolled)
	}
	c.e.tracef("%s asks: %s", c, a)
	a.beside, a.opened = len(c.e.requests), 0
	c.e.requests = append(c.e.requests, a)
	c.requests = append(c.requests, a)
	if a.refusals = 0; c.e.refused != nil {
		a.refusals = c.e.refused[a.name]
	}
	a.msg = coordinator.LoopMessage{Value: &a.Request}
	c.e.post(&a.msg)
}

// cancel ends the context of a caller. The result may already be decided and on its way.
func (c *simCaller) cancel(a *simRequest) {
	if a.canceled || a.delivered {
		return
	}
	a.canceled = true
	if a.parts != nil { // the result may be decided and not delivered yet
		c.e.back = append(c.e.back, a.parts...)
	}
	c.e.w.cover(coverCanceled)
	c.e.tracef("%s gives up %s", c, a)
	c.e.post(&coordinator.LoopMessage{Value: coordinator.CancelRequest{Request: &a.Request, Cause: context.Canceled}})
}
