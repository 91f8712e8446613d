package sim

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// simCaller is a user of an engine. It does what a goroutine does with Mutex and Hold, in the way in which the root
// package does it on the engine. It makes one request at a time, mostly a sensible one.
type simCaller struct {
	e           *simEngine
	number      int
	thread      uint64 // its WithOwner number; 0 if it has none
	holds       []*simHold
	endedHold   *simHold // a hold that ended: for second unlocks, and for contexts that outlive their hold
	requests    []*simRequest
	onResult    func(*simRequest) // handles a result, at the end, if the caller only probes
	onThinkTime func()            // runs when its pause is over
}

func newSimCaller(e *simEngine, number int) *simCaller {
	c := &simCaller{e: e, number: number}
	if e.w.chance(e.w.plan.sharedOwners) {
		c.thread = actor.ThreadOwner | uint64(1+e.w.random.IntN(2))
	}
	c.onThinkTime = c.thought
	c.thinkTime()
	return c
}

// thinkTime pauses and then acts, again and again. A caller that waits for a lock pauses as well. Callers of a paused
// process do not act.
func (c *simCaller) thinkTime() {
	w, least := c.e.w, 10*time.Microsecond
	if len(c.requests) > 0 {
		least = 2 * w.plan.latency
	}
	w.at(max(w.now, c.e.paused)+w.spread(least, max(w.plan.think, 2*least)), c.onThinkTime)
}

func (c *simCaller) thought() {
	w := c.e.w
	if c.e.dead || w.draining {
		return
	}
	c.thinkTime()
	if w.now >= c.e.paused && w.may(c.e.name, "wish") {
		c.act()
	}
}

// act does one thing that a caller may do now.
func (c *simCaller) act() {
	w := c.e.w
	if len(c.requests) > 2 || len(c.requests) > 0 && w.chance(0.5) {
		c.wait()
		return
	}
	switch n := w.random.IntN(100); {
	case len(c.holds) < w.plan.bulkLocks/4 && c.number == 0:
		c.lockMany()
	case w.plan.bulkLocks != 0 && len(c.holds) > w.plan.bulkLocks/4 && n < 5:
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

// lockMany asks for plan.crowd locks at once without waiting, and holds those that are free for long.
func (c *simCaller) lockMany() {
	w := c.e.w
	first := w.random.IntN(len(w.plan.names))
	for i := range w.plan.bulkLocks {
		a := c.newRequest(actor.Acquire, (first+i)%len(w.plan.names))
		a.Once = true
		c.want(a)
	}
}

// wait may cancel a pending request. Mostly it does nothing.
func (c *simCaller) wait() {
	if a := simPick(c.e.w, c.requests); c.e.w.chance(0.2) {
		c.cancel(a)
	}
}

// idle does something that needs no hold: questions, force, second unlocks, contexts that are too old.
func (c *simCaller) idle(n int) {
	w := c.e.w
	name := w.random.IntN(len(w.plan.names))
	switch n % 5 {
	case 0:
		c.ask(coordinator.AskState, name)
	case 1:
		c.ask(coordinator.AskCount, name)
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
	h, w := c.endedHold, c.e.w
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
	a := c.newRequest(actor.Acquire, name)
	if a.Owner = owner; owner == 0 {
		a.Owner = c.thread
	}
	c.bounded(a)
}

// bounded posts a request for a lock with a lease of its own, with a wait, or with neither.
func (c *simCaller) bounded(a *simRequest) {
	w := c.e.w
	if w.chance(w.plan.fixed) {
		a.Lease = w.plan.fixedLease(w)
	}
	switch {
	case w.chance(w.plan.tryOnce):
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
	a := c.newRequest(actor.Acquire, h.name)
	a.Owner, a.Lease = h.grant.Owner, lease
	c.want(a)
}

// want posts a request for a lock, with a hold to be filled in.
func (c *simCaller) want(a *simRequest) {
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
		c.cancel(a)
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

func (c *simCaller) change(h *simHold, what actor.Op, lease time.Duration) *simRequest {
	a := c.newRequest(what, h.name)
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

func (c *simCaller) ask(what actor.Op, name int) {
	a := c.newRequest(what, name)
	a.Owner = c.thread
	if len(c.holds) > 0 {
		a.Owner = c.holds[0].grant.Owner
	}
	c.post(a)
}

// resultArrives delivers the result to the caller, some time after the engine decided it. A caller that cancels
// meanwhile handles it as a rejection.
func (c *simCaller) resultArrives(a *simRequest) {
	w := c.e.w
	w.at(max(w.now, c.e.paused)+w.between(0, 50*time.Microsecond), a.deliver)
}

func (c *simCaller) take(a *simRequest) {
	if c.onResult != nil {
		c.onResult(a)
		return
	}
	if c.e.dead {
		return
	}
	c.requests = without(c.requests, a)
	a.delivered = true
	if a.Op == actor.Acquire && a.Err == nil && !a.canceled {
		c.keep(a)
	}
	if a.Op == coordinator.AskShutdown {
		c.ask(coordinator.AskClose, 0)
	}
	if a.freed() {
		c.e.w.model.recycle(a)
	}
	if c.e.w.faultsOver {
		c.tidy()
	}
}

// keep mirrors Hold.checked: it unlocks a grant that is expired by the clock, and the holds that came with it.
func (c *simCaller) keep(a *simRequest) {
	now := c.e.now()
	over := slices.ContainsFunc(a.of(), func(h *simHold) bool { return now >= h.grant.Until() })
	for _, h := range a.of() {
		if over {
			c.cancel(c.change(h, actor.Unlock, 0))
			continue
		}
		c.holds = append(c.holds, h)
		if h.grant.Tenure%4 == 0 {
			h.grant.Install(nil, &actor.HoldSignal{Done: make(chan struct{})}) // as Hold.Done does
		}
	}
}

// forget removes holds that were unlocked, or that the caller knows to be lost.
func (c *simCaller) forget(h *simHold) {
	c.holds = without(c.holds, h)
	c.endedHold = h
}

// tidy unlocks everything and stops the caller's requests.
func (c *simCaller) tidy() {
	for len(c.holds) > 0 {
		h := c.holds[len(c.holds)-1]
		c.change(h, actor.Unlock, 0)
		c.forget(h)
	}
}
