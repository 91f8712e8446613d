package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// owners are the claims of one name by an owner: by the one that asked for them, of requests that carried one, or by the one that has
// them. As many as there are claims at most.
type owners struct {
	claims map[uint64]*claims
	of     map[*actor.Lock]uint64
}

func (o *owners) add(l *actor.Lock, owner uint64) {
	if owner == 0 {
		return
	}
	if o.of == nil {
		o.claims, o.of = make(map[uint64]*claims), make(map[*actor.Lock]uint64)
	}
	if o.claims[owner] == nil {
		o.claims[owner] = &claims{}
	}
	o.claims[owner].add(l)
	o.of[l] = owner
}

func (o *owners) remove(l *actor.Lock) {
	owner, has := o.of[l]
	if !has {
		return
	}
	delete(o.of, l)
	if o.claims[owner].remove(l); o.claims[owner].len() == 0 {
		delete(o.claims, owner)
	}
}

// expected reports whether a quorum of that number waits for a claim.
func (c *coordinator) expected(key string, owner uint64) bool {
	g := c.groups[key]
	if g == nil || g.owners.claims[owner] == nil {
		return false
	}
	return g.owners.claims[owner].first(func(l *actor.Lock) bool {
		r := l.Waiting(owner)
		return r != nil && r.Own
	}) != nil
}

// reunite lets who waits as the owner of a lock that was just granted re-enter that one, or read beside it, and refuses
// who waits to become the writer of what it reads. All are looked at once: then none of that owner waits for itself.
func (c *coordinator) reunite(now time.Duration) {
	for len(c.fx.Reunites) > 0 {
		last := len(c.fx.Reunites) - 1
		l, owner := c.fx.Reunites[last].Lock, c.fx.Reunites[last].Owner
		c.fx.Reunites[last] = actor.Reunite{}
		c.fx.Reunites = c.fx.Reunites[:last]
		g := c.groups[l.Key()]
		switch {
		case g == nil:
		case l.CountOf(owner, now) == 0:
			c.stranded(now, l, owner)
		case l.Kind() == actor.Write:
			c.besideIts(now, l, g.owners.claims[owner], owner)
		default:
			c.readAlready(now, l, owner)
			if its := g.owners.claims[owner]; its != nil && its.len() > 1 {
				c.rejoinAll(now, its.all(), l, owner)
			}
		}
	}
}

// readAlready refuses those who wait to write as an owner who was granted the read.
func (c *coordinator) readAlready(now time.Duration, reader *actor.Lock, owner uint64) {
	if reader.Kind() == actor.Read {
		c.refuseUpgrades(now, reader.Key(), owner)
	}
}

// stranded looks after those who re-entered what their owner lost meanwhile, and wait for it again: the owner may have the
// other half.
func (c *coordinator) stranded(now time.Duration, l *actor.Lock, owner uint64) {
	if l.Kind() == actor.Write {
		if c.groups[l.Key()].holding(owner, actor.Read, now) != nil {
			c.refuseUpgrades(now, l.Key(), owner)
		}
		return
	}
	if l.Kind() != actor.Read {
		return
	}
	if writer := c.locks.of(l.Key()); writer != nil && writer.CountOf(owner, now) > 0 && l.Waiting(owner) != nil {
		l.GoBeside(now, writer, c.numberFree(writer))
		c.step(now, l, &actor.Message{Kind: actor.Nudged})
	}
}

// rejoinAll moves those who wait for claims as one owner to another of them.
func (c *coordinator) rejoinAll(now time.Duration, from []*actor.Lock, to *actor.Lock, owner uint64) {
	for _, other := range from {
		if other != to && other.Kind() == to.Kind() {
			c.rejoin(now, other, to, owner)
		}
	}
}

// besideIts lets those who wait to read as the owner of a writer that was just granted read beside it: one claim asks for
// all of them.
func (c *coordinator) besideIts(now time.Duration, writer *actor.Lock, its *claims, owner uint64) {
	if its == nil {
		return
	}
	to := its.first(func(l *actor.Lock) bool { return l.Kind() == actor.Read && l.Waiting(owner) != nil })
	if to == nil {
		return
	}
	to.GoBeside(now, writer, c.numberFree(writer))
	c.rejoinAll(now, its.all(), to, owner)
	if to.Key() != "" {
		c.step(now, to, &actor.Message{Kind: actor.Nudged})
	}
}

// numberFree reports whether a reader may have the writer's number.
func (c *coordinator) numberFree(writer *actor.Lock) bool {
	number, g := writer.Tenure(), c.groups[writer.Key()]
	spoils := func(other *actor.Lock) bool { return other.Spoils(number) }
	if g == nil || g.claims.few() {
		return g.first(spoils) == nil && !writer.Spoiled()
	}
	// Only who asked as its owner has been beside it: while there are claims it is not handed on.
	its := g.owners.claims[writer.Owner()]
	return (its == nil || its.first(spoils) == nil) && !writer.Spoiled()
}

// refuseUpgrades refuses those who wait to write as an owner who reads.
func (c *coordinator) refuseUpgrades(now time.Duration, key string, owner uint64) {
	if l := c.locks.of(key); l != nil && l.RefuseUpgrades(now, owner, c.fx) {
		c.step(now, l, &actor.Message{Kind: actor.Nudged})
	}
}

// rejoin moves those who wait for a claim to another one.
func (c *coordinator) rejoin(now time.Duration, from, to *actor.Lock, owner uint64) {
	moved := false
	for r := from.Waiting(owner); r != nil; r = from.Waiting(owner) {
		c.step(now, to, &actor.Message{Kind: actor.Rejoins, Request: r})
		moved = true
	}
	if moved {
		c.step(now, from, &actor.Message{Kind: actor.Nudged})
	}
}
