package lockwheel

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/actor/quorum"
	"github.com/lockwheel/lockwheel/engine"
)

// apply passes an event to the actor and executes its orders.
func (g *multiHold) apply(event func()) {
	g.executor.submit(func() {
		event()
		for len(g.actor.Actions) > 0 { // an order can be an event
			orders := g.actor.Actions
			g.actor.Actions = nil
			for _, o := range orders {
				g.execute(o)
			}
			releaseAll(g.toRelease)
			g.toRelease = nil
		}
	})
}

// elapsed returns the time on the group's clock.
func (g *multiHold) elapsed() time.Duration { return time.Since(g.start) }

func (g *multiHold) execute(o quorum.Action) {
	m := &g.members[o.Member]
	switch o.Kind {
	case quorum.Request:
		m.request(o)
	case quorum.CancelRequest:
		m.withdraw()
		if o.NoReply {
			m.err = m.lock.fail(ErrUnavailable, errNoReplySoon)
		}
	case quorum.Release:
		switch {
		case g.releasedByCaller:
		case g.perEngine:
			m.releaseAsync()
		default:
			g.toRelease = append(g.toRelease, m.hold.Load())
		}
		if g.ended.Load() == nil {
			m.hold.Store(nil)
		}
	case quorum.Backoff:
		time.AfterFunc(jitterBackoff(o.Wait), func() { g.apply(func() { g.actor.BackoffOver(g.elapsed()) }) })
	case quorum.LimitStragglers:
		time.AfterFunc(o.Wait, func() { g.apply(func() { g.actor.StragglersOverdue(g.elapsed()) }) })
	case quorum.RetryLater:
		time.AfterFunc(m.lock.engine.options.RenewInterval, func() { g.apply(func() { g.actor.RetryDue(m.index) }) })
	case quorum.Confirm:
		if h := m.hold.Load(); h != nil {
			h.engine.loop.Post(h.request(nil, engine.AskConfirm, 0))
		}
	case quorum.Acquired:
		g.onAcquired()
	case quorum.Failed:
		g.result <- g.quorumFailure()
	case quorum.Lost:
		g.endByLoss(m)
	}
}

// jitterBackoff returns a random pause between half of most and most, so that callers that split a majority do not collide
// again.
func jitterBackoff(most time.Duration) time.Duration { return most/2 + rand.N(most/2) }

// errNoReplySoon is for a member that did not reply soon enough after the others.
var errNoReplySoon = errors.New("no answer soon after the others")

// request sends an acquire for the member, with the owner of the group.
func (m *member) request(o quorum.Action) {
	g, on := m.parent, m.lock.engine
	m.pendingHold = &Hold{engine: on, name: m.lock.name, parent: g.Context}
	call := engine.NewCallback(nil)
	call.OnDone = func() { g.apply(func() { m.onResult(call) }) }
	call.Op = actor.Acquire
	call.Name, call.Key, call.Kind, call.Hold = m.lock.name, m.lock.key(), m.lock.kind, &m.pendingHold.grant
	call.Owner, call.OfQuorum = g.requestOwner(on, m.lock.name), true
	call.Lease, call.Wait, call.Once, call.FailIfDown, call.SkipWaiterLimit = g.lease, o.Wait, o.Once, o.Unheld(), o.SkipWaiterLimit
	m.pendingCall = call
	switch {
	case on.zero():
		call.Err, call.Cause = ErrClosed, errZeroEngine
		m.handleResult(call)
	case !on.loop.Post(call):
		call.Err = ErrClosed
		m.handleResult(call)
	}
}

// withdraw cancels a request. If the group was unlocked, that Unlock keeps waiting for the result. The request is
// canceled in any case: otherwise requests of many holds would accumulate at a server that does not reply.
func (m *member) withdraw() {
	switch {
	case m.pendingCall == nil: // it could not be posted
	case m.release == nil:
		m.lock.engine.loop.Cancel(m.pendingCall, context.Canceled)
		m.pendingCall, m.pendingHold, m.maybeHeld = nil, nil, true
	default:
		m.release.canceled = true
		m.lock.engine.loop.Cancel(m.pendingCall, context.Canceled)
	}
}

// onResult handles the result of a request. It ignores a canceled one: the engine releases its grant.
func (m *member) onResult(call *engine.Call) {
	if m.pendingCall == call {
		m.maybeHeld = m.mayBeHeld(call)
		m.handleResult(call)
	}
}

// mayBeHeld reports whether the server may have granted a failed request, or may still do so. A grant that arrives
// after the cancellation is not reported.
func (m *member) mayBeHeld(call *engine.Call) bool {
	switch call.Err {
	case nil:
		return m.release != nil && m.release.canceled
	case ErrNotAcquired:
		return !call.Final
	case ErrUnavailable, ErrNotReplicated, ErrClosed:
		return true
	}
	return m.maybeHeld // unchanged: the server returned another error
}

// handleResult handles a result like decided, including that of a call that was never sent.
func (m *member) handleResult(call *engine.Call) {
	g, h := m.parent, m.pendingHold
	m.pendingCall, m.pendingHold = nil, nil
	if m.release != nil {
		m.finishRelease(call, h)
		return
	}
	if m.err = nil; call.Err == nil {
		g.actor.MemberAcquired(g.elapsed(), m.index)
		m.attach(h, &actor.HoldSignal{})
		return
	}
	m.err = m.lock.fail(call.Err, call.Cause)
	g.actor.MemberFailed(g.elapsed(), m.index, rejectionOf(call.Err))
}

// rejectionOf returns what a result means for a quorum. It does not use the cause, which may be a caller's error.
func rejectionOf(err error) quorum.Reason {
	switch err {
	case ErrNotAcquired:
		return quorum.HeldByOther
	case ErrUnavailable:
		return quorum.Unknown
	case ErrClosed:
		return quorum.Closed
	case ErrTooManyWaiters:
		return quorum.Full
	}
	return quorum.Rejected
}

// setWatched sets whether missing members are acquired from now on, and watched like the others.
func (g *multiHold) setWatched(on bool) {
	if on {
		g.lease = 0
	}
	g.actor.SetWatched(on)
}

func (g *multiHold) onAcquired() {
	for i := range g.members {
		if h := g.members[i].hold.Load(); h != nil && g.firstHold == nil {
			g.firstHold = h
		}
	}
	g.result <- nil
}
