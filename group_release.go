package lockwheel

import (
	"context"
	"errors"
	"slices"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/actor/quorum"
	"github.com/lockwheel/lockwheel/engine"
)

// unlock implements Hold.Unlock for several locks.
func (g *group) unlock(ctx context.Context) error {
	first := g.leave(g.hold.fail(ErrNotHeld, nil))
	if end := g.end.Load(); end != unlocked {
		return g.hold.fail(end.err, end.cause)
	}
	if g.released.Load() {
		return g.hold.fail(ErrNotHeld, nil)
	}
	r, enough := g.releases()
	r.again = !first
	r.send()
	agreed := r.collect(ctx, enough)
	r.forsake(errStillAsked)
	if agreed < enough {
		return r.refusal() // for a second call: members with a release without a reply so far
	}
	g.released.Store(true)
	if r.before >= enough {
		return g.hold.fail(ErrNotHeld, nil)
	}
	return nil
}

// releases returns a round that releases all members, and the number of releases that are required. A missing member
// needs no release if it is known that no request has acquired it or can. If a request is in flight, the round waits
// for its result.
func (g *group) releases() (r *round, enough int) {
	r, enough = newRound(g), g.need
	made := make(chan struct{})
	g.tell(func() {
		for i := range g.members {
			if h := g.members[i].hold.Load(); h != nil {
				r.add(i, h, actor.Unlock, 0)
			}
		}
		r.held = len(r.calls)
		for i := range g.members {
			switch m := &g.members[i]; {
			case m.hold.Load() != nil:
			case m.call != nil:
				if m.parting == nil {
					m.parting = &parting{}
				}
				m.parting.waiting = append(m.parting.waiting, place{r, len(r.calls)})
				r.add(i, m.coming, actor.Unlock, 0)
			case !m.unsure:
				enough--
			}
		}
		g.actor.Leave()
		close(made)
	})
	<-made
	return r, max(1, enough)
}

// parting is the state of a request for a member of a group that was unlocked meanwhile. Owned by the desk.
type parting struct {
	cancelled bool
	waiting   []place // calls that wait for the result
}

// place is a call of a round.
type place struct {
	round *round
	at    int
}

// part handles the result of the request, and releases what was granted.
//
// A request that was in flight when it was canceled may still be granted; its engine then releases it. The reply to a
// new try comes after that. So part sends one such try if an Unlock waits.
func (m *member) part(call *engine.Call, h *Hold) {
	waiting := m.parting.waiting
	if m.unsure && m.parting.cancelled && len(waiting) > 0 && call.Err != ErrClosed {
		m.parting.cancelled = false
		m.ask(quorum.Order{Once: true})
		return
	}
	m.parting.waiting = nil
	granted := call.Err == nil && !m.unsure
	if granted {
		m.hold.Store(h) // if no call waits for the grant, the request was canceled, and its engine releases it
	}
	for _, p := range waiting {
		switch {
		case granted:
			p.round.holds[p.at], p.round.calls[p.at].Hold = h, &h.grant // the hold can belong to a later request than at first
			p.round.post(p.at)
		case m.unsure:
			p.round.fail(p.at, errStillAsked)
		default:
			p.round.told <- verdicts{first: p.at, last: p.at + 1} // there is nothing to release
		}
	}
}

// errStillAsked is for a member that may or may not be held.
var errStillAsked = errors.New("it is not known whether it was granted")

// abandon cancels a request when no Unlock waits for it any more. Otherwise requests would accumulate at a server
// that does not reply.
func (m *member) abandon() {
	if p := m.parting; m.call != nil && len(p.waiting) == 0 && !p.cancelled {
		p.cancelled = true
		m.lock.engine.loop.Cancel(m.call, context.Canceled)
	}
}

func (r *round) fail(at int, cause error) {
	r.calls[at].Err, r.calls[at].Cause = ErrUnavailable, cause
	r.told <- verdicts{first: at, last: at + 1}
}

// leaveApart cancels the calls in flight at several engines: the results arrive at once.
func (r *round) leaveApart(cause error) {
	for i := range r.held {
		r.cancel(i, cause)
	}
	r.forsake(actor.Left{Cause: cause})
	if r.held < len(r.calls) {
		r.group.tell(func() {
			for i := r.held; i < len(r.calls); i++ {
				if r.calls[i].Told != nil { // the call was posted
					r.cancel(i, cause)
				}
			}
		})
	}
}

func (r *round) cancel(i int, cause error) {
	r.group.members[r.asked[i]].lock.engine.loop.Cancel(&r.calls[i], cause)
}

// forsake stops waiting for the results of acquires. Their grants are released nevertheless.
func (r *round) forsake(cause error) {
	if r.held == len(r.calls) {
		return
	}
	r.group.tell(func() {
		for i := r.held; i < len(r.calls); i++ {
			m := &r.group.members[r.asked[i]]
			p := m.parting
			if at := slices.Index(p.waiting, place{r, i}); at >= 0 {
				p.waiting = slices.Delete(p.waiting, at, at+1)
				r.fail(i, cause)
			}
			m.abandon()
		}
	})
}
