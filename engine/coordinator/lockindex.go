package coordinator

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// lockIndex indexes the locks of a name once they are very many, so that finding one does not examine the others. It is
// updated with each step and is as large as the lockSet. The zero value is that of an empty lockSet; needIndex builds
// the one of others. Owned by the coordinator.
type lockIndex struct {
	byOwner  ownerIndex  // by the owner that holds them or did
	held     lockList    // those that are held, and some that were
	byTenure tenureIndex // by tenure
}

// needIndex returns the indexes, and builds them on first use.
func (s *lockSet) needIndex() *lockIndex {
	if s.index == nil {
		s.index = &lockIndex{}
		for _, l := range s.All() {
			s.index.noteOwner(l)
			for _, tenure := range l.Tenures() {
				s.index.byTenure.add(l, tenure)
			}
		}
	}
	return s.index
}

// noteOwner updates the owner of a lock.
func (ix *lockIndex) noteOwner(l *actor.Lock) {
	ix.byOwner.remove(l)
	ix.byOwner.add(l, l.Owner())
	if l.HasOwner() && !ix.held.has(l) {
		ix.held.add(l)
	}
}

func (ix *lockIndex) remove(l *actor.Lock) {
	ix.byOwner.remove(l)
	ix.held.remove(l)
	ix.byTenure.remove(l)
}

// heldAt returns a copy of the locks that are validly held. It removes those that are no longer held: each is removed
// at most once per grant.
func (ix *lockIndex) heldAt(now time.Duration) (some []*actor.Lock) {
	for _, l := range ix.held.all() {
		switch {
		case l.HeldAt(now):
			some = append(some, l)
		case !l.HasOwner():
			ix.held.remove(l)
		}
	}
	return some
}

// updateIndexes updates the indexes with new owners of locks, new tenures, and new orphans.
func (c *Coordinator) updateIndexes() {
	for i, l := range c.Fx.OwnerChanged {
		if set := c.LockSets[l.Key()]; set != nil && set.index != nil {
			set.index.noteOwner(l)
		}
		c.Fx.OwnerChanged[i] = nil
	}
	for i, n := range c.Fx.NewTenures {
		if set := c.LockSets[n.Lock.Key()]; set != nil && set.index != nil {
			set.index.byTenure.add(n.Lock, n.Tenure)
		}
		c.Fx.NewTenures[i] = actor.LockTenure{}
	}
	c.Fx.OwnerChanged, c.Fx.NewTenures = c.Fx.OwnerChanged[:0], c.Fx.NewTenures[:0]
}

// tenureIndex indexes locks by their tenures and by the orphans that they are to release. A lock has few of them. The
// zero value is empty. Owned by the coordinator.
type tenureIndex struct {
	locks   map[uint64]*actor.Lock
	tenures map[*actor.Lock][]uint64
}

// add adds a tenure of a lock and removes those that the lock no longer has.
func (t *tenureIndex) add(l *actor.Lock, tenure uint64) {
	if t.tenures == nil {
		t.locks, t.tenures = make(map[uint64]*actor.Lock), make(map[*actor.Lock][]uint64)
	}
	t.tenures[l] = append(slices.DeleteFunc(t.tenures[l], func(old uint64) bool {
		over := old == tenure || !l.OwnsTenure(old) && !l.IsOrphan(old)
		if over {
			t.forget(l, old)
		}
		return over
	}), tenure)
	t.locks[tenure] = l
}

func (t *tenureIndex) remove(l *actor.Lock) {
	for _, tenure := range t.tenures[l] {
		t.forget(l, tenure)
	}
	delete(t.tenures, l)
}

func (t *tenureIndex) forget(l *actor.Lock, tenure uint64) {
	if t.locks[tenure] == l {
		delete(t.locks, tenure)
	}
}

// withTenure returns the lock with that tenure, or nil.
func (t *tenureIndex) withTenure(tenure uint64) *actor.Lock {
	if l := t.locks[tenure]; l != nil && (l.OwnsTenure(tenure) || l.IsOrphan(tenure)) {
		return l
	}
	return nil
}
