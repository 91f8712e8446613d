package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// owners indexes the locks of one name by owner: the owner that requested them, or the one that holds them. It has at
// most as many entries as there are locks.
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

// expected reports whether the quorum with that number waits for one of the locks.
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

// reunite handles requests that wait although their owner has just been granted a lock of the name. They re-enter it or
// read beside it; those that would upgrade from read to write are rejected. All are examined at once, so that
// afterwards no owner waits for itself.
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

// readAlready rejects waiting writers of an owner that was granted the read.
func (c *coordinator) readAlready(now time.Duration, reader *actor.Lock, owner uint64) {
	if reader.Kind() == actor.Read {
		c.refuseUpgrades(now, reader.Key(), owner)
	}
}

// stranded handles requests that re-entered a lock which their owner then lost, and that wait for it again. The owner
// may hold the other half.
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

// rejoinAll moves the waiting requests of one owner from several locks to another one.
func (c *coordinator) rejoinAll(now time.Duration, from []*actor.Lock, to *actor.Lock, owner uint64) {
	for _, other := range from {
		if other != to && other.Kind() == to.Kind() {
			c.rejoin(now, other, to, owner)
		}
	}
}

// besideIts handles requests that wait to read when their owner has just been granted the write: they read beside it.
// One lock acquires for all of them.
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

// numberFree reports whether a reader may use the writer's number.
func (c *coordinator) numberFree(writer *actor.Lock) bool {
	number, g := writer.Tenure(), c.groups[writer.Key()]
	spoils := func(other *actor.Lock) bool { return other.Spoils(number) }
	if g == nil || g.claims.few() {
		return g.first(spoils) == nil && !writer.Spoiled()
	}
	// Only a lock requested by its owner has been beside it: while there are locks in the group, the write is not
	// handed off.
	its := g.owners.claims[writer.Owner()]
	return (its == nil || its.first(spoils) == nil) && !writer.Spoiled()
}

// refuseUpgrades rejects waiting writers of an owner that reads.
func (c *coordinator) refuseUpgrades(now time.Duration, key string, owner uint64) {
	if l := c.locks.of(key); l != nil && l.RefuseUpgrades(now, owner, c.fx) {
		c.step(now, l, &actor.Message{Kind: actor.Nudged})
	}
}

// rejoin moves the waiting requests of an owner from one lock to another.
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
