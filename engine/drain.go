package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// drain rejects all waiters, a bounded number of locks per turn. r gets its result when that is done and no lock is
// held. New lock requests are rejected from now on, so one round serves all shutdown requests.
func (c *coordinator) drain(now time.Duration, r *actor.Request) {
	if !c.fx.Draining {
		c.fx.Draining = true
		c.drains = c.newRound()
		c.drainSome(now)
	}
	c.waiting = append(c.waiting, r)
}

// drainSome rejects the waiters of the next locks of the round, if there is one.
func (c *coordinator) drainSome(now time.Duration) {
	for _, l := range c.drains.take(c.intake.looks) {
		if l.Key() != "" { // it may have ended in the meantime
			l.Step(now, &actor.Message{Kind: actor.Drain}, c.fx)
			c.after(now, l)
		}
	}
}

// drainFirst rejects the waiters of a lock before its next step, if the round has not reached it. So none of them is
// granted. It does not remove the lock, which is still to be stepped.
func (c *coordinator) drainFirst(now time.Duration, l *actor.Lock) {
	if c.drains.on() {
		l.Step(now, &actor.Message{Kind: actor.Drain}, c.fx)
	}
}

// drained reports whether a shutdown is complete. These must all be true:
//   - no waiter is left to be rejected
//   - no lock is held or being released
//   - no acquire is in flight that a server could still reply to
func (c *coordinator) drained() bool {
	return !c.drains.on() && len(c.fx.Refusing) == 0 && c.fx.Tenures == 0 && (c.fx.Asking == 0 || c.unreachable())
}

// shutDown completes the shutdown requests.
func (c *coordinator) shutDown(now time.Duration) {
	for _, r := range c.waiting {
		c.fx.Decide(now, r, nil, nil)
	}
	c.waiting = nil
}

// cutShort ends a shutdown request early and reports how many holds are not unlocked. If the shutdown is in fact
// complete, the request succeeds.
func (c *coordinator) cutShort(now time.Duration, r *actor.Request, err, cause error) {
	r.State = &actor.Reply{Count: int(c.fx.Stats.Held)}
	if c.drained() {
		err, cause = nil, nil
	}
	c.fx.Decide(now, r, err, cause)
}
