package engine

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// simCaller is a user of an engine. It does what a goroutine does with Mutex and Hold, in the way in which the root
// package does it on the engine. It makes one request at a time, mostly a sensible one.
type simCaller struct {
	e      *simEngine
	number int
	thread uint64 // its WithOwner number; 0 if it has none
	holds  []*simHold
	past   *simHold // a hold that ended: for second unlocks, and for contexts that outlive their hold
	asks   []*simAsk
	probes func(*simAsk) // handles a result, at the end, if the caller only probes
	thinks func()        // runs when its pause is over
}

func newSimCaller(e *simEngine, number int) *simCaller {
	c := &simCaller{e: e, number: number}
	if e.w.chance(e.w.plan.threaded) {
		c.thread = actor.ThreadOwner | uint64(1+e.w.random.IntN(2))
	}
	c.thinks = c.thought
	c.think()
	return c
}

// think pauses and then acts, again and again. A caller that waits for a lock pauses as well. Callers of a paused
// process do not act.
func (c *simCaller) think() {
	w, least := c.e.w, 10*time.Microsecond
	if len(c.asks) > 0 {
		least = 2 * w.plan.latency
	}
	w.at(max(w.now, c.e.paused)+w.spread(least, max(w.plan.think, 2*least)), c.thinks)
}

func (c *simCaller) thought() {
	w := c.e.w
	if c.e.dead || w.tired {
		return
	}
	c.think()
	if w.now >= c.e.paused && w.may(c.e.name, "wish") {
		c.act()
	}
}

// act does one thing that a caller may do now.
func (c *simCaller) act() {
	w := c.e.w
	if len(c.asks) > 2 || len(c.asks) > 0 && w.chance(0.5) {
		c.wait()
		return
	}
	switch n := w.random.IntN(100); {
	case len(c.holds) < w.plan.crowd/4 && c.number == 0:
		c.crowd()
	case w.plan.crowd != 0 && len(c.holds) > w.plan.crowd/4 && n < 5:
		c.tidy()
	case len(c.holds) == 0 && n < 80:
		c.lock(w.random.IntN(len(w.plan.names)), 0)
	case len(c.holds) == 0:
		c.idle(n)
	case w.chance(w.plan.extending):
		c.extend(simPick(w, c.holds))
	case n < 50:
		c.unlock(simPick(w, c.holds))
	case n < 65:
		h := simPick(w, c.holds)
		c.lock(h.name, h.grant.Owner)
	case n < 80:
		c.extend(simPick(w, c.holds))
	case n < 90:
		c.lock(w.random.IntN(len(w.plan.names)), 0)
	default:
		c.idle(n)
	}
}

// crowd asks for plan.crowd locks at once without waiting, and holds those that are free for long.
func (c *simCaller) crowd() {
	w := c.e.w
	first := w.random.IntN(len(w.plan.names))
	for i := range w.plan.crowd {
		a := c.newAsk(actor.Acquire, (first+i)%len(w.plan.names))
		a.Once = true
		c.want(a)
	}
}

// wait may cancel a pending request. Mostly it does nothing.
func (c *simCaller) wait() {
	if a := simPick(c.e.w, c.asks); c.e.w.chance(0.2) {
		c.giveUp(a)
	}
}

// idle does something that needs no hold: questions, force, second unlocks, contexts that are too old.
func (c *simCaller) idle(n int) {
	w := c.e.w
	name := w.random.IntN(len(w.plan.names))
	switch n % 5 {
	case 0:
		c.ask(AskState, name)
	case 1:
		c.ask(AskCount, name)
	case 2:
		if w.plan.forcing {
			c.ask(actor.Force, name)
		}
	default:
		c.again()
	}
}

// again uses an ended hold as caller code does that has not noticed the end.
func (c *simCaller) again() {
	h, w := c.past, c.e.w
	switch {
	case h == nil:
	case w.chance(0.4):
		c.lock(h.name, h.grant.Owner)
	case w.chance(0.3):
		c.extend(h)
	default:
		c.change(h, actor.Unlock, 0)
	}
}

// lock asks for a lock. owner is the number that its context carries. A caller that already holds something bounds
// its wait, because otherwise two callers could wait for each other.
func (c *simCaller) lock(name int, owner uint64) {
	w := c.e.w
	if owner == 0 && len(w.plain) > 1 && w.chance(w.plan.together) {
		c.lockSeveral()
		return
	}
	a := c.newAsk(actor.Acquire, name)
	if a.Owner = owner; owner == 0 {
		a.Owner = c.thread
	}
	c.bounded(a)
}

