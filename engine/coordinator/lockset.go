package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// lockSet holds the locks of one name, for kinds with one lock per request, where each first grant is a tenure of its
// own. A request that re-enters goes to the lock of its owner. Every other request gets a new lock. A nil lockSet and
// the zero value are empty. Owned by the coordinator.
type lockSet struct {
	locks      lockList
	owners     ownerIndex
	index      *lockIndex       // indexes; nil while there are few locks, which are searched linearly
	writerPref writerPreference // for readers
	waiting    waitingReaders
	waitedFor  int // locks with requests in their queues

	readersFirstUntil time.Duration // until then, a new writer lets waiting readers go first

	unreplicatedAt time.Duration // when the waiting readers were last notified that too few replicas have a grant
}

// lockForRequest returns the lock for a new request, and creates it if there is none. It returns nil after rejecting a
// request that does not wait while another request of this engine does. So no request overtakes a local waiter, even if
// the server does not know of that waiter yet.
func (c *Coordinator) lockForRequest(now time.Duration, r *actor.Request) *actor.Lock {
	set := c.LockSets[r.Key]
	if l := set.findFor(r, now); l != nil {
		return l
	}
	if r.Op == actor.Acquire && r.Once {
		if before := set.firstAwaited(); before != nil {
			before.RejectTry(now, r, c.Fx)
			return nil
		}
	}
	return c.addLock(r)
}

func (c *Coordinator) addLock(r *actor.Request) *actor.Lock {
	set := c.needSet(r.Key)
	l := c.newLock(r.Key, r.Kind)
	if before := set.locks.newest(); before != nil {
		l.QueueAfter(before, r, c.Fx)
	}
	set.locks.add(l)
	set.owners.add(l, r.Owner)
	if !set.locks.isSmall() {
		set.needIndex() // built as soon as there are many, so that no single step has to build it for very many
	}
	return l
}

// needSet returns the lockSet of a key, and creates it if there is none.
func (c *Coordinator) needSet(key string) *lockSet {
	set := c.LockSets[key]
	if set == nil {
		set = &lockSet{}
		c.LockSets[key] = set
		c.mostLockSets.note(len(c.LockSets))
	}
	return set
}

// findFor returns an existing lock for the request: its owner's, for re-entry, or a held one, for a force. It returns
// nil if the request needs a new lock.
func (s *lockSet) findFor(r *actor.Request, now time.Duration) *actor.Lock {
	if r.Op == actor.Force {
		return s.firstGranted(func(l *actor.Lock) bool { return l.Kind() == r.Kind && l.HeldAt(now) })
	}
	return s.heldBy(r.Owner, r.Kind, now)
}

// heldBy returns the lock of that kind in which an owner has a hold, or nil.
func (s *lockSet) heldBy(owner uint64, kind actor.LockKind, now time.Duration) *actor.Lock {
	if owner == 0 || s == nil {
		return nil
	}
	is := func(l *actor.Lock) bool { return l.Kind() == kind && l.HoldCount(owner, now) > 0 }
	if s.locks.isSmall() {
		return s.First(is)
	}
	if owned := s.needIndex().byOwner.locks[owner]; owned != nil {
		return owned.first(is)
	}
	return nil
}

// locksOf returns a copy of the locks that an owner may hold.
func (s *lockSet) locksOf(owner uint64) []*actor.Lock {
	if s == nil || s.locks.isSmall() {
		return s.All()
	}
	if owned := s.needIndex().byOwner.locks[owner]; owned != nil {
		return owned.all()
	}
	return nil
}

// conflicting returns a lock that excludes that kind from the name, or nil.
func (s *lockSet) conflicting(kind actor.LockKind) *actor.Lock {
	if s == nil || s.locks.newest().Kind().CompatibleWith(kind) {
		return nil // the newest was admitted, so no lock of another kind is in use
	}
	return s.First(func(l *actor.Lock) bool { return !l.Kind().CompatibleWith(kind) && l.Busy() })
}

// All returns a copy of the locks, because the caller may end them while it iterates.
func (s *lockSet) All() []*actor.Lock {
	if s == nil {
		return nil
	}
	return s.locks.all()
}

// heldAt returns a copy of the locks that are validly held at that moment.
func (s *lockSet) heldAt(now time.Duration) []*actor.Lock {
	if s == nil || s.locks.isSmall() {
		return s.filter(func(l *actor.Lock) bool { return l.HeldAt(now) })
	}
	return s.needIndex().heldAt(now)
}

// granted returns a copy of the held locks. Their validity may have ended, and among very many locks some may have been
// held only before. It does not examine the locks if there are very many.
func (s *lockSet) granted() []*actor.Lock {
	if s == nil || s.locks.isSmall() {
		return s.filter((*actor.Lock).HasOwner)
	}
	return s.needIndex().held.all()
}

// firstGranted returns a granted lock that satisfies is, or nil.
func (s *lockSet) firstGranted(is func(*actor.Lock) bool) *actor.Lock {
	if s == nil || s.locks.isSmall() {
		return s.First(is)
	}
	return s.needIndex().held.first(is)
}

// filter returns a copy of the locks that match.
func (s *lockSet) filter(matches func(*actor.Lock) bool) []*actor.Lock {
	if s == nil {
		return nil
	}
	return s.locks.filter(matches)
}

// First returns the oldest lock that matches, or nil.
func (s *lockSet) First(is func(*actor.Lock) bool) *actor.Lock {
	if s == nil {
		return nil
	}
	return s.locks.first(is)
}

