package engine

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// known is what is looked for among very many claims on one name, so that no other one is looked at: kept up with each step, and
// as large as the claims.
type known struct {
	holders owners  // of those that are held or were
	held    claims  // those that are held, and some that were
	tenures tenures // by their numbers in Redis
}

// many is what is known of very many claims.
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

// claimed takes in who has a claim now.
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

// believed is a copy of those that are held at that moment. Those that are no more go: each is granted once before.
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

// claimed takes in claims that have another owner now, and numbers that claims have since, or are to release.
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

// tenures are claims by the numbers that they have in Redis, or are to release. Of each claim they are few.
type tenures struct {
	claims map[uint64]*actor.Lock
	of     map[*actor.Lock][]uint64
}

// add takes in a number, and lets go of those that the claim has no more.
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

// having is the claim with that number; nil if there is none.
func (t *tenures) having(tenure uint64) *actor.Lock {
	if l := t.claims[tenure]; l != nil && (l.Knows(tenure) || l.Haunted(tenure)) {
		return l
	}
	return nil
}