// bounded posts a request for a lock with a lease of its own, with a wait, or with neither.
func (c *simCaller) bounded(a *simAsk) {
	w := c.e.w
	if w.chance(w.plan.fixed) {
		a.Lease = w.plan.fixedLease(w)
	}
	switch {
	case w.chance(w.plan.once):
		a.Once = true
	case len(c.holds) > 0 || w.chance(0.2):
		a.Wait = w.spread(time.Millisecond, 2*w.plan.lease)
	}
	if a.Lease != 0 && !a.Once { // without a bound it would try for ever, and all requests behind it would wait
		a.Lease = max(a.Lease, w.plan.usableLease())
	}
	c.want(a)
}

// reenter asks for a hold's lock once more, with a lease of its own.
func (c *simCaller) reenter(h *simHold, lease time.Duration) {
	a := c.newAsk(actor.Acquire, h.name)
	a.Owner, a.Lease = h.grant.Owner, lease
	c.want(a)
}

// want posts a request for a lock, with a hold to be filled in.
func (c *simCaller) want(a *simAsk) {
	if a.parts != nil {
		a.hold = a.parts[0]
		c.e.holds = append(c.e.holds, a.parts...)
		c.post(a)
		return
	}
	for _, h := range c.e.holds {
		if a.Lease != 0 && h.active && h.name == a.name {
			h.tenure.asked(a.Lease) // from now on, as far as the renewals know
		}
	}
	a.hold = c.e.w.newHold(c.e, a.name)
	a.hold.reads = a.Kind == actor.Read
	a.single[0] = a.hold
	a.Hold = &a.hold.grant
	c.e.holds = append(c.e.holds, a.hold)
	c.post(a)
}

// unlock ends a hold. From here on its caller does not rely on it.
func (c *simCaller) unlock(h *simHold) {
	a := c.change(h, actor.Unlock, 0)
	c.forget(h)
	if c.e.w.chance(0.1) {
		c.giveUp(a)
	}
	if h.together != nil && c.e.w.chance(0.7) {
		c.leaveRest(h)
	}
}

// leaveRest unlocks the holds that were granted together with a hold.
func (c *simCaller) leaveRest(h *simHold) {
	for _, other := range h.together.parts {
		if slices.Contains(c.holds, other) {
			c.change(other, actor.Unlock, 0)
			c.forget(other)
		}
	}
}

// extend changes the lease of a hold: longer, shorter, or watched again.
func (c *simCaller) extend(h *simHold) {
	lease := c.e.w.plan.fixedLease(c.e.w)
	if c.e.w.chance(0.4) {
		lease = 0
	}
	c.change(h, actor.Extend, lease)
}

func (c *simCaller) change(h *simHold, what actor.Kind, lease time.Duration) *simAsk {
	a := c.newAsk(what, h.name)
	a.Hold, a.hold, a.Lease = &h.grant, h, lease
	if what == actor.Extend {
		h.extension = a
		h.promised = 0
		if h.tenure != nil {
			h.tenure.asked(lease)
		}
	}
	c.post(a)
	return a
}

func (c *simCaller) ask(what actor.Kind, name int) {
	a := c.newAsk(what, name)
	a.Owner = c.thread
	if len(c.holds) > 0 {
		a.Owner = c.holds[0].grant.Owner
	}
	c.post(a)
}

// told delivers the result to the caller, some time after the engine decided it. A caller that cancels meanwhile
// handles it as a rejection.
func (c *simCaller) told(a *simAsk) {
	w := c.e.w
	w.at(max(w.now, c.e.paused)+w.between(0, 50*time.Microsecond), a.takes)
}

func (c *simCaller) take(a *simAsk) {
	if c.probes != nil {
		c.probes(a)
		return
	}
	if c.e.dead {
		return
	}
	c.asks = without(c.asks, a)
	a.taken = true
	if a.Tag == actor.Acquire && a.Err == nil && !a.left {
		c.keep(a)
	}
	if a.Tag == AskShutdown {
		c.ask(AskClose, 0)
	}
	if a.freed() {
		c.e.w.books.giveBack(a)
	}
	if c.e.w.quiet {
		c.tidy()
	}
}

// keep mirrors Hold.checked: it unlocks a grant that is expired by the clock, and the holds that came with it.
func (c *simCaller) keep(a *simAsk) {
	now := c.e.now()
	over := slices.ContainsFunc(a.of(), func(h *simHold) bool { return now >= h.grant.Until() })
	for _, h := range a.of() {
		if over {
			c.giveUp(c.change(h, actor.Unlock, 0))
			continue
		}
		c.holds = append(c.holds, h)
		if h.grant.Tenure%4 == 0 {
			h.grant.Ask(nil, &actor.Signal{Done: make(chan struct{})}) // as Hold.Done does
		}
	}
}

// forget removes holds that were unlocked, or that the caller knows to be lost.
func (c *simCaller) forget(h *simHold) {
	c.holds = without(c.holds, h)
	c.past = h
}

// tidy unlocks everything and stops the caller's requests.
func (c *simCaller) tidy() {
	for len(c.holds) > 0 {
		h := c.holds[len(c.holds)-1]
		c.change(h, actor.Unlock, 0)
		c.forget(h)
	}
}
