package coordinator

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// handleRequest handles a new request. It ignores one that was canceled, or timed out, before its turn came.
func (c *Coordinator) handleRequest(now time.Duration, r *actor.Request) {
	provisional := r.Provisional()
	if !r.MarkHandled() {
		return
	}
	switch r.Op {
	case actor.Acquire, actor.Force:
		if c.Fx.Draining {
			c.Fx.Complete(now, r, actor.ErrClosed, nil)
			return
		}
		if provisional && c.shedProvisional(now, r) {
			return
		}
		if r.Multi != nil && c.ownsPart(now, r.Multi) {
			c.Fx.RejectReentry(now, r)
			return
		}
		if r.FailIfDown && c.rejectIfDown(now, r) {
			return
		}
		if l := c.lockFor(now, r); l != nil {
			held := r.Op == actor.Force && l.HeldAt(now)
			c.step(now, l, &actor.Message{Event: actor.Requested, Request: r})
			if held {
				c.evictReaders(now, r.Key)
			}
			c.rejectIfUnconnected(now, r)
		}
	case actor.Unlock, actor.Extend:
		c.handleHoldRequest(now, r)
	case AskState:
		c.Fx.SetDeadline(r, now+c.Fx.Config.CallTimeout)
		c.enqueue(&actor.Command{Verb: r.Kind.State(), Key: r.Key, Request: r})
	case AskCount:
		r.State = &actor.Reply{Count: c.holdCount(now, r)}
		c.Fx.Complete(now, r, nil, nil)
	case AskConfirm:
		if l := r.Hold.Lock(); l != nil && l.HeldAt(now) {
			c.step(now, l, &actor.Message{Event: actor.Notified})
		}
		c.Fx.Complete(now, r, nil, nil)
	case AskShutdown:
		c.drain(now, r)
	case AskClose:
		c.requestClose(now, r)
	}
}

// rejectIfDown rejects a request with FailIfDown if its server is known to be down. It lets a request through if the
// breaker allows a probe, or if its owner re-enters, which needs no reply.
func (c *Coordinator) rejectIfDown(now time.Duration, r *actor.Request) bool {
	n := c.nodeForKey(r.Key)
	if n.Breaker.allow(now, n.InFlightBundles) || c.holdCount(now, r) > 0 {
		return false
	}
	c.Fx.Complete(now, r, actor.ErrUnavailable, n.Breaker.Cause)
	return true
}

// rejectIfUnconnected rejects a request that does not wait if connecting to the server just failed.
func (c *Coordinator) rejectIfUnconnected(now time.Duration, r *actor.Request) {
	if !r.Once || r.Completed() {
		return
	}
	if b := &c.nodeForKey(r.Key).Breaker; b.failsFast(now) {
		c.step(now, r.Lock(), &actor.Message{Event: actor.Unreachable, Request: r, Cause: b.Cause})
	}
}

// addCauses adds the cause of the outage to results without a reply, if the server is known to be down.
func (c *Coordinator) addCauses() {
	if !c.anyDown() {
		return
	}
	for _, r := range c.Fx.Results {
		if r.Err != actor.ErrUnavailable {
			continue
		}
		if n := c.nodeOfRequest(r); n != nil && n.Breaker.Down {
			r.Cause = actor.ServerDownCause(r.Cause, n.Breaker.Cause)
		}
	}
}

// nodeOfRequest returns the node of a request. It returns nil if that is unknown, because the lock has finished.
func (c *Coordinator) nodeOfRequest(r *actor.Request) *Node {
	key := r.Key
	if l := r.Lock(); key == "" && l != nil {
		key = l.Key()
	}
	switch {
	case key != "":
		return c.nodeForKey(key)
	case c.Cluster == nil:
		return c.Fallback
	}
	return nil
}

// handleHoldRequest handles an unlock or an extension of a hold. If the lock has finished, the request fails with the
// reason why the hold ended.
func (c *Coordinator) handleHoldRequest(now time.Duration, r *actor.Request) {
	l := r.Hold.Lock()
	if l == nil || l.Key() == "" {
		err, cause := r.Hold.EndError()
		c.Fx.Complete(now, r, err, cause)
		return
	}
	c.step(now, l, &actor.Message{Event: actor.Requested, Request: r})
	c.markUrgent(l)
}

