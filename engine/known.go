package engine

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// known indexes the locks of a name once they are very many, so that finding one does not examine the others. It is
// updated with each step and is as large as the group. Owned by the coordinator.
type known struct {
	holders owners  // by the owner that holds them or did
	held    claims  // those that are held, and some that were
	tenures tenures // by tenure
}

// many returns the indexes, and builds them on first use.
func (g *group) many() *known {
	if g.known == nil {
		g.known = &known{}
		for _, l := range g.all() {
			g.known.claimed(l)
			for _, tenure := range l.Numbers() {
				g.known.tenures.add(l, tenure)
			}
		}
	}
	return g.known
}

// claimed updates the owner of a lock.
func (k *known) claimed(l *actor.Lock) {
	k.holders.remove(l)
	k.holders.add(l, l.Owner())
	if l.Granted() && !k.held.has(l) {
		k.held.add(l)
	}
}

func (k *known) remove(l *actor.Lock) {
	k.holders.remove(l)
	k.held.remove(l)
	k.tenures.remove(l)
}

// believed returns a copy of the locks that are validly held. It removes those that are no longer held: each is removed
// at most once per grant.
func (k *known) believed(now time.Duration) (some []*actor.Lock) {
	for _, l := range k.held.all() {
		switch {
		case l.Believed(now):
			some = append(some, l)
		case !l.Granted():
			k.held.remove(l)
		}
	}
	return some
}

// claimed updates the indexes with new owners of locks, new tenures, and new orphans.
func (c *coordinator) claimed() {
	for i, l := range c.fx.Claimed {
		if g := c.groups[l.Key()]; g != nil && g.known != nil {
			g.known.claimed(l)
		}
		c.fx.Claimed[i] = nil
	}
	for i, n := range c.fx.Numbered {
		if g := c.groups[n.Lock.Key()]; g != nil && g.known != nil {
			g.known.tenures.add(n.Lock, n.Tenure)
		}
		c.fx.Numbered[i] = actor.Numbered{}
	}
	c.fx.Claimed, c.fx.Numbered = c.fx.Claimed[:0], c.fx.Numbered[:0]
}

// tenures indexes locks by their tenures and by the orphans that they are to release. A lock has few of them.
type tenures struct {
	claims map[uint64]*actor.Lock
	of     map[*actor.Lock][]uint64
}

// add adds a tenure of a lock and removes those that the lock no longer has.
func (t *tenures) add(l *actor.Lock, tenure uint64) {
	if t.of == nil {
		t.claims, t.of = make(map[uint64]*actor.Lock), make(map[*actor.Lock][]uint64)
	}
	t.of[l] = append(slices.DeleteFunc(t.of[l], func(old uint64) bool {
		over := old == tenure || !l.Knows(old) && !l.Haunted(old)
		if over {
			t.forget(l, old)
		}
		return over
	}), tenure)
	t.claims[tenure] = l
}

func (t *tenures) remove(l *actor.Lock) {
	for _, tenure := range t.of[l] {
		t.forget(l, tenure)
	}
	delete(t.of, l)
}

func (t *tenures) forget(l *actor.Lock, tenure uint64) {
	if t.claims[tenure] == l {
		delete(t.claims, tenure)
	}
}

// having returns the lock with that tenure, or nil.
func (t *tenures) having(tenure uint64) *actor.Lock {
	if l := t.claims[tenure]; l != nil && (l.Knows(tenure) || l.Haunted(tenure)) {
		return l
	}
	return nil
}
