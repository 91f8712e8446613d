package sim

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/wire"
)

// simFault is one kind of fault, for a while or at one moment.
type simFault struct {
	name   string
	loses  bool // it takes locks away from their holders
	do     func(w *simWorld)
	number int // index in simFaults
}

var simFaults []simFault

func init() { // not at the declaration: faults use functions that read simFaults
	simFaults = []simFault{
		{name: "break", do: func(w *simWorld) {
			notice := w.notice()
			w.disturb(notice)
			w.engine().conn.breakConn(notice)
		}},
		{name: "stall", do: func(w *simWorld) {
			e := w.engine()
			d := w.spread(time.Millisecond, e.config.Lease*3/2)
			e.tracef("the connection stalls for %v", d)
			e.conn.stalled = max(e.conn.stalled, w.now+d)
			w.disturb(d)
			if w.chance(0.5) {
				w.after(d, func() { e.conn.breakConn(0) })
			}
		}},
		{name: "pubsubdown", do: func(w *simWorld) {
			notice := w.notice()
			w.disturb(notice)
			w.engine().pubsub.breakConns(notice)
		}},
		{name: "pause", do: func(w *simWorld) {
			e := w.engine()
			e.pause(w.spread(time.Millisecond, 3*e.config.Lease))
		}},
		{name: "suspend", do: func(w *simWorld) {
			w.engine().suspendLong()
		}},
		{name: "crash", do: func(w *simWorld) {
			e := w.engine()
			e.tracef("crashes")
			e.die()
		}},
		{name: "close", do: func(w *simWorld) { w.engine().callers[0].ask(coordinator.AskClose, 0) }},
		{name: "shutdown", do: func(w *simWorld) {
			c := simPick(w, w.engine().callers)
			if len(c.holds) > 0 { // a caller that re-enters just now is notified, too
				c.reenter(c.holds[0], w.plan.longest)
			}
			c.ask(coordinator.AskShutdown, 0)
		}},
		{name: "flush", do: func(w *simWorld) { w.server.cached = [len(wire.Specs)]bool{} }},
		{name: "freeze", do: func(w *simWorld) { w.server.freeze(w.faultDuration(3 * w.plan.lease)) }},
		{name: "restart", do: func(w *simWorld) {
			w.server.goDown(w.faultDuration(w.plan.lease))
			w.server.restart(w.server.copy())
		}},
		{name: "wipe", loses: true, do: func(w *simWorld) {
			w.server.goDown(w.faultDuration(w.plan.lease))
			w.server.restart(newSimData(len(w.names)))
		}},
		{name: "stale", loses: true, do: func(w *simWorld) {
			if w.server.saved == nil {
				w.server.save()
				return
			}
			w.server.restart(w.server.saved.copy())
			w.server.saved = nil
		}},
		{name: "failover", loses: true, do: func(w *simWorld) {
			lag := w.spread(w.plan.latency, 2*w.plan.lease)
			w.tracef("its replica is %v behind", lag)
			w.server.goDown(w.faultDuration(w.plan.lease))
			w.server.restart(w.server.before(w.now - lag))
		}},
		{name: "busy", do: func(w *simWorld) {
			w.server.forcedError = simPick(w, []string{"BUSY Redis is busy running a script.", "CLUSTERDOWN The cluster is down", "NOAUTH Authentication required."})
			w.server.forcedErrorUntil = w.now + w.faultDuration(w.plan.lease)
		}},
		{name: "oom", do: func(w *simWorld) { w.server.full = w.now + w.faultDuration(3*w.plan.lease) }},
		{name: "readonly", do: func(w *simWorld) {
			w.server.writeError = simPick(w, []string{"READONLY You can't write against a read only replica.", "MISCONF Errors writing to disk"})
			w.server.writesRejectedUntil = w.now + w.faultDuration(w.plan.lease)
		}},
		{name: "noperm", do: func(w *simWorld) {
			w.server.forbiddenName = w.random.IntN(len(w.plan.names))
			w.server.forbiddenUntil = w.now + w.faultDuration(w.plan.lease/2)
		}},
		{name: "mute", do: func(w *simWorld) { w.server.publishForbiddenUntil = w.now + w.faultDuration(w.plan.lease) }},
		{name: "delete", loses: true, do: func(w *simWorld) { w.server.takeKey(w.name(), simKey{}) }},
		{name: "retype", loses: true, do: func(w *simWorld) {
			name := w.name()
			w.server.takeKey(name, simKey{exists: true, expires: simForever})
			d := w.faultDuration(w.plan.lease)
			w.after(d, func() {
				if w.server.keys[name].foreign() {
					w.server.takeKey(name, simKey{})
				}
			})
		}},
		{name: "shorten", loses: true, do: func(w *simWorld) {
			name := w.name()
			if k := *w.server.key(name); k.exists && k.holder.life >= 0 {
				k.expires = min(k.expires, w.server.clock()+1)
				w.server.takeKey(name, k)
			}
		}},
		{name: "unlist", do: func(w *simWorld) { w.server.unlist(w.name()) }},
		{name: "forge", do: func(w *simWorld) { // any client may say that a lock was forced
			e := w.engine()
			for range 1 + w.random.IntN(20) {
				w.after(w.spread(w.plan.latency, w.plan.lease), func() { e.isTold(w.name()) })
			}
		}},
		{name: "persist", loses: true, do: func(w *simWorld) {
			name := w.name()
			if k := w.server.key(name); k.exists {
				w.unheard(name, k.expires)
				w.server.note(name)
				k.expires = simForever
				w.model.prolonged(k)
			}
		}},
	}
	for number := range simFaults {
		simFaults[number].number = number
	}
}

