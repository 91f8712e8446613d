package sim

import (
	"github.com/lockwheel/lockwheel/actor"
)

// limited gives some worlds a limit of waiters, except worlds about a caller that must get the lock in the end.
func (p *simPlan) limited(seed uint64) {
	drawn := simRandom{simMixed(seed, 5)}
	if drawn.IntN(8) != 0 || p.bulkLocks != 0 || p.quorumUsers != 0 || p.spinning {
		return
	}
	p.waiting, p.waitingEach = 1+drawn.IntN(2*p.callers), 1+drawn.IntN(p.callers)
}

// unlimited removes the limit, because the checks that follow look at every lock.
func (w *simWorld) unlimited() {
	w.plan.waiting, w.plan.waitingEach = 0, 0
	for _, e := range w.engines {
		c := &e.c.Fx.Config
		c.MaxWaiting, c.MaxWaitingPerLock = 0, 0
	}
}

// newWaiters counts the locks that are requested without a result by callers without an owner, which could re-enter
// nothing. most is the largest number of these requests that wait for one name to read or to write.
func (e *simEngine) newWaiters() (all, most int) {
	type kindOf struct {
		name int
		read bool
	}
	each := make(map[kindOf]int)
	for _, a := range e.requests {
		if a.Op != actor.Acquire || a.hasOwner() || !a.Handled() {
			continue
		}
		all += len(a.of())
		if a.parts == nil {
			k := kindOf{a.name, a.Kind == actor.Read}
			each[k]++
			most = max(most, each[k])
		}
	}
	return all, most
}

// bounds checks that at most the allowed number of requests wait.
func (e *simEngine) bounds() {
	limit, each := e.c.Fx.Config.MaxWaiting, e.c.Fx.Config.MaxWaitingPerLock
	if s := e.c.Fx.Stats.Shed; s != e.shed {
		e.w.fail("%s counts %d that it refused because too many wait, and has told %d so", e.name, s, e.shed)
	}
	if limit == 0 {
		return
	}
	all, most := e.newWaiters()
	if all > limit {
		e.w.fail("%s has %d locks asked for, and may have %d", e.name, all, limit)
	}
	if most > each && e.w.plan.silence == 0 { // a request that waits for a grant to be undone is not counted
		e.w.fail("%s has %d who wait for one name, and may have %d", e.name, most, each)
	}
}

// shedding checks the result of a request beyond the limit: enough others waited before, and the request was never
// queued.
func (e *simEngine) shedding(a *simRequest) {
	if a.Op == actor.Acquire {
		e.decides += len(a.of())
	}
	if a.Err != actor.ErrTooManyWaiters {
		return
	}
	e.w.cover(coverShed)
	e.shed += uint64(len(a.of()))
	wanted, same := e.decides, 1 // including those decided in this turn
	for _, other := range e.requests {
		if other.Op == actor.Acquire {
			wanted += len(other.of())
			if other.meets(a) {
				same++
			}
		}
	}
	c := &e.config
	switch {
	case c.MaxWaiting == 0:
		e.w.fail("%s refuses %s, as if there were a bound for those who wait", e.name, a)
	case a.Lock() != nil:
		e.w.fail("%s lets %s wait, and refuses it then because too many wait", e.name, a)
	case wanted <= c.MaxWaiting && same+e.decides <= c.MaxWaitingPerLock:
		e.w.fail("%s refuses %s because too many wait, of %d (%d for its name), and %d may wait (%d)", e.name, a, wanted, same, c.MaxWaiting, c.MaxWaitingPerLock)
	}
	for _, h := range e.holds {
		if a.Owner != 0 && h.grant.Owner == a.Owner && h.name == a.name && h.reads == a.hold.reads && h.believed() && !h.unconfirmed {
			e.w.fail("%s refuses %s because too many wait, and its owner has %s", e.name, a, h)
		}
	}
}
