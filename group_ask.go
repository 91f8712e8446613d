package lockwheel

import (
	"context"
	"errors"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

// unlock is Hold.Unlock of several locks.
func (g *group) unlock(ctx context.Context) error {
	if g.over.CompareAndSwap(false, true) {
		g.hold.grant.End(ErrNotHeld, nil, g.hold.fail(ErrNotHeld, nil))
		return g.ask(ctx, actor.Unlock, 0, g.need)
	}
	s := g.hold.grant.Signal()
	if s == nil || s.Err != ErrNotHeld {
		return g.hold.over(ErrLost)
	}
	if err := g.ask(ctx, actor.Unlock, 0, g.need); !errors.Is(err, ErrNotHeld) {
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
	return g.ask(ctx, actor.Extend, d, g.need)
}

// ask sends a request to all members and waits until enough of them have agreed, or all have answered. If ctx
// ends first, those without an answer are not waited for.
func (g *group) ask(ctx context.Context, what actor.Kind, lease time.Duration, enough int) error {
	told := make(chan int, len(g.members)) // never blocks a loop
	calls := make([]*engine.Call, len(g.members))
	holds := make([]*Hold, len(g.members))
	for i := range g.members {
		holds[i] = g.members[i].hold.Load()
	}
	waiting := g.send(calls, holds, told, what, lease)
	done, agreed := ctx.Done(), 0
	var failed []error
	for ; waiting > 0 && agreed < enough; waiting-- {
		select {
		case <-done:
			g.giveUp(calls, context.Cause(ctx))
			done = nil
			waiting++
			continue
		case i := <-told:
			if err := holds[i].outcome(calls[i]); err != nil {
				failed = append(failed, err)
			} else {
				agreed++
			}
		}
	}
	switch {
	case agreed >= enough:
		return nil
	case len(failed) == 0:
		return g.hold.fail(ErrClosed, nil)
	}
	return errors.Join(failed...)
}

// send posts a request to each member that is held, and returns to how many. Those of one engine come in one
// turn, so that they leave together.
func (g *group) send(calls []*engine.Call, holds []*Hold, told chan<- int, what actor.Kind, lease time.Duration) (sent int) {
	var same []*engine.Call
	for i := range g.members {
		m := &g.members[i]
		if what == actor.Unlock {
			m.forget()
		}
		if holds[i] == nil {
			continue
		}
		calls[i] = holds[i].request(func() { told <- i }, what, lease)
		if !g.apart {
			same = append(same, calls[i])
		} else if m.lock.engine.loop.Post(calls[i]) {
			sent++
		}
	}
	if len(same) > 0 && g.members[0].lock.engine.loop.PostAll(same) {
		sent = len(same)
	}
	return sent
}

func (g *group) giveUp(calls []*engine.Call, cause error) {
	for i, call := range calls {
		if call != nil {
			g.members[i].lock.engine.loop.Cancel(call, cause)
		}
	}
}
