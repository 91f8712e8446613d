package engine

import (
	"context"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// simAsk is a request with what is known of it.
type simAsk struct {
	actor.Request
	letter   mail
	caller   *simCaller
	hold     *simHold // that it is for, or about; of several the first
	single   [1]*simHold
	parts    []*simHold // of a request for several locks
	name     int
	number   int           // in the order in which they were asked
	asked    time.Duration // true time
	due      time.Duration // when its verdict is due by the engine's clock; 0 not known yet
	aside    time.Duration // when somebody of its engine last waited to write what it is to read. True time
	left     bool          // its caller gave up
	refusals int           // how often its engine had been told then that another has the lock
	refused  bool          // it tries once, and no connection could be made for that
	vain     int           // how often its engine was told since that too few replicas have the lock
	vainAt   time.Duration // when it was last, by its clock
	undone   bool          // and that was what its own Lock had asked for
	decided  bool
	taken    bool   // its caller has the verdict
	takes    func() // is when it takes it
}

// simHold is a hold with what is known of it.
type simHold struct {
	grant     actor.Hold
	e         *simEngine
	name      int
	reads     bool    // of a read/write lock: it is a reader's
	together  *simAsk // that it was asked for with others; nil if it was alone
	granted   bool
	active    bool  // granted, and not ended
	ended     error // which end it had
	cause     error
	tenure    *simTenure
	watched   bool          // as far as its caller knows
	watchedAt time.Duration // since when, or not. True time
	since     time.Duration // its owner's first grant, on the engine's clock
	promised  time.Duration // until when it lasts at least, on the engine's clock; 0: nobody knows
	token     uint64        // of a fenced lock
	inner     bool          // it ended while its owner had another
	extension *simAsk       // the latest
	suspect   bool          // granted before its engine was suspended, and not confirmed since
}

func (w *simWorld) newHold(e *simEngine, name int) *simHold {
	h := w.memory.holds.new()
	h.e, h.name = e, name
	return h
}

func (h *simHold) holder() simHolder { return holderOf(h.e.life, h.name, h.reads, h.grant.Tenure) }

// newAsk takes an old request where the root package would, too: one whose verdict was taken.
func (c *simCaller) newAsk(what actor.Kind, name int) *simAsk {
	w := c.e.w
	a := w.books.spareAsk()
	a.Tag, a.Key, a.Name, a.Kind = what, w.plan.names[name], w.plan.names[name], w.names[name].kind
	if a.Kind == actor.Write && w.chance(0.6) {
		a.Kind = actor.Read
	}
	w.books.asked++
	a.Async = c.number%2 == 1
	a.caller, a.name, a.asked, a.number = c, name, w.now, w.books.asked
	return a
}

// freed reports whether a request whose verdict was taken is used again, as in the root package. That of LockAsync is not: its
// caller keeps it in a Pending, and where its bound passes before it was opened, its letter still lies with the coordinator.
func (a *simAsk) freed() bool {
	return !a.left && !a.Async && a.parts == nil && (a.Tag == actor.Acquire || a.Tag == actor.Unlock || a.Tag == actor.Extend)
}

func (c *simCaller) post(a *simAsk) {
	if a.Tag == actor.Acquire && c.e.config.Poll {
		c.e.w.saw(sawPolled)
	}
	c.e.tracef("%s asks: %s", c, a)
	c.e.asks = append(c.e.asks, a)
	c.asks = append(c.asks, a)
	if a.refusals = 0; c.e.refused != nil {
		a.refusals = c.e.refused[a.name]
	}
	a.letter = mail{what: &a.Request}
	c.e.post(&a.letter)
}

// giveUp is the end of a caller's context. The verdict may be out, and on its way.
func (c *simCaller) giveUp(a *simAsk) {
	if a.left || a.taken {
		return
	}
	a.left = true
	if a.parts != nil { // the verdict may be out, and not told yet
		c.e.back = append(c.e.back, a.parts...)
	}
	c.e.w.saw(sawGivenUp)
	c.e.tracef("%s gives up %s", c, a)
	c.e.post(&mail{what: givesUp{&a.Request, context.Canceled}})
}
