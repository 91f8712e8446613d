package sim

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// callersCompete has callers of some engines request a lock for a while, each again as soon as it had it. waited
// receives how long each wait took.
func (w *simWorld) callersCompete(engines, callers int, ends time.Duration, waited func(a *simRequest)) {
	for slot := range engines {
		for range callers {
			c := w.prober(slot)
			c.onResult = func(a *simRequest) {
				waited(a)
				if a.Op == actor.Acquire {
					c.change(a.hold, actor.Unlock, 0)
				} else if w.now < ends {
					c.plainLock(0)
				}
			}
			c.plainLock(0)
		}
	}
}

// enginesCompete lets all engines compete. Each gets its turn when another engine reaches its handoff limits.
func (w *simWorld) enginesCompete(engines int) {
	ends := w.now + 110*time.Millisecond + 60*w.plan.latency
	longest := time.Duration(engines-1) * (60*time.Millisecond + 90*w.plan.latency)
	w.callersCompete(engines, 8, ends, func(a *simRequest) {
		if waited := w.now - a.requestedAt; waited > longest && a.Op == actor.Acquire {
			w.fail("%s had to wait %v for %s, which is never held for long", a.caller.e.name, waited, a)
		}
	})
	if !w.runUntil(ends+2*longest, w.settled) {
		w.unsettled()
	}
}

// mixedWaiters has some engines, of which some listen and some poll, request a lock all the time and hold it for a
// moment. The first has several callers, the others have one each. None is shut out, however it learns that the lock is
// free.
func (w *simWorld) mixedWaiters() {
	const callers, moment = 3, time.Millisecond
	ends := w.now + 3*time.Second
	longest := time.Duration(len(w.engines)-1) * (time.Second + 100*w.plan.latency)
	for slot, e := range w.engines {
		number := 1
		if slot == 0 {
			number = callers
		}
		for range number {
			c := w.prober(slot)
			c.onResult = func(a *simRequest) {
				switch {
				case a.Op == actor.Acquire:
					w.checkWait(a, longest)
					w.after(moment, func() { c.change(a.hold, actor.Unlock, 0) })
				case w.now < ends:
					c.plainLock(0)
				}
			}
			c.plainLock(0)
		}
		if e.config.Poll {
			w.cover(coverMixedWaiters)
		}
	}
	all := func() bool {
		for _, e := range w.engines {
			for _, a := range e.requests {
				if a.Op == actor.Acquire {
					w.checkWait(a, longest)
				}
			}
		}
		return w.settled()
	}
	if !w.runUntil(ends+2*longest, all) {
		w.unsettled()
	}
}

// readBesideWriter has one engine write a lock again and again, each time for a moment, beside a reader that comes now
// and then. The reader is in that engine, where it goes before the next writer however the engine learns of
// releases, or in an engine that polls.
func (w *simWorld) readBesideWriter() {
	const most = 6
	moment, longest := time.Millisecond+20*w.plan.latency, 2*time.Second+200*w.plan.latency
	ends, passed := w.now+20*moment, 0
	slot := w.random.IntN(len(w.engines))
	if !w.engines[slot].config.Poll {
		slot = 0
	}
	writer, reader := w.prober(0), w.prober(slot)
	writer.onResult = func(a *simRequest) {
		switch {
		case a.Op == actor.Acquire:
			if passed++; passed > most && slot == 0 {
				w.fail("%s writes %s for the %dth time while another of it waits to read", a.caller.e.name, a, passed)
			}
			w.after(moment, func() { writer.change(a.hold, actor.Unlock, 0) })
		case w.now < ends:
			writer.plainLock(0)
		}
	}
	read := func() *simRequest {
		a := reader.newRequest(actor.Acquire, 0)
		a.Kind = actor.Read
		passed = 0
		reader.want(a)
		return a
	}
	var waits *simRequest
	reader.onResult = func(a *simRequest) {
		if a.Op == actor.Acquire {
			waits = nil
			w.checkWait(a, longest)
			reader.change(a.hold, actor.Unlock, 0)
			return
		}
		w.after(3*moment, func() {
			if passed = 0; w.now < ends {
				waits = read()
			}
		})
	}
	writer.plainLock(0)
	w.after(moment/2, func() { waits = read() })
	w.cover(coverReadBesideWriter)
	served := func() bool {
		if waits != nil {
			ends = max(ends, w.now+moment) // the writer goes on for as long as the reader does
			w.checkWait(waits, longest)
		}
		return w.now > ends && w.settled()
	}
	if !w.runUntil(w.now+10*longest+100*moment, served) {
		w.unsettled()
	}
}

