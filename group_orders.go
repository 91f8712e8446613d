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

// tell passes an event to the actor and executes its orders.
func (g *group) tell(event func()) {
	g.desk.bring(func() {
		event()
		for len(g.actor.Orders) > 0 { // an order can be an event
			orders := g.actor.Orders
			g.actor.Orders = nil
			for _, o := range orders {
				g.carryOut(o)
			}
			letGo(g.letting)
			g.letting = nil
		}
	})
}

// now returns the time on the group's clock.
func (g *group) now() time.Duration { return time.Since(g.begun) }

func (g *group) carryOut(o quorum.Order) {
	m := &g.members[o.Member]
	switch o.What {
	case quorum.Ask:
		m.ask(o)
	case quorum.Withdraw:
		m.withdraw()
		if o.Silent {
			m.why = m.lock.fail(ErrUnavailable, errSilent)
		}
	case quorum.LetGo:
		switch {
		case g.left:
		case g.apart:
			m.letGo()
		default:
			g.letting = append(g.letting, m.hold.Load())
		}
		if g.end.Load() == nil {
			m.hold.Store(nil)
		}
	case quorum.Rest:
		time.AfterFunc(restOf(o.Wait), func() { g.tell(func() { g.actor.Rested(g.now()) }) })
	case quorum.Hurry:
		time.AfterFunc(o.Wait, func() { g.tell(func() { g.actor.Hurried(g.now()) }) })
	case quorum.Recall:
		time.AfterFunc(m.lock.engine.options.Renew, func() { g.tell(func() { g.actor.Recalled(m.at) }) })
	case quorum.Confirm:
		if h := m.hold.Load(); h != nil {
			h.engine.loop.Post(h.request(nil, engine.AskConfirm, 0))
		}
	case quorum.Elect:
		g.elected()
	case quorum.Dismiss:
		g.outcome <- g.failure()
	case quorum.Lose:
		g.lose(m)
	}
}

// restOf returns a random pause between half of most and most, so that callers that split a majority do not collide
// again.
func restOf(most time.Duration) time.Duration { return most/2 + rand.N(most/2) }

// errSilent is for a member that did not reply soon enough after the others.
var errSilent = errors.New("no answer soon after the others")

// ask sends an acquire for the member, with the owner of the group.
func (m *member) ask(o quorum.Order) {
	g, on := m.group, m.lock.engine
	m.coming = &Hold{engine: on, name: m.lock.name, parent: g.Context}
	call := engine.NewTold(nil)
	call.Told = func() { g.tell(func() { m.decided(call) }) }
	call.Tag = actor.Acquire
	call.Name, call.Key, call.Kind, call.Hold = m.lock.name, m.lock.key(), m.lock.kind, &m.coming.grant
	call.Owner, call.Own = g.asks(on, m.lock.name), true
	call.Lease, call.Wait, call.Once, call.IfUp, call.LetIn = g.lease, o.Wait, o.Once, o.Unheld(), o.LetIn
	m.call = call
	switch {
	case on.zero():
		call.Err, call.Cause = ErrClosed, errZeroEngine
		m.answered(call)
	case !on.loop.Post(call):
		call.Err = ErrClosed
		m.answered(call)
	}
}

// withdraw cancels a request. If the group was unlocked, that Unlock keeps waiting for the result. The request is
// canceled in any case: otherwise requests of many holds would accumulate at a server that does not reply.
func (m *member) withdraw() {
	switch {
	case m.call == nil: // it could not be posted
	case m.parting == nil:
		m.lock.engine.loop.Cancel(m.call, context.Canceled)
		m.call, m.coming, m.unsure = nil, nil, true
	default:
		m.parting.cancelled = true
		m.lock.engine.loop.Cancel(m.call, context.Canceled)
	}
}

// decided handles the result of a request. It ignores a canceled one: the engine releases its grant.
func (m *member) decided(call *engine.Call) {
	if m.call == call {
		m.unsure = m.mayHave(call)
		m.answered(call)
	}
}

// mayHave reports whether the server may have granted a failed request, or may still do so. A grant that arrives
// after the cancellation is not reported.
func (m *member) mayHave(call *engine.Call) bool {
	switch call.Err {
	case nil:
		return m.parting != nil && m.parting.cancelled
	case ErrNotAcquired:
		return !call.Settled
	case ErrUnavailable, ErrNotReplicated, ErrClosed:
		return true
	}
	return m.unsure // unchanged: the server returned another error
}

// answered handles a result like decided, including that of a call that was never sent.
func (m *member) answered(call *engine.Call) {
	g, h := m.group, m.coming
	m.call, m.coming = nil, nil
	if m.parting != nil {
		m.part(call, h)
		return
	}
	if m.why = nil; call.Err == nil {
		g.actor.Granted(g.now(), m.at)
		m.adopt(h, &actor.Signal{})
		return
	}
	m.why = m.lock.fail(call.Err, call.Cause)
	g.actor.Refused(g.now(), m.at, refusalOf(call.Err))
}

// refusalOf returns what a result means for a quorum. It does not use the cause, which may be a caller's error.
func refusalOf(err error) quorum.Refusal {
	switch err {
	case ErrNotAcquired:
		return quorum.Taken
	case ErrUnavailable:
		return quorum.Unsure
	case ErrClosed:
		return quorum.Shut
	case ErrTooManyWaiters:
		return quorum.Full
	}
	return quorum.Barred
}

// watch sets whether missing members are acquired from now on, and watched like the others.
func (g *group) watch(on bool) {
	if on {
		g.lease = 0
	}
	g.actor.Watch(on)
}

func (g *group) elected() {
	for i := range g.members {
		if h := g.members[i].hold.Load(); h != nil && g.first == nil {
			g.first = h
		}
	}
	g.outcome <- nil
}
