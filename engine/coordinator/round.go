package coordinator

import (
	"slices"

	"github.com/lockwheel/lockwheel/actor"
)

// maxLocksPerTurn is the maximum number of locks that a turn visits to deliver the same event to many locks.
const maxLocksPerTurn = 1024

// round visits all locks that existed when it began, a bounded number per turn. The zero round is finished. Owned by
// the coordinator.
type round struct {
	Left []*actor.Lock // not visited yet; they may have ended in the meantime
}

// NewRound begins a round. A few locks are sorted by key, so that a repeated simulation takes the same steps. Very many
// are not sorted, because that would take a turn of its own.
func (c *Coordinator) NewRound() round {
	all := c.allLocks()
	if len(all) <= maxLocksPerTurn {
		slices.SortStableFunc(all, actor.ByKey)
	}
	return round{all}
}

// On reports whether there are locks left to visit.
func (r *round) On() bool { return len(r.Left) > 0 }

// take removes and returns at most limit locks of those left to visit.
func (r *round) take(limit int) (some []*actor.Lock) {
	limit = min(limit, len(r.Left))
	some, r.Left = r.Left[:limit], r.Left[limit:]
	if len(r.Left) == 0 {
		r.Left = nil
	}
	return some
}

// allLocks returns a copy of all locks. Only the locks of one lockSet are in their order.
func (c *Coordinator) allLocks() []*actor.Lock {
	all := make([]*actor.Lock, 0, c.Locks.Len()+len(c.LockSets))
	all = c.Locks.appendTo(all)
	for _, set := range c.LockSets {
		all = append(all, set.All()...)
	}
	return all
}
