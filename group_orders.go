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

// tell brings an event to the actor, and carries out what it orders.
func (g *group) tell(event func()) {
	g.desk.bring(func() {
		event()
		for len(g.actor.Orders) > 0 { // an order can be an event
			orders := g.actor.Orders
			g.actor.Orders = nil
			for _, o := range orders {
				g.carryOut(o)
			}
		}
	})
}

// now is the moment on the group's clock.
func (g *group) now() time.Duration { return time.Since(g.begun) }

func (g *group) carryOut(o quorum.Order) {
	m := &g.members[o.Member]
	switch o.What {
	case quorum.Ask:
		m.ask(o)
	case quorum.Withdraw:
		if m.call != nil { // nil: it could not be posted
			m.lock.engine.loop.Cancel(m.call, context.Canceled)
			m.call, m.coming = nil, nil
		}
	case quorum.LetGo:
		if !g.left {
			m.letGo()
		}
		if g.end.Load() == nil {
			m.hold.Store(nil)
		}
	case quorum.Rest:
		time.AfterFunc(o.Wait/2+rand.N(o.Wait/2), func() { g.tell(func() { g.actor.Rested(g.now()) }) })
	case quorum.Recall:
		time.AfterFunc(m.lock.engine.options.Renew, func() { g.tell(func() { g.actor.Recalled(m.at) }) })
	case quorum.Elect:
		g.elected()
	case quorum.Dismiss:
		g.outcome <- g.refusal()
	case quorum.Lose:
		g.lose(m)
	}
}

// ask sends a request for the member, as the owner of the group.
func (m *member) ask(o quorum.Order) {
	g, on := m.group, m.lock.engine
	m.coming = &Hold{engine: on, name: m.lock.name, parent: g.Context}
	call := engine.NewTold(nil)
	call.Told = func() { g.tell(func() { m.decided(call) }) }
	call.Tag = actor.Acquire
	call.Name, call.Key, call.Kind, call.Hold = m.lock.name, m.lock.key(), m.lock.kind, &m.coming.grant
	call.Owner = ownerOf(g.Context, on, m.lock.name)
	call.Lease, call.Wait, call.Once = g.lease, o.Wait, o.Once
	if m.call = call; !on.loop.Post(call) {
		call.Err = ErrClosed
		m.decided(call)
	}
}

// decided takes in the verdict on a request. One that was withdrawn is nobody's: its engine gives the grant back.
func (m *member) decided(call *engine.Call) {
	if m.call != call {
		return
	}
	g, h := m.group, m.coming
	m.call, m.coming = nil, nil
	if m.why = nil; call.Err == nil {
		g.actor.Granted(g.now(), m.at)
		m.adopt(h, &actor.Signal{})
		return
	}
	m.why = m.lock.fail(call.Err, call.Cause)
	g.actor.Refused(g.now(), m.at, refusalOf(m.why))
}

// refusalOf says what a refusal means for a quorum.
func refusalOf(err error) quorum.Refusal {
	switch {
	case errors.Is(err, ErrNotAcquired):
		return quorum.Taken
	case errors.Is(err, ErrUnavailable), errors.Is(err, context.Canceled):
		return quorum.Unsure
	case errors.Is(err, ErrClosed):
		return quorum.Shut
	}
	return quorum.Barred
}

// watch says whether members that are missing are wanted from now on, watched like the others.
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