// checkWait checks that a wait among competitors is not too long. An engine that polls needs luck beside engines that
// listen: they are notified of a release and acquire the lock a round trip later. So it may wait longer, if it asks
// as often as it can.
func (w *simWorld) checkWait(a *simRequest, longest time.Duration) {
	waited, e := w.now-a.requestedAt, a.caller.e
	if waited <= longest {
		return
	}
	const keen = 4 * 4 * time.Millisecond // its pause while others have their turns; it takes up to four times that to find that out
	asked := 0
	if e.refused != nil {
		asked = e.refused[a.name] - a.refusals
	}
	if !e.config.Poll || time.Duration(asked)*(keen+4*w.plan.latency) < waited {
		w.fail("%s has waited %v for %s, of which others had their turns all the time, and was told %d times that they have it", e.name, waited, a, asked)
	}
}

// pollers lets one engine compete with a client that never listens, such as Redisson's spin lock. The client finds
// the lock free within two rounds of the engine stepping back.
func (w *simWorld) pollers() {
	o := &simExternalClient{w: w, life: -100}
	limit := w.now + 250*time.Millisecond + 20*w.plan.latency
	w.callersCompete(1, 8, limit, func(*simRequest) {})
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
	w.runUntil(limit+w.maxFreeTime(), w.settled)
}

// longQueueWorld has all callers queue for a fair lock that is held for longer than most of them wait. Some wait
// without a limit. Requests that do not give up are granted in the order in which they came.
func (w *simWorld) longQueueWorld() {
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
		a := c.newRequest(actor.Acquire, 0)
		if w.chance(0.5) {
			a.Wait = w.spread(simFairWait, 40*simFairWait)
		}
		c.want(a)
	}
	c.onResult = func(a *simRequest) {
		switch {
		case a.Op == actor.Acquire && a.Err == nil:
			w.after(c.heldAtMost(4*simFairWait), func() { c.change(a.hold, actor.Unlock, 0) })
		case w.now < ends:
			again()
		}
	}
	again()
}

// shortened has a holder shorten its long lease and die. A waiter that knows only the long lease is granted the
// lock when the short one ends.
func (w *simWorld) shortened() {
	const long, short, calm = time.Minute, 500 * time.Millisecond, 300 * time.Millisecond
	dying, second := w.prober(0), w.prober(1)
	first := dying.newRequest(actor.Acquire, 0)
	first.Kind, first.Lease = w.names[0].kind, long
	dying.want(first)
	w.runFor(calm + 20*w.plan.latency)
	if !first.decided || first.Err != nil {
		w.fail("%s does not get %s, which is not held", dying.e.name, first)
		return
	}
	waits := second.plainLock(0)
	w.runFor(calm + 20*w.plan.latency)
	shorter := dying.change(first.hold, actor.Extend, short)
	w.runUntil(w.now+calm+20*w.plan.latency, func() bool { return shorter.decided })
	dying.e.die()
	w.cover(coverLeaseShortened)
	if !w.runUntil(w.now+short+calm+40*w.plan.latency, func() bool { return waits.decided }) {
		w.fail("%s sleeps for longer than the lease of %s, which was made shorter", second.e.name, waits)
		return
	}
	second.change(waits.hold, actor.Unlock, 0)
	w.runUntil(w.now+w.maxFreeTime(), w.settled)
}
