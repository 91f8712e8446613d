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
		c.drainRound = c.newRound()
		c.drainSome(now)
	}
	c.shutdownWaiters = append(c.shutdownWaiters, r)
}

// drainSome rejects the waiters of the next locks of the round, if there is one.
func (c *coordinator) drainSome(now time.Duration) {
	for _, l := range c.drainRound.take(c.intake.lockBudget) {
		if l.Key() != "" { // it may have ended in the meantime
			l.Step(now, &actor.Message{Event: actor.Drain}, c.fx)
			c.applyEffects(now, l)
		}
	}
}

// drainFirst rejects the waiters of a lock before its next step, if the round has not reached it. So none of them is
// granted. It does not remove the lock, which is still to be stepped.
func (c *coordinator) drainFirst(now time.Duration, l *actor.Lock) {
	if c.drainRound.on() {
		l.Step(now, &actor.Message{Event: actor.Drain}, c.fx)
	}
}

// drained reports whether a shutdown is complete. These must all be true:
//   - no waiter is left to be rejected
//   - no lock is held or being released
//   - no acquire is in flight that a server could still reply to
func (c *coordinator) drained() bool {
	return !c.drainRound.on() && len(c.fx.Rejecting) == 0 && c.fx.HeldLocks == 0 && (c.fx.AcquiringLocks == 0 || c.unreachable())
}

// completeShutdown completes the shutdown requests.
func (c *coordinator) completeShutdown(now time.Duration) {
	for _, r := range c.shutdownWaiters {
		c.fx.Complete(now, r, nil, nil)
	}
	c.shutdownWaiters = nil
}

// endShutdownWait ends a shutdown request early and reports how many holds are not unlocked. If the shutdown is in fact
// complete, the request succeeds.
func (c *coordinator) endShutdownWait(now time.Duration, r *actor.Request, err, cause error) {
	r.State = &actor.Reply{Count: int(c.fx.Stats.Held)}
	if c.drained() {
		err, cause = nil, nil
	}
	c.fx.Complete(now, r, err, cause)
}
