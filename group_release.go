package lockwheel

import (
	"context"
	"errors"
	"slices"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/actor/quorum"
	"github.com/lockwheel/lockwheel/engine"
)

// unlock is Hold.Unlock of several locks.
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
		return r.refusal() // of a second call it is about members whose release has no answer yet
	}
	g.released.Store(true)
	if r.before >= enough {
		return g.hold.fail(ErrNotHeld, nil)
	}
	return nil
}

// releases is a round that releases all members, and how many of them have to be. A member that is missing has nothing to be released, and
// nobody else waits for it, if it is known that no request has brought it nor can: that of one that is under way is waited for as well.
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

// parting is what becomes of the request for a member whose group was unlocked meanwhile. The desk's.
type parting struct {
	cancelled bool
	waiting   []place // who waits for that
}

// place is a call of a round.
type place struct {
	round *round
	at    int
}

// part takes in the verdict on the request: what was granted is released. A question that was under way when it was withdrawn may be granted to
// nobody, and then be given back. Whoever tries once now is answered after that.
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
		m.hold.Store(h) // when no call waits for it, it was withdrawn, and its engine gives it back
	}
	for _, p := range waiting {
		switch {
		case granted:
			p.round.holds[p.at], p.round.calls[p.at].Hold = h, &h.grant // maybe of another request than at first
			p.round.post(p.at)
		case m.unsure:
			p.round.fail(p.at, errStillAsked)
		default:
			p.round.told <- verdicts{first: p.at, last: p.at + 1} // nothing is there to be released
		}
	}
}

// errStillAsked is for a member of which it is not known whether it is held.
var errStillAsked = errors.New("it is not known whether it was granted")

// abandon withdraws a request for a member when no Unlock waits for what becomes of it any more. Those that a server which says nothing has not
// answered would be in the way of all that come later.
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

// leaveApart gives up what is under way at several engines: the verdicts come at once.
func (r *round) leaveApart(cause error) {
	for i := range r.held {
		r.cancel(i, cause)
	}
	r.forsake(actor.Left{Cause: cause})
	if r.held < len(r.calls) {
		r.group.tell(func() {
			for i := r.held; i < len(r.calls); i++ {
				if r.calls[i].Told != nil { // it was posted
					r.cancel(i, cause)
				}
			}
		})
	}
}

func (r *round) cancel(i int, cause error) {
	r.group.members[r.asked[i]].lock.engine.loop.Cancel(&r.calls[i], cause)
}

// forsake gives up what waits for requests. Their grants are released all the same.
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
