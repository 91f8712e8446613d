package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// ErrReenters is the result of a request for several locks when the owner holds one of them already. No command was
// sent; the caller must acquire the locks one by one.
var ErrReenters = errors.New("lockwheel: one of the locks is held already by the same owner")

// OneSlot reports whether two keys lie in one slot of a cluster, so that one script can use both.
func OneSlot(key, other string) bool { return slotOf(key) == slotOf(other) }

// reenters reports whether the owner holds one of the locks of a request for several.
func (c *coordinator) reenters(now time.Duration, j *actor.Joint) bool {
	return slices.ContainsFunc(j.Parts, func(part actor.Part) bool {
		l := c.locks.of(part.Key)
		return l != nil && l.CountOf(part.Owner, now) > 0
	})
}

// together runs what steps have left to do for other locks. It nudges changed locks, and acquires for requests that
// have become the first in line. Both can cause more of it. A nested call returns at once and leaves the work to the
// outer one, so very many locks cause no deep recursion.
func (c *coordinator) together(now time.Duration) {
	if c.gathers {
		return
	}
	c.gathers = true
	for touched, ready := 0, 0; ; {
		switch {
		case touched < len(c.fx.Touched):
			l := c.fx.Touched[touched]
			touched++
			if l.Key() != "" {
				c.step(now, l, &actor.Message{Kind: actor.Nudged})
			}
		case ready < len(c.fx.Ready):
			r := c.fx.Ready[ready]
			ready++
			c.gather(now, r)
		default:
			clear(c.fx.Touched)
			clear(c.fx.Ready)
			c.fx.Touched, c.fx.Ready, c.gathers = c.fx.Touched[:0], c.fx.Ready[:0], false
			return
		}
	}
}

// gather acquires all locks of a request that has become the first in line at one of them. If another of the locks is
// held or waited for in this engine, the request waits there instead. During a shutdown the request does not move: the
// drain rejects it where it is, and may have passed the other lock already.
func (c *coordinator) gather(now time.Duration, r *actor.Request) {
	if !r.Asks(now) || c.fx.Draining {
		return
	}
	lead := r.Lock()
	if !r.Claimed() {
		locks, free := c.claimable(now, r)
		if !free {
			if lead.Key() != "" { // it may have been cancelled, and the lock finished
				c.step(now, lead, &actor.Message{Kind: actor.Nudged})
			}
			return
		}
		r.Claim(locks, c.fx)
	}
	r.AskClaimed(c.fx)
	c.after(now, lead)
}

// claimable returns the locks of a request, and creates those that are missing. If one of them cannot be reserved, the
// request waits there or is rejected, and free is false.
func (c *coordinator) claimable(now time.Duration, r *actor.Request) (locks []*actor.Lock, free bool) {
	parts := r.Joint.Parts
	for i := range parts {
		l := c.locks.of(parts[i].Key)
		if other := c.clashing(l, parts[i].Key, r.Kind); other != nil {
			r.Joint.At = i
			c.fx.Clash(now, r, other.Kind())
			return nil, false
		}
		if l != nil && !l.Claimable(now, r) {
			r.Joint.At = i
			c.step(now, l, &actor.Message{Kind: actor.Moved, Request: r})
			return nil, false
		}
	}
	locks = make([]*actor.Lock, 0, len(parts))
	for i := range parts {
		l := c.locks.of(parts[i].Key)
		if l == nil {
			l = c.begin(parts[i].Key, r.Kind)
			c.locks.add(l)
		}
		if l.Kind() != r.Kind {
			l.Become(r.Kind, c.fx)
		}
		l.Share(false)
		locks = append(locks, l)
	}
	return locks, true
}

// giveBack releases what was granted to a cancelled request for several locks.
func (c *coordinator) giveBack(now time.Duration, r *actor.Request) {
	if r.Err != nil {
		return
	}
	for i := range r.Joint.Parts {
		c.changes(now, actor.GiveBack(r.Joint.Parts[i].Hold))
	}
}
