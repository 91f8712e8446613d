package coordinator

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/wheel"
)

// closing ends all holds and requests, a bounded number of locks per turn. The zero value means that no close was
// requested. Owned by the coordinator.
//
// A lock that was unlocked must not stay in the server for a lease because its engine is closed at once. Nor must a
// lock that is granted after its caller gave up. So a close first rejects all waiters, and waits for what is being
// released or acquired, and for each TTL that is to fall to what the holds of a lock need, for at most Request.Wait;
// if that is 0, for Config.CallTimeout.
type closing struct {
	round                          // locks that are still to be ended
	closeRequests []*actor.Request // the close requests; they get their results at the end
	by            time.Duration    // when the close begins at the latest, while it waits for replies; otherwise 0
	turnDue       bool             // while it waits: there is nothing to wait for but what this turn's results cause
}

// requestClose begins the close, or waits for replies first. From then on no lock request is accepted.
func (c *Coordinator) requestClose(now time.Duration, r *actor.Request) {
	if c.closing.by != 0 {
		c.closing.closeRequests = append(c.closing.closeRequests, r)
		return
	}
	c.Fx.ClosingSince = now
	if c.Fx.HeldLocks > 0 {
		c.visitLocks(now) // from now on a lock that is to be handed off is being released, and a TTL that is to fall falls
	}
	if c.settled() && !c.mayRequestReleases() {
		c.close(now, r)
		return
	}
	c.closing.closeRequests, c.closing.by = []*actor.Request{r}, now+cmp.Or(r.Wait, c.Fx.Config.CallTimeout)
	c.startDraining(now)
}

// closeIfSettled begins a close that has waited for replies.
func (c *Coordinator) closeIfSettled(now time.Duration) {
	settled := c.settled()
	if c.closing.turnDue = settled && c.mayRequestReleases(); settled && !c.closing.turnDue || now >= c.closing.by {
		c.close(now, c.closing.closeRequests...)
	}
}

// mayRequestReleases reports whether the results that callers receive now may have them request further releases before
// the next turn: very many locks are released one part after the other, each from a result of the one before.
func (c *Coordinator) mayRequestReleases() bool {
	return c.Results.pending() || slices.ContainsFunc(c.Fx.Results, func(r *actor.Request) bool { return r.Op == actor.Unlock && r.OnDone != nil })
}

// settled reports whether a close leaves nothing behind that a server would still let go. These must all be true:
//   - no message is left that could cause a release
//   - no lock is held, or the round that rejects waiters is over: one that was to be handed off to a waiter is then
//     being released
//   - no lock is being released or acquired and no TTL is to fall, or no reply is expected
func (c *Coordinator) settled() bool {
	if c.DrainRound.On() && c.Fx.HeldLocks > 0 || c.intake.mayRelease() {
		return false
	}
	return c.Fx.ReleasingLocks == 0 && c.Fx.AcquiringLocks == 0 && c.Fx.LoweringLocks == 0 || c.expectsNoReplyOrProbe()
}

// expectsNoReplyOrProbe reports whether no reply is expected, also not to a first probe. Unlike
// [Coordinator.expectsNoReply] it waits for the first probe of a server that closed a connection: often a new one can
// be made at once.
func (c *Coordinator) expectsNoReplyOrProbe() bool {
	return c.expectsNoReply() && !slices.ContainsFunc(c.Nodes, func(n *Node) bool { return n.slots > 0 && n.Breaker.mayRecover() })
}

// close starts to end every hold and every request. No command is sent and no lock is granted from then on.
func (c *Coordinator) close(now time.Duration, requests ...*actor.Request) {
	c.Closed = true
	for _, r := range c.shutdownWaiters {
		c.endShutdownWait(now, r, actor.ErrClosed, nil)
	}
	c.shutdownWaiters = nil
	c.DrainRound, c.fanouts, c.fanoutOf, c.Fx.Rejecting = round{}, nil, nil, nil
	c.movesSubscriptions = false // it steps locks, which may set timers; these are stopped soon
	c.closing = closing{round: c.NewRound(), closeRequests: requests}
}

// closeSome ends the next locks. Once all have ended, it rejects some of the messages that have not been handled.
func (c *Coordinator) closeSome(now time.Duration) {
	for looks := c.intake.lockBudget; looks > 0 && c.closing.On(); looks-- {
		if l := c.closing.Left[0]; l.Key() != "" && !l.Close(now, c.Fx) { // it may have ended in the meantime
			return
		}
		c.closing.take(1)
	}
	if !c.closing.On() && c.rejectSome(now) {
		c.closeRest(now)
	}
}

// closeRest ends the requests that wait at no lock: the coordinator reaches them only through their timers. Then it
// completes the close.
func (c *Coordinator) closeRest(now time.Duration) {
	if c.closing.closeRequests == nil {
		return
	}
	c.Fx.OtherTimers.Stop(func(t *wheel.Timer[actor.TimerTarget]) {
		if r, ok := t.Value.(*actor.Request); ok {
			c.Fx.Complete(now, r, actor.ErrClosed, nil)
		}
	})
	for _, r := range c.closing.closeRequests {
		c.Fx.Complete(now, r, nil, nil)
	}
	c.closing.closeRequests = nil
}

// ClosePending reports whether the close has work left.
func (c *Coordinator) ClosePending() bool {
	return c.closing.closeRequests != nil || c.MessagesLeft() > 0 || c.Results.pending()
}
