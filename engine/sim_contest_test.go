package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// A lock that everybody wants all the time, and nobody holds: it is passed on inside an engine without
// asking anybody, and still none is shut out.

// contend has callers of some engines want a lock for a while, each again as soon as it had it. waited is
// told how long each wait took.
func (w *simWorld) contend(engines, callers int, ends time.Duration, waited func(a *simAsk)) {
	for slot := range engines {
		for range callers {
			c := w.prober(slot)
			c.probes = func(a *simAsk) {
				waited(a)
				if a.Tag == actor.Acquire {
					c.change(a.hold, actor.Unlock, 0)
				} else if w.now < ends {
					c.plainLock(0)
				}
			}
			c.plainLock(0)
		}
	}
}

// contest lets all engines compete: each gets its turn when the others' bounds on handing on are reached.
func (w *simWorld) contest(engines int) {
	ends := w.now + 110*time.Millisecond + 60*w.plan.latency
	longest := time.Duration(engines-1) * (60*time.Millisecond + 90*w.plan.latency)
	w.contend(engines, 8, ends, func(a *simAsk) {
		if waited := w.now - a.asked; waited > longest && a.Tag == actor.Acquire {
			w.fail("%s had to wait %v for %s, which nobody holds for long", a.caller.e.name, waited, a)
		}
	})
	if !w.runUntil(ends+2*longest, w.settled) {
		w.unsettled()
	}
}

// pollers lets one engine compete with a client that never listens, as Redisson's spin lock: within two
// rounds of the engine stepping back it finds the lock free.
func (w *simWorld) pollers() {
	o := &simOutsider{w: w, life: -100}
	limit := w.now + 250*time.Millisecond + 20*w.plan.latency
	w.contend(1, 8, limit, func(*simAsk) {})
	var poll func()
	poll = func() {
		if o.try(); !o.holds && w.now < limit {
			w.after(time.Millisecond, poll)
		}
	}
	w.after(time.Millisecond, poll)
	if !w.runUntil(limit, func() bool { return o.holds }) {
		w.fail("a client that polls was shut out for %v", 250*time.Millisecond)
		return
	}
	o.unlock()
	w.runUntil(limit+w.patience(), w.settled)
}

// procession lets everybody queue for a fair lock that is held for longer than most are given: some wait for
// as long as it takes, some for a while. Those who do not give up are granted in the order in which they came.
func (w *simWorld) procession() {
	ends := w.now + 20*simFairWait
	for slot := range w.engines {
		for range 3 {
			w.prober(slot).queues(ends)
		}
	}
	if !w.runUntil(w.now+200*simFairWait, w.settled) {
		w.unsettled()
	}
}

// queues has a caller take a lock again and again, with a wait or without.
func (c *simCaller) queues(ends time.Duration) {
	w := c.e.w
	again := func() {
		a := c.newAsk(actor.Acquire, 0)
		if w.chance(0.5) {
			a.Wait = w.spread(simFairWait, 40*simFairWait)
		}
		c.want(a)
	}
	c.probes = func(a *simAsk) {
		switch {
		case a.Tag == actor.Acquire && a.Err == nil:
			w.after(c.heldAtMost(4*simFairWait), func() { c.change(a.hold, actor.Unlock, 0) })
		case w.now < ends:
			again()
		}
	}
	again()
}