// markKnownHolder sets Reply.HolderIsOurs if a lock of this engine has the tenure that a reply names as the holder. If
// that tenure is an orphan, it is in the way: markKnownHolder has it released at once and also sets
// Reply.HolderReleasing. It sets that, too, for a tenure that is given up, if the command's caller tries only once: for
// this caller its engine has no hold any more. One that waits in a queue is notified of the release.
func (c *Coordinator) markKnownHolder(now time.Duration, command *actor.Command, reply *actor.Reply) {
	tenure, own := c.Fx.ParseOwn(reply.Holder)
	if !own {
		return
	}
	l := c.LockSets[command.Key].withTenure(tenure)
	switch {
	case l == nil:
	case l.OwnsTenure(tenure):
		reply.HolderIsOurs, reply.HolderReleasing = true, command.Wait == 0 && l.IsGivenUp()
		c.hastenRelease(now, l, command.Lock)
	default:
		reply.HolderIsOurs, reply.HolderReleasing = true, true
		c.step(now, l, &actor.Message{Event: actor.OrphanSeen})
	}
}

// withTenure returns the lock with that tenure, or else the lock that is to release it as an orphan. It returns nil if
// there is none.
func (s *lockSet) withTenure(tenure uint64) *actor.Lock {
	switch {
	case s == nil:
		return nil
	case !s.locks.isSmall():
		return s.needIndex().byTenure.withTenure(tenure)
	}
	if l := s.First(func(l *actor.Lock) bool { return l.OwnsTenure(tenure) }); l != nil {
		return l
	}
	return s.First(func(l *actor.Lock) bool { return l.IsOrphan(tenure) })
}

// markNotHead sets Reply.NotHead if another waiter of this engine is ahead of the command's waiter in the fair queue.
// Waiters queue in the order of their tenures. The exception is a waiter that lost its acquire: then both poll as the
// head.
func (c *Coordinator) markNotHead(now time.Duration, command *actor.Command, reply *actor.Reply) {
	if reply.Holder != "" || !command.Lock.Kind().Queues() {
		return
	}
	queueHead := c.LockSets[command.Key].queueHead()
	if reply.NotHead = queueHead != nil && queueHead.Tenure() < command.Tenure; reply.NotHead {
		c.step(now, queueHead, &actor.Message{Event: actor.QueueHead, Reply: reply})
	}
}

// annotateReply applies what a reply means for other locks of the name, before the command's lock is stepped. It
// determines who the holder is, and which locks can no longer be held.
func (c *Coordinator) annotateReply(now time.Duration, b *Batch, command *actor.Command, reply *actor.Reply) {
	switch kind := command.Lock.Kind(); {
	case reply.Status == actor.HeldByOther && kind.PerRequest():
		c.UpdateClockSkew(now, b, reply.ServerMillis)
		c.markKnownHolder(now, command, reply)
		c.markNotHead(now, command, reply)
	case reply.Status == actor.OK && kind.AcquiredInTime(command, b.Sent, now):
		c.endDisplaced(now, command)
	}
}

// endDisplaced ends the holds of this engine that a grant excludes. For a read/write lock these can be the writer or
// all readers.
func (c *Coordinator) endDisplaced(now time.Duration, granted *actor.Command) {
	excluded := func(l *actor.Lock) bool {
		return l != granted.Lock && l.HeldAt(now) && granted.Excludes(l)
	}
	if l := c.Locks.Get(granted.Key); l != nil && excluded(l) {
		c.step(now, l, &actor.Message{Event: actor.Displaced})
	}
	if granted.Lock.Kind().Shared() {
		return // readers exclude no readers, and there may be very many
	}
	for _, l := range c.LockSets[granted.Key].heldAt(now) {
		if excluded(l) {
			c.step(now, l, &actor.Message{Event: actor.Displaced})
		}
	}
}

// recheckAfterForce notifies the held locks of the name that the lock was forced away from its holders. A lock may have
// been granted after that, so each one checks with the server. So does one with a grant that is on its way: the replies
// of two commands may be handled in another order than the server ran them.
func (c *Coordinator) recheckAfterForce(now time.Duration, command *actor.Command) {
	c.noteEarly(now, command.Key)
	if held := c.LockSets[command.Key].granted(); len(held) > 0 {
		c.fanOut(now, recipients{event: actor.Notified, key: command.Key}, held)
	}
}

// removeFromSet removes a finished lock from its lockSet.
func (c *Coordinator) removeFromSet(l *actor.Lock) {
	set := c.LockSets[l.Key()]
	set.locks.remove(l)
	set.owners.remove(l)
	if set.locks.isSmall() {
		set.index = nil
	}
	if set.index != nil {
		set.index.remove(l)
	}
	if set.locks.len() > 0 {
		return
	}
	if delete(c.LockSets, l.Key()); c.mostLockSets.outgrown(len(c.LockSets)) {
		c.LockSets = make(map[string]*lockSet)
	}
}

// notifyHead notifies the head of the local waiters after a lock was removed.
func (c *Coordinator) notifyHead(now time.Duration, key string) {
	if next := c.LockSets[key].queueHead(); next != nil {
		c.step(now, next, &actor.Message{Event: actor.QueueHead})
	}
}

// queueHead returns the oldest lock that waits in the fair queue, or nil.
func (s *lockSet) queueHead() *actor.Lock {
	if s == nil {
		return nil
	}
	return s.locks.queueHead()
}

// noteQueued notes that a lock may wait in the fair queue from now on.
func (s *lockSet) noteQueued(l *actor.Lock) {
	if s != nil {
		s.locks.noteQueued(l)
	}
}