// handleCancel handles a cancellation. The request may have its result already. If it has not been handled yet, it is
// handled first.
func (c *Coordinator) handleCancel(now time.Duration, r *actor.Request, cause error) {
	if !r.Handled() {
		c.onAbandoned(r)
	}
	c.handleRequest(now, r)
	if r.Multi != nil && r.Completed() {
		c.releaseParts(now, r)
		return
	}
	if l := r.Lock(); l != nil && l.Key() != "" {
		c.step(now, l, &actor.Message{Event: actor.Cancel, Request: r, Cause: cause})
		return
	}
	if r.Completed() {
		return
	}
	if r.Op == AskShutdown {
		c.shutdownWaiters = slices.DeleteFunc(c.shutdownWaiters, func(other *actor.Request) bool { return other == r })
		c.endShutdownWait(now, r, actor.ErrUnavailable, actor.CallerGone{Cause: cause})
		return
	}
	c.Fx.Complete(now, r, actor.ErrUnavailable, actor.CallerGone{Cause: cause})
	c.onStateDropped(r)
}

// lockFor returns the lock for a new request, and creates it if there is none. If it returns nil, it has rejected the
// request, because of:
//   - a name in use as another kind of lock
//   - an upgrade from read to write
//   - the limit on waiters per name
//   - a waiter ahead of a request that does not wait
func (c *Coordinator) lockFor(now time.Duration, r *actor.Request) *actor.Lock {
	l, at := c.Locks.find(r.Key)
	switch {
	case c.rejectInvalid(now, l, r):
		return nil
	case c.tooManyWaiting(now, l, r):
		c.Fx.Shed(now, r, c.limits.lock)
		return nil
	case r.Kind == actor.Read:
		return c.lockForReader(now, l, r)
	case r.Kind.PerRequest():
		return c.lockForRequest(now, r)
	}
	if l == nil {
		l = c.newLock(r.Key, r.Kind)
		c.Locks.put(at, l)
	}
	if l.Kind() != r.Kind {
		l.SetKind(r.Kind, c.Fx)
	}
	l.SetLocalReaders(r.Kind == actor.Write && c.LockSets[r.Key] != nil)
	if r.Kind == actor.Write && r.Op == actor.Acquire {
		c.letReadersPass(now, l)
	}
	return l
}

// rejectInvalid rejects a request that could not be granted however long it waits, and reports whether it was one. l is
// the lock of its name, or nil.
func (c *Coordinator) rejectInvalid(now time.Duration, l *actor.Lock, r *actor.Request) bool {
	switch other := c.conflictingKind(l, r.Key, r.Kind); {
	case other != nil:
		c.Fx.RejectKind(now, r, other.Kind())
	case r.Kind == actor.Write && c.wouldUpgrade(now, l, r):
		c.Fx.Complete(now, r, actor.ErrUpgrade, nil)
	default:
		return false
	}
	return true
}

// conflictingKind returns a lock that keeps the name from being used as another kind, or nil.
func (c *Coordinator) conflictingKind(l *actor.Lock, key string, kind actor.LockKind) *actor.Lock {
	if l != nil && !l.Kind().CompatibleWith(kind) && l.Busy() {
		return l
	}
	if len(c.LockSets) > 0 {
		return c.LockSets[key].conflicting(kind)
	}
	return nil
}

// holdCount returns how many holds the owner of a request has on its key.
func (c *Coordinator) holdCount(now time.Duration, r *actor.Request) (count int) {
	if r.Kind.PerRequest() {
		for _, l := range c.LockSets[r.Key].locksOf(r.Owner) {
			if l.Kind() == r.Kind {
				count += l.HoldCount(r.Owner, now)
			}
		}
		return count
	}
	if l := c.Locks.Get(r.Key); l != nil && l.Kind() == r.Kind {
		return l.HoldCount(r.Owner, now)
	}
	return 0
}
