package coordinator

import (
	"strconv"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// releaseOtherHalf checks whether a read/write lock was rejected because of a tenure of this engine in the other half
// that has no holder. If so, it has the tenure released, and the lock is acquired again at once. A tenure that is being
// acquired, held or released is left alone. A caller that tries once tries again if no caller has or wants any of them.
// It may have unlocked the other half itself, with UnlockAsync, and the release left in another batch. Or it has given
// up its acquire of the other half, and the reply to that has not come yet.
func (c *Coordinator) releaseOtherHalf(now time.Duration, command *actor.Command, reply *actor.Reply) {
	l := command.Lock
	if command.Tenure != l.Tenure() || command.Verb != l.InFlight() {
		return // the reply describes the lock when another tenure was requested
	}
	givenUp, inUse := false, false
	note := func(owner *actor.Lock) {
		givenUp = givenUp || owner.IsGivenUp()
		inUse = inUse || !owner.IsGivenUp()
		c.hastenRelease(now, owner, l)
	}
	if tenure, own := c.Fx.ParseOwn(reply.Writer); own {
		if writer := c.Locks.Get(l.Key()); writer != nil && writer.OwnsTenure(tenure) {
			note(writer)
		} else {
			reply.HolderReleasing = c.releaseOrphanWriter(now, l.Key(), tenure, reply.TTL)
		}
	}
	for text := range strings.FieldsSeq(reply.Readers) {
		tenure, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			continue
		}
		if reader := c.LockSets[l.Key()].withTenure(tenure); reader != nil && reader.OwnsTenure(tenure) {
			note(reader)
		} else if c.releaseOrphanReader(now, l.Key(), tenure, reply.TTL) {
			reply.HolderReleasing = true
		}
	}
	if givenUp && !inUse && l.TriesOnce() {
		reply.HolderReleasing = true
	}
}

// hastenRelease has a lock that is in the way of another one release soon, if it is being released and a caller blocks
// for the other one. Otherwise it may be behind very many releases for which no caller blocks.
func (c *Coordinator) hastenRelease(now time.Duration, holder, waiting *actor.Lock) {
	if holder.IsGivenUp() && waiting.BlocksCaller() {
		c.step(now, holder, &actor.Message{Event: actor.ReleaseAwaited})
	}
}

// releaseOrphanWriter has a writer's tenure released if it has no holder, and reports whether that will happen.
func (c *Coordinator) releaseOrphanWriter(now time.Duration, key string, tenure uint64, ttl time.Duration) bool {
	l, at := c.Locks.find(key)
	switch {
	case l == nil:
		l = c.newLock(key, actor.Write)
		c.Locks.put(at, l)
	case l.Kind() != actor.Write && l.Busy():
		return false
	case l.Kind() != actor.Write:
		l.SetKind(actor.Write, c.Fx)
	}
	return c.releaseOrphan(now, l, tenure, ttl)
}

// releaseOrphanReader does the same for a reader's tenure. That tenure has a lock until it is released.
func (c *Coordinator) releaseOrphanReader(now time.Duration, key string, tenure uint64, ttl time.Duration) bool {
	set := c.LockSets[key]
	l := set.withTenure(tenure)
	switch {
	case l != nil:
		return c.releaseOrphan(now, l, tenure, ttl)
	case set.usesNumber(tenure):
		return false // a reader acquires with it, or will
	}
	l = c.newLock(key, actor.Read)
	c.needSet(key).locks.add(l)
	return c.releaseOrphan(now, l, tenure, ttl)
}

// usesNumber reports whether a lock may acquire with a number that it does not have yet: that of its owner's writer. If
// there are very many locks, it examines only those of requests with an owner.
func (s *lockSet) usesNumber(number uint64) bool {
	if s == nil || s.locks.isSmall() {
		return s.First(func(l *actor.Lock) bool { return l.UsesNumber(number) }) != nil
	}
	for l := range s.owners.owners {
		if l.UsesNumber(number) {
			return true
		}
	}
	return false
}

// releaseOrphan has a lock release an orphan now. It returns false if the server has permanently rejected the release.
func (c *Coordinator) releaseOrphan(now time.Duration, l *actor.Lock, tenure uint64, ttl time.Duration) bool {
	if !l.IsOrphan(tenure) {
		l.AddOrphan(now, tenure, ttl, c.Fx)
	} else if !l.IsReleasing(tenure) {
		return false
	}
	c.step(now, l, &actor.Message{Event: actor.OrphanSeen})
	return true
}
