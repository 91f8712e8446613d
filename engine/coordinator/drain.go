package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// drain rejects all waiters, a bounded number of locks per turn. r gets its result when that is done and no lock is
// held. New lock requests are rejected from now on, so one round serves all shutdown requests.
func (c *Coordinator) drain(now time.Duration, r *actor.Request) {
	c.startDraining(now)
	c.shutdownWaiters = append(c.shutdownWaiters, r)
}

// startDraining begins the round that rejects all waiters, unless there was one.
func (c *Coordinator) startDraining(now time.Duration) {
	if !c.Fx.Draining {
		c.visitLocks(now)
	}
}

// visitLocks begins a round that steps all locks, and rejects their waiters.
func (c *Coordinator) visitLocks(now time.Duration) {
	c.Fx.Draining = true
	c.DrainRound = c.NewRound()
	c.drainSome(now)
}

// drainSome rejects the waiters of the next locks of the round, if there is one.
func (c *Coordinator) drainSome(now time.Duration) {
	for _, l := range c.DrainRound.take(c.intake.lockBudget) {
		if l.Key() != "" { // it may have ended in the meantime
			c.stepOnly(now, l, &actor.Message{Event: actor.Drain})
			c.applyEffects(now, l)
		}
	}
}

// drainFirst rejects the waiters of a lock before its next step, if the round has not reached it. So none of them is
// granted. It does not remove the lock, which is still to be stepped.
func (c *Coordinator) drainFirst(now time.Duration, l *actor.Lock) {
	if c.DrainRound.On() {
		c.stepOnly(now, l, &actor.Message{Event: actor.Drain})
	}
}

// drained reports whether a shutdown is complete. These must all be true:
//   - no waiter is left to be rejected
//   - no lock is held or being released
//   - no acquire is in flight that a server could still reply to
func (c *Coordinator) drained() bool {
	return !c.DrainRound.On() && len(c.Fx.Rejecting) == 0 && c.Fx.HeldLocks == 0 && (c.Fx.AcquiringLocks == 0 || c.expectsNoReply())
}

// completeShutdown completes the shutdown requests.
func (c *Coordinator) completeShutdown(now time.Duration) {
	for _, r := range c.shutdownWaiters {
		c.Fx.Complete(now, r, nil, nil)
	}
	c.shutdownWaiters = nil
}

// endShutdownWait ends a shutdown request early and reports how many holds are not unlocked. If the shutdown is in fact
// complete, the request succeeds.
func (c *Coordinator) endShutdownWait(now time.Duration, r *actor.Request, err, cause error) {
	r.State = &actor.Reply{Count: int(c.Fx.Stats.Held)}
	if c.drained() {
		err, cause = nil, nil
	}
	c.Fx.Complete(now, r, err, cause)
}
