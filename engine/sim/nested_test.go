package sim

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// probeInner has an owner hold a lock and, for a while, once more inside, to write or to read, in each combination.
// The checks of TTLs (fits, overstays) look meanwhile.
func (w *simWorld) probeInner(name int, within time.Duration) {
	kind := w.names[name].kind
	outers, inners := []actor.LockKind{kind}, []actor.LockKind{kind}
	if kind == actor.Write {
		outers, inners = append(outers, actor.Read), append(inners, actor.Read)
	}
	for _, outer := range outers {
		for _, inner := range inners {
			if outer != actor.Read || inner == actor.Read {
				w.probeInside(name, outer, inner, within)
			}
		}
	}
}

func (w *simWorld) probeInside(name int, outer, inner actor.LockKind, within time.Duration) {
	const long, most = 95 * time.Second, 45 * time.Second // beyond that, a fast clock would rely on a lease for longer than it lasts
	c := w.prober(w.random.IntN(len(w.engines)))
	falls := c.e.config.CallTimeout + 200*time.Millisecond + 60*w.plan.latency
	mostly := min(4*falls+4*c.e.config.Lease, most) // the lease of the hold that stays, unless it is watched
	var holds []*simHold
	take := func(kind actor.LockKind, lease time.Duration) bool {
		a := c.newRequest(actor.Acquire, name)
		if a.Kind, a.Lease = kind, lease; len(holds) > 0 {
			a.Owner = holds[0].grant.Owner
		}
		c.want(a)
		if !w.runUntil(w.now+within, func() bool { return a.decided }) || a.Err != nil {
			w.fail("%s does not get %s, which has no other holder, within %v", c.e.name, a, within)
			return false
		}
		holds = append(holds, a.hold)
		return true
	}
	of := func() time.Duration {
		if c.e.config.MaxHold != 0 || w.chance(0.5) {
			return mostly
		}
		return 0
	}
	if !take(outer, of()) || w.chance(0.3) && inner != outer && !take(inner, of()) || !take(inner, long) {
		return
	}
	if last := holds[len(holds)-1]; w.chance(0.5) {
		holds = holds[:len(holds)-1]
		c.change(last, actor.Unlock, 0)
	} else {
		c.change(last, actor.Extend, mostly)
	}
	w.runFor(within)
	w.checkNames()
	w.runFor(falls)
	w.checkNames()
	for len(holds) > 0 {
		last := len(holds) - 1
		c.change(holds[last], actor.Unlock, 0)
		holds = holds[:last]
	}
	w.runUntil(w.now+w.maxFreeTime(), w.settled)
}
