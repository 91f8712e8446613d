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
//
// One request with the context of a quorum may be beyond the limit, see quorumWaits. The quorum's own request may have
// come in the same turn, so that it does not wait yet. Hence shedProvisional decides when the request is handled, which
// is after that one.
func (c *Coordinator) shedRequest(now time.Duration, r *actor.Request) bool {
	if r.Op != actor.Acquire || r.SkipWaiterLimit || !c.beyondMaxWaiting() || c.Closed || c.Fx.Draining || c.ownerHolds(now, r) {
		return false
	}
	if c.Fx.WantedLocks == int64(c.Fx.Config.MaxWaiting)+1 && mayMeetOwnQuorum(r) {
		r.MarkProvisional()
		return false
	}
	c.shed(now, r)
	return true
}

// shedProvisional rejects a request that shedRequest left to it, unless it is now within the limit, its owner has the
// lock, or its quorum waits for it.
func (c *Coordinator) shedProvisional(now time.Duration, r *actor.Request) bool {
	if !c.beyondMaxWaiting() || c.quorumWaits(r) || c.ownerHolds(now, r) {
		return false
	}
	c.shed(now, r)
	return true
}

// beyondMaxWaiting reports whether the requests without a result, with the last one, are more than Config.MaxWaiting.
func (c *Coordinator) beyondMaxWaiting() bool {
	limit := int64(c.Fx.Config.MaxWaiting)
	return limit != 0 && c.Fx.WantedLocks > limit
}

// shed rejects a request beyond Config.MaxWaiting. If no room would help it, it gets the error that says so.
func (c *Coordinator) shed(now time.Duration, r *actor.Request) {
	if r.Multi != nil || !c.rejectInvalid(now, c.Locks.Get(r.Key), r) {
		c.Fx.Shed(now, r, c.limits.engine)
	}
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
	if !mayMeetOwnQuorum(r) {
		return false
	}
	l := c.Locks.Get(r.Key)
	return c.expected(r.Key, r.Owner) || l != nil && l.QuorumWaits(r.Owner)
}

// mayMeetOwnQuorum reports whether a request comes with the context of a quorum, and is not one of the quorum itself.
func mayMeetOwnQuorum(r *actor.Request) bool { return r.Owner&actor.QuorumOwner != 0 && !r.OfQuorum }

// tooManyWaiting reports whether requests wait for at least limit locks of the set. A lock that was given up does not
// count, though it may stay for long: while the server is silent its place in the queue there is not released.
func (s *lockSet) tooManyWaiting(limit int) bool { return s != nil && s.waitedFor >= limit }

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
