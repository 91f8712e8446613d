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
func (g *multiHold) unlock(ctx context.Context) error {
	first := g.endByUnlock(g.hold.fail(ErrNotHeld, nil))
	if end := g.ended.Load(); end != endedByUnlock {
		return g.hold.fail(end.err, end.cause)
	}
	if g.unlockDone.Load() {
		return g.hold.fail(ErrNotHeld, nil)
	}
	r, enough := g.newReleaseRound()
	r.repeated = !first
	r.send()
	agreed := r.wait(ctx, enough)
	r.abandonPending(errMaybeHeld)
	if agreed < enough {
		return r.err() // for a second call: members with a release without a reply so far
	}
	g.unlockDone.Store(true)
	if r.releasedBefore >= enough {
		return g.hold.fail(ErrNotHeld, nil)
	}
	return nil
}

// newReleaseRound returns a round that releases all members, and the number of releases that are required. A missing member
// needs no release if it is known that no request has acquired it or can. If a request is in flight, the round waits
// for its result.
func (g *multiHold) newReleaseRound() (r *round, enough int) {
	r, enough = newRound(g), g.required
	made := make(chan struct{})
	g.apply(func() {
		for i := range g.members {
			if h := g.members[i].hold.Load(); h != nil {
				r.add(i, h, actor.Unlock, 0)
			}
		}
		r.heldCalls = len(r.calls)
		for i := range g.members {
			switch m := &g.members[i]; {
			case m.hold.Load() != nil:
			case m.pendingCall != nil:
				if m.release == nil {
					m.release = &pendingRelease{}
				}
				m.release.waiting = append(m.release.waiting, roundCall{r, len(r.calls)})
				r.add(i, m.pendingHold, actor.Unlock, 0)
			case !m.maybeHeld:
				enough--
			}
		}
		g.actor.Unlock()
		close(made)
	})
	<-made
	return r, max(1, enough)
}

// pendingRelease is the state of a request for a member of a group that was unlocked meanwhile. Owned by the executor.
type pendingRelease struct {
	canceled bool
	waiting  []roundCall // calls that wait for the result
}

// roundCall is a call of a round.
type roundCall struct {
	round *round
	index int
}

// finishRelease handles the result of the request, and releases what was granted.
//
// A request that was in flight when it was canceled may still be granted; its engine then releases it. The reply to a
// new try comes after that. So part sends one such try if an Unlock waits.
func (m *member) finishRelease(call *engine.Call, h *Hold) {
	waiting := m.release.waiting
	if m.maybeHeld && m.release.canceled && len(waiting) > 0 && call.Err != ErrClosed {
		m.release.canceled = false
		m.request(quorum.Action{Once: true})
		return
	}
	m.release.waiting = nil
	granted := call.Err == nil && !m.maybeHeld
	if granted {
		m.hold.Store(h) // if no call waits for the grant, the request was canceled, and its engine releases it
	}
	for _, p := range waiting {
		switch {
		case granted:
			p.round.holds[p.index], p.round.calls[p.index].Hold = h, &h.grant // the hold can belong to a later request than at first
			p.round.post(p.index)
		case m.maybeHeld:
			p.round.fail(p.index, errMaybeHeld)
		default:
			p.round.results <- callResults{first: p.index, last: p.index + 1} // there is nothing to release
		}
	}
}

// errMaybeHeld is for a member that may or may not be held.
var errMaybeHeld = errors.New("it is not known whether it was granted")

// withdrawIfUnused cancels a request when no Unlock waits for it any more. Otherwise requests would accumulate at a server
// that does not reply.
func (m *member) withdrawIfUnused() {
	if p := m.release; m.pendingCall != nil && len(p.waiting) == 0 && !p.canceled {
		p.canceled = true
		m.lock.engine.loop.Cancel(m.pendingCall, context.Canceled)
	}
}

func (r *round) fail(at int, cause error) {
	r.calls[at].Err, r.calls[at].Cause = ErrUnavailable, cause
	r.results <- callResults{first: at, last: at + 1}
}

// cancelPerEngine cancels the calls in flight at several engines: the results arrive at once.
func (r *round) cancelPerEngine(cause error) {
	for i := range r.heldCalls {
		r.cancel(i, cause)
	}
	r.abandonPending(actor.CallerGone{Cause: cause})
	if r.heldCalls < len(r.calls) {
		r.parent.apply(func() {
			for i := r.heldCalls; i < len(r.calls); i++ {
				if r.calls[i].OnDone != nil { // the call was posted
					r.cancel(i, cause)
				}
			}
		})
	}
}

func (r *round) cancel(i int, cause error) {
	r.parent.members[r.members[i]].lock.engine.loop.Cancel(&r.calls[i], cause)
}

// abandonPending stops waiting for the results of acquires. Their grants are released nevertheless.
func (r *round) abandonPending(cause error) {
	if r.heldCalls == len(r.calls) {
		return
	}
	r.parent.apply(func() {
		for i := r.heldCalls; i < len(r.calls); i++ {
			m := &r.parent.members[r.members[i]]
			p := m.release
			if at := slices.Index(p.waiting, roundCall{r, i}); at >= 0 {
				p.waiting = slices.Delete(p.waiting, at, at+1)
				r.fail(i, cause)
			}
			m.withdrawIfUnused()
		}
	})
}
