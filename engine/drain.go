package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// drain has all who wait refused, some locks a turn, and decides r once that is done and no lock is held any more. Nobody waits for a lock
// anew from now on, so one round is enough, however many shut down.
func (c *coordinator) drain(now time.Duration, r *actor.Request) {
	if !c.fx.Draining {
		c.fx.Draining = true
		c.drains = c.newRound()
		c.drainSome(now)
	}
	c.waiting = append(c.waiting, r)
}

// drainSome refuses those who wait for the next locks of the round, if there is one.
func (c *coordinator) drainSome(now time.Duration) {
	for _, l := range c.drains.take(c.intake.looks) {
		if l.Key() != "" { // it may have ended
			l.Step(now, &actor.Message{Kind: actor.Drain}, c.fx)
			c.after(now, l)
		}
	}
}

// drainFirst refuses those who wait for a lock that is about to be told something before the round came to it: none of them is granted it any
// more. It is not forgotten before it was told.
func (c *coordinator) drainFirst(now time.Duration, l *actor.Lock) {
	if c.drains.on() {
		l.Step(now, &actor.Message{Kind: actor.Drain}, c.fx)
	}
}

// drained reports whether a shutdown has nothing to wait for: nobody still to be refused, no lock held or to be released, and no
// question under way that a server could still answer.
func (c *coordinator) drained() bool {
	return !c.drains.on() && len(c.fx.Refusing) == 0 && c.fx.Tenures == 0 && (c.fx.Asking == 0 || c.unreachable())
}

// shutDown tells those who wait for it that the shutdown is complete.
func (c *coordinator) shutDown(now time.Duration) {
	for _, r := range c.waiting {
		c.fx.Decide(now, r, nil, nil)
	}
	c.waiting = nil
}

// cutShort ends the wait for a shutdown, and says how many holds were not unlocked; if there is nothing left to wait for, it
// is complete.
func (c *coordinator) cutShort(now time.Duration, r *actor.Request, err, cause error) {
	r.State = &actor.Reply{Count: int(c.fx.Stats.Held)}
	if c.drained() {
		err, cause = nil, nil
	}
	c.fx.Decide(now, r, err, cause)
}
