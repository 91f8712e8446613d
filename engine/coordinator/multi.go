package coordinator

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// maxPlaceSteps is how many requests a turn looks at to find places in queues, for requests for several locks that wait
// for another of them now. All of them take some milliseconds.
const maxPlaceSteps = 1 << 16

// maxMultiMoves is how many requests for several locks go to wait for another of their locks in one turn.
const maxMultiMoves = 4096

// ownsPart reports whether the owner holds one of the locks of a request for several.
func (c *Coordinator) ownsPart(now time.Duration, m *actor.MultiRequest) bool {
	return slices.ContainsFunc(m.Parts, func(part actor.Part) bool {
		l := c.Locks.Get(part.Key)
		return l != nil && l.HoldCount(part.Owner, now) > 0
	})
}

// runFollowUps runs what steps have left to do for other locks. It steps changed locks with the event Recheck, and
// acquires for requests that have become the first of their queue. Both can cause more of it. A nested call returns at
// once and leaves the work to the outer one, so very many locks cause no deep recursion.
func (c *Coordinator) runFollowUps(now time.Duration) {
	if c.inFollowUps {
		return
	}
	c.inFollowUps = true
	for touched, ready := 0, 0; ; {
		switch {
		case touched < len(c.Fx.ToRecheck):
			l := c.Fx.ToRecheck[touched]
			touched++
			if l.Key() != "" {
				c.step(now, l, &actor.Message{Event: actor.Recheck})
			}
		case ready < len(c.Fx.ReadyMulti):
			r := c.Fx.ReadyMulti[ready]
			ready++
			c.tryAcquireAll(now, r)
		default:
			clear(c.Fx.ToRecheck)
			clear(c.Fx.ReadyMulti)
			c.Fx.ToRecheck, c.Fx.ReadyMulti, c.inFollowUps = c.Fx.ToRecheck[:0], c.Fx.ReadyMulti[:0], false
			return
		}
	}
}

// tryAcquireAll acquires all locks of a request that has become the first in the queue of one of them. If another of
// the locks is held or waited for in this engine, the request waits there instead. During a shutdown the request does
// not move: the drain rejects it where it is, and may have passed the other lock already.
func (c *Coordinator) tryAcquireAll(now time.Duration, r *actor.Request) {
	if !r.ReadyToSend(now) || c.Fx.Draining {
		return
	}
	commandLock := r.Lock()
	if !r.Reserved() {
		locks, free := c.reservable(now, r)
		if !free {
			if commandLock.Key() != "" { // it may have been canceled, and the lock finished
				c.step(now, commandLock, &actor.Message{Event: actor.Recheck})
			}
			return
		}
		r.Reserve(locks, c.Fx)
	}
	r.SendReserved(c.Fx)
	c.applyEffects(now, commandLock)
}

// reservable returns the locks of a request, and creates those that are missing. If one of them cannot be reserved, the
// request waits there or is rejected, and free is false.
func (c *Coordinator) reservable(now time.Duration, r *actor.Request) (locks []*actor.Lock, free bool) {
	parts := r.Multi.Parts
	for i := range parts {
		l := c.Locks.Get(parts[i].Key)
		if other := c.conflictingKind(l, parts[i].Key, r.Kind); other != nil {
			r.Multi.FailedPart = i
			c.Fx.RejectKind(now, r, other.Kind())
			return nil, false
		}
		if l != nil && !l.Reservable(now, r) {
			r.Multi.FailedPart = i
			c.Fx.MultiMoves++
			c.step(now, l, &actor.Message{Event: actor.Enqueued, Request: r})
			return nil, false
		}
	}
	locks = make([]*actor.Lock, 0, len(parts))
	for i := range parts {
		l := c.Locks.Get(parts[i].Key)
		if l == nil {
			l = c.newLock(parts[i].Key, r.Kind)
			c.Locks.add(l)
		}
		if l.Kind() != r.Kind {
			l.SetKind(r.Kind, c.Fx)
		}
		l.SetLocalReaders(false)
		locks = append(locks, l)
	}
	return locks, true
}

// releaseParts releases what was granted to a canceled request for several locks.
func (c *Coordinator) releaseParts(now time.Duration, r *actor.Request) {
	if r.Err != nil {
		return
	}
	for i := range r.Multi.Parts {
		c.handleHoldRequest(now, actor.RollbackRequest(r.Multi.Parts[i].Hold))
	}
}
