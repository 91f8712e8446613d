package lockwheel

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

// unlock is Hold.Unlock of several locks.
func (g *group) unlock(ctx context.Context) error {
	if g.over.CompareAndSwap(false, true) {
		g.hold.grant.End(ErrNotHeld, nil, g.hold.fail(ErrNotHeld, nil))
		return g.ask(ctx, actor.Unlock, 0)
	}
	s := g.hold.grant.Signal()
	if s == nil || s.Err != ErrNotHeld {
		return g.hold.over(ErrLost)
	}
	if err := g.ask(ctx, actor.Unlock, 0); !errors.Is(err, ErrNotHeld) {
		return err // of the same release, which is unanswered
	}
	return g.hold.fail(ErrNotHeld, nil)
}

// extend is Hold.Extend of several locks.
func (g *group) extend(ctx context.Context, d time.Duration) error {
	if err := g.err(); err != nil {
		return err
	}
	g.renews.Store(g.apart && d == 0)
	return g.ask(ctx, actor.Extend, d)
}

// ask sends a request to all members and waits until enough of them have agreed, or all have answered. If ctx
// ends first, those without an answer are not waited for.
func (g *group) ask(ctx context.Context, what actor.Kind, lease time.Duration) error {
	r := &round{group: g, calls: make([]engine.Call, len(g.members)), told: make(chan int, len(g.members))}
	for i := range g.members {
		if what == actor.Unlock {
			g.members[i].forget()
		}
		if h := g.members[i].hold.Load(); h != nil {
			r.asked = append(r.asked, i)
			r.holds = append(r.holds, h)
			r.calls[i].Request = actor.Request{Tag: what, Name: h.name, Hold: &h.grant, Lease: lease}
		}
	}
	r.send()
	agreed := r.collect(ctx)
	switch {
	case agreed >= g.need:
		return nil
	case len(r.failed) == 0:
		return g.hold.fail(ErrClosed, nil)
	}
	return errors.Join(r.failed...)
}

// round is one request to all members of a group. It belongs to the goroutine of the caller.
type round struct {
	group  *group
	asked  []int         // which members
	holds  []*Hold       // theirs
	calls  []engine.Call // by member; a loop's until it was told
	told   chan int      // which member has its verdict; never blocks a loop
	sent   int
	failed []error
}

// send posts the calls. Those for one engine come in one turn, so that they leave together.
func (r *round) send() {
	g := r.group
	same := make([]*engine.Call, 0, len(r.asked))
	for _, i := range r.asked {
		call := &r.calls[i]
		call.Told = func() { r.told <- i }
		if !g.apart {
			same = append(same, call)
		} else if g.members[i].lock.engine.loop.Post(call) {
			r.sent++
		}
	}
	if len(same) > 0 && g.members[0].lock.engine.loop.PostAll(same) {
		r.sent = len(same)
	}
}

// collect returns how many members agreed: at least as many as the group needs, or all that did.
func (r *round) collect(ctx context.Context) (agreed int) {
	done := ctx.Done()
	for waiting := r.sent; waiting > 0 && agreed < r.group.need; {
		select {
		case <-done:
			r.giveUp(context.Cause(ctx))
			done = nil // the verdicts come at once
		case i := <-r.told:
			waiting--
			if err := r.holds[slices.Index(r.asked, i)].outcome(&r.calls[i]); err != nil {
				r.failed = append(r.failed, err)
			} else {
				agreed++
			}
		}
	}
	return agreed
}

func (r *round) giveUp(cause error) {
	for _, i := range r.asked {
		r.group.members[i].lock.engine.loop.Cancel(&r.calls[i], cause)
	}
}