// scheduleFault makes one of the plan's faults happen after a while, again and again.
func (w *simWorld) scheduleFault() {
	if len(w.plan.faults) == 0 {
		return
	}
	w.after(w.spread(w.plan.faultEvery/8, w.plan.faultEvery), func() {
		if len(w.plan.faults) == 0 {
			return // the part with faults is over
		}
		f := simPick(w, w.plan.faults)
		w.scheduleFault()
		if !w.may("fault", f.name) {
			return
		}
		w.tracef("fault: %s", f.name)
		w.disturb(0)
		f.do(w)
		w.model.faultCounts[f.number]++
	})
}

// suspendLong suspends an engine for long enough to be noticed.
func (e *simEngine) suspendLong() {
	const least = 500 * time.Millisecond
	e.w.cover(coverClockStall)
	e.suspend(e.w.between(least+time.Millisecond, least+3*e.w.plan.lease))
}

func (w *simWorld) engine() *simEngine { return simPick(w, w.engines) }

func (w *simWorld) name() int { return w.random.IntN(len(w.plan.names)) }

// notice returns for how long a broken connection goes unnoticed.
func (w *simWorld) notice() time.Duration {
	if w.chance(0.5) {
		return 0
	}
	return w.spread(time.Millisecond, 2*w.plan.lease/3)
}

// faultDuration returns how long a fault lasts, during which nothing can be expected.
func (w *simWorld) faultDuration(most time.Duration) time.Duration {
	d := w.spread(time.Millisecond, most)
	w.disturb(d)
	w.tracef("for %v", d)
	return d
}

// unlist removes the list of a queue. The times stay, and so does the engines' record of the places that they keep
// up.
func (s *simServer) unlist(name int) {
	if queue := s.queues[name]; len(queue) > 0 {
		s.w.cover(coverListLost)
		s.strayPlaces[name] = slices.Concat(s.strayPlaces[name], queue)
		s.queue(name, nil) // times alone live no longer than they did
	}
}

func (s *simServer) freeze(d time.Duration) { s.frozen = max(s.frozen, s.w.now+d) }

// goDown makes the server unreachable for a while, and then loading for another.
func (s *simServer) goDown(d time.Duration) {
	s.down = s.w.now + d
	if s.w.chance(0.5) {
		s.forcedError, s.forcedErrorUntil = "LOADING Redis is loading the dataset in memory", s.down+s.w.faultDuration(d+time.Millisecond)
		s.w.disturb(s.forcedErrorUntil - s.w.now)
	}
}

func simFaultNamed(name string) simFault {
	return simFaults[slices.IndexFunc(simFaults, func(f simFault) bool { return f.name == name })]
}
