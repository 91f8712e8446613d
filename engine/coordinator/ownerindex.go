package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// ownerIndex indexes the locks of one name by owner: the owner that requested them, or the one that holds them. It has
// at most as many entries as there are locks. The zero value is empty. Owned by the coordinator.
type ownerIndex struct {
	locks  map[uint64]*lockList
	owners map[*actor.Lock]uint64
}

func (o *ownerIndex) add(l *actor.Lock, owner uint64) {
	if owner == 0 {
		return
	}
	if o.owners == nil {
		o.locks, o.owners = make(map[uint64]*lockList), make(map[*actor.Lock]uint64)
	}
	if o.locks[owner] == nil {
		o.locks[owner] = &lockList{}
	}
	o.locks[owner].add(l)
	o.owners[l] = owner
}

func (o *ownerIndex) remove(l *actor.Lock) {
	owner, has := o.owners[l]
	if !has {
		return
	}
	delete(o.owners, l)
	if o.locks[owner].remove(l); o.locks[owner].len() == 0 {
		delete(o.locks, owner)
	}
}

// expected reports whether the quorum with that number waits for one of the locks.
func (c *Coordinator) expected(key string, owner uint64) bool {
	set := c.LockSets[key]
	if set == nil || set.owners.locks[owner] == nil {
		return false
	}
	return set.owners.locks[owner].first(func(l *actor.Lock) bool {
		r := l.FirstWaiting(owner)
		return r != nil && r.OfQuorum
	}) != nil
}

// runReentryChecks handles requests that wait although their owner has just been granted a lock of the name. They
// re-enter it or read beside it; those that would upgrade from read to write are rejected. All are examined at once, so
// that afterwards no owner waits for itself.
func (c *Coordinator) runReentryChecks(now time.Duration) {
	for len(c.Fx.ReentryChecks) > 0 {
		last := len(c.Fx.ReentryChecks) - 1
		l, owner := c.Fx.ReentryChecks[last].Lock, c.Fx.ReentryChecks[last].Owner
		c.Fx.ReentryChecks[last] = actor.ReentryCheck{}
		c.Fx.ReentryChecks = c.Fx.ReentryChecks[:last]
		set := c.LockSets[l.Key()]
		switch {
		case set == nil:
		case l.HoldCount(owner, now) == 0:
			c.resumeAfterLoss(now, l, owner)
		case l.Kind() == actor.Write:
			c.readUnderWriter(now, l, set.owners.locks[owner], owner)
		default:
			c.rejectUpgradesOfReader(now, l, owner)
			if owned := set.owners.locks[owner]; owned != nil && owned.len() > 1 {
				c.rejoinAll(now, owned.all(), l, owner)
			}
			if l.Kind().Queues() {
				c.separate(now, l)
			}
		}
	}
}

// rejectUpgradesOfReader rejects waiting writers of an owner that was granted the read.
func (c *Coordinator) rejectUpgradesOfReader(now time.Duration, reader *actor.Lock, owner uint64) {
	if reader.Kind() == actor.Read {
		c.rejectUpgrades(now, reader.Key(), owner)
	}
}

// resumeAfterLoss handles requests that re-entered a lock which their owner then lost, and that wait for it again. The
// owner may hold the other half, or may have been granted another read meanwhile.
func (c *Coordinator) resumeAfterLoss(now time.Duration, l *actor.Lock, owner uint64) {
	if l.Kind() == actor.Write {
		if c.LockSets[l.Key()].heldBy(owner, actor.Read, now) != nil {
			c.rejectUpgrades(now, l.Key(), owner)
		}
		return
	}
	if l.Kind() != actor.Read {
		return
	}
	if writer := c.Locks.Get(l.Key()); writer != nil && writer.HoldCount(owner, now) > 0 && l.FirstWaiting(owner) != nil {
		l.ContinueUnderWriter(now, writer, c.numberFree(writer))
		c.step(now, l, &actor.Message{Event: actor.Recheck})
		return
	}
	if other := c.LockSets[l.Key()].heldBy(owner, actor.Read, now); other != nil {
		c.rejoin(now, l, other, owner)
	}
}

// separate moves all requests that wait at a fair lock to one of their own. They were re-entering when its last owner
// lost it, and another of them is its owner now. So they need a place in the queue.
func (c *Coordinator) separate(now time.Duration, from *actor.Lock) {
	r := from.NextWaiting()
	if r == nil {
		return
	}
	to := c.addLock(r)
	for ; r != nil; r = from.NextWaiting() {
		c.step(now, to, &actor.Message{Event: actor.Transferred, Request: r})
	}
	c.step(now, from, &actor.Message{Event: actor.Recheck})
}

// rejoinAll moves the waiting requests of one owner from several locks to another one.
func (c *Coordinator) rejoinAll(now time.Duration, from []*actor.Lock, to *actor.Lock, owner uint64) {
	for _, other := range from {
		if other != to && other.Kind() == to.Kind() {
			c.rejoin(now, other, to, owner)
		}
	}
}

// readUnderWriter handles requests that wait to read when their owner has just been granted the write: they read beside
// it. One lock acquires for all of them.
func (c *Coordinator) readUnderWriter(now time.Duration, writer *actor.Lock, owned *lockList, owner uint64) {
	if owned == nil {
		return
	}
	to := owned.first(func(l *actor.Lock) bool { return l.Kind() == actor.Read && l.FirstWaiting(owner) != nil })
	if to == nil {
		return
	}
	to.ContinueUnderWriter(now, writer, c.numberFree(writer))
	c.rejoinAll(now, owned.all(), to, owner)
	if to.Key() != "" {
		c.step(now, to, &actor.Message{Event: actor.Recheck})
	}
}

// numberFree reports whether a reader may use the writer's number.
func (c *Coordinator) numberFree(writer *actor.Lock) bool {
	number, set := writer.Tenure(), c.LockSets[writer.Key()]
	spoils := func(other *actor.Lock) bool { return other.UsesNumber(number) }
	if set == nil || set.locks.isSmall() {
		return set.First(spoils) == nil && !writer.NumberBurned()
	}
	// Only a lock requested by its owner has been beside it: while there are locks in the lockSet, the write is not
	// handed off.
	owned := set.owners.locks[writer.Owner()]
	return (owned == nil || owned.first(spoils) == nil) && !writer.NumberBurned()
}

// rejectUpgrades rejects waiting writers of an owner that reads.
func (c *Coordinator) rejectUpgrades(now time.Duration, key string, owner uint64) {
	if l := c.Locks.Get(key); l != nil && l.RejectUpgrades(now, owner, c.Fx) {
		c.step(now, l, &actor.Message{Event: actor.Recheck})
	}
}

// rejoin moves the waiting requests of an owner from one lock to another.
func (c *Coordinator) rejoin(now time.Duration, from, to *actor.Lock, owner uint64) {
	moved := false
	for r := from.FirstWaiting(owner); r != nil; r = from.FirstWaiting(owner) {
		c.step(now, to, &actor.Message{Event: actor.Transferred, Request: r})
		moved = true
	}
	if moved {
		c.step(now, from, &actor.Message{Event: actor.Recheck})
	}
}
