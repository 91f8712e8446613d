package coordinator

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// limits holds the errors for requests beyond the limits on waiters. They are created once, because very many requests
// may be rejected. newLimits makes them; the zero value would reject without a cause. They are immutable.
type limits struct{ engine, lock error }

func newLimits(config *actor.Config) limits {
	return limits{
		engine: TooManyWaiting(config),
		lock:   fmt.Errorf("more than %d for this lock in this engine (Options.MaxWaitingPerLock)", config.MaxWaitingPerLock),
	}
}

// TooManyWaiting returns the error for a request beyond Config.MaxWaiting.
func TooManyWaiting(config *actor.Config) error {
	return fmt.Errorf("more than %d in this engine (Options.MaxWaiting)", config.MaxWaiting)
}

// shedRequest rejects a request on arrival, before it is queued, if Config.MaxWaiting is reached. A request that
// re-enters is admitted: it does not wait for others, and its owner cannot release the lock before it gets its result.
func (c *Coordinator) shedRequest(now time.Duration, r *actor.Request) bool {
	limit := int64(c.Fx.Config.MaxWaiting)
	if r.Op != actor.Acquire || r.SkipWaiterLimit || limit == 0 || c.Fx.WantedLocks <= limit || c.Closed || c.Fx.Draining || c.ownerHolds(now, r) {
		return false
	}
	if c.Fx.WantedLocks == limit+1 && c.quorumWaits(r) {
		return false
	}
	if r.Multi != nil || !c.rejectInvalid(now, c.Locks.Get(r.Key), r) {
		c.Fx.Shed(now, r, c.limits.engine)
	}
	return true
}

// tooManyWaiting reports whether Config.MaxWaitingPerLock is reached for a name, so that the request must be rejected.
// Readers and writers of a read/write lock are counted separately, because they wait in different queues.
func (c *Coordinator) tooManyWaiting(now time.Duration, l *actor.Lock, r *actor.Request) bool {
	limit := c.Fx.Config.MaxWaitingPerLock
	if r.Op != actor.Acquire || r.SkipWaiterLimit || limit == 0 {
		return false
	}
	return c.waitersReach(l, r, limit) && !c.ownerHolds(now, r) && (!c.quorumWaits(r) || c.waitersReach(l, r, limit+1))
}

// waitersReach reports whether at least limit callers wait for the name of a request.
func (c *Coordinator) waitersReach(l *actor.Lock, r *actor.Request, limit int) bool {
	if r.Kind.PerRequest() {
		return c.LockSets[r.Key].tooManyWaiting(limit)
	}
	return l != nil && l.QueueLen() >= limit
}

// quorumWaits reports whether a request comes with the context of a quorum that waits for the same lock, which it is
// missing. The quorum's own request is no reason to reject that caller, so it is not counted against it.
func (c *Coordinator) quorumWaits(r *actor.Request) bool {
	if r.Owner&actor.QuorumOwner == 0 || r.OfQuorum {
		return false
	}
	l := c.Locks.Get(r.Key)
	return c.expected(r.Key, r.Owner) || l != nil && l.QuorumWaits(r.Owner)
}

// tooManyWaiting reports whether at least limit locks of the set wait. It counts nothing while the set has fewer locks
// than that.
func (s *lockSet) tooManyWaiting(limit int) bool {
	switch {
	case s == nil || s.locks.len() < limit:
		return false
	case s.locks.isSmall():
		return len(s.filter(func(l *actor.Lock) bool { return l.QueueLen() > 0 })) >= limit
	}
	return s.locks.len()-s.needIndex().held.len() >= limit
}

// ownerHolds reports whether the owner of a request holds what it requests, or one of several locks.
func (c *Coordinator) ownerHolds(now time.Duration, r *actor.Request) bool {
	switch {
	case r.Multi != nil:
		return c.ownsPart(now, r.Multi)
	case r.Owner == 0:
		return false
	case c.holdCount(now, r) > 0:
		return true
	}
	l := c.Locks.Get(r.Key) // a writer may read
	return r.Kind == actor.Read && l != nil && l.Kind() == actor.Write && l.HoldCount(r.Owner, now) > 0
}
