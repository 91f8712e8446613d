package engine

import (
	"slices"

	"github.com/lockwheel/lockwheel/actor"
)

// looksPerTurn is how many locks a turn looks at of those that all are to be told the same.
const looksPerTurn = 1024

// round goes through all locks that there were when it began, some a turn. The zero round is over. Owned by the coordinator.
type round struct {
	left []*actor.Lock // still to be looked at; they may have ended since
}

// newRound begins one. A few locks are in the order of their keys: a history that is run again is the same history. Very many are in no
// order, since to sort them would take a turn of its own.
func (c *coordinator) newRound() round {
	all := c.allLocks()
	if len(all) <= looksPerTurn {
		slices.SortStableFunc(all, actor.ByKey)
	}
	return round{all}
}

// on reports whether there are locks to be looked at.
func (r *round) on() bool { return len(r.left) > 0 }

// take takes out so many of those that are to be looked at, or what there is.
func (r *round) take(most int) (some []*actor.Lock) {
	most = min(most, len(r.left))
	some, r.left = r.left[:most], r.left[most:]
	if len(r.left) == 0 {
		r.left = nil
	}
	return some
}

// allLocks is a copy of all locks and claims, in no order but that of the claims of one name.
func (c *coordinator) allLocks() []*actor.Lock {
	all := make([]*actor.Lock, 0, c.locks.len()+len(c.groups))
	all = c.locks.appendTo(all)
	for _, g := range c.groups {
		all = append(all, g.all()...)
	}
	return all
}
