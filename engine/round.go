package engine

import (
	"slices"

	"github.com/lockwheel/lockwheel/actor"
)

// maxLocksPerTurn is the maximum number of locks that a turn visits to deliver the same event to many locks.
const maxLocksPerTurn = 1024

// round visits all locks that existed when it began, a bounded number per turn. The zero round is finished. Owned by
// the coordinator.
type round struct {
	left []*actor.Lock // not visited yet; they may have ended in the meantime
}

// newRound begins a round. A few locks are sorted by key, so that a repeated simulation takes the same steps. Very many
// are not sorted, because that would take a turn of its own.
func (c *coordinator) newRound() round {
	all := c.allLocks()
	if len(all) <= maxLocksPerTurn {
		slices.SortStableFunc(all, actor.ByKey)
	}
	return round{all}
}

// on reports whether there are locks left to visit.
func (r *round) on() bool { return len(r.left) > 0 }

// take removes and returns at most most locks of those left to visit.
func (r *round) take(most int) (some []*actor.Lock) {
	most = min(most, len(r.left))
	some, r.left = r.left[:most], r.left[most:]
	if len(r.left) == 0 {
		r.left = nil
	}
	return some
}

// allLocks returns a copy of all locks. Only the locks of one group are in their order.
func (c *coordinator) allLocks() []*actor.Lock {
	all := make([]*actor.Lock, 0, c.locks.len()+len(c.lockSets))
	all = c.locks.appendTo(all)
	for _, g := range c.lockSets {
		all = append(all, g.all()...)
	}
	return all
}
