package lockwheel

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

// unlock is Hold.Unlock of several locks.
func (g *group) unlock(ctx context.Context) error {
	if g.leave(g.hold.fail(ErrNotHeld, nil)) {
		return g.ask(ctx, actor.Unlock, 0)
	}
	if end := g.end.Load(); end != unlocked {
		return g.hold.fail(end.err, end.cause)
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
	err := g.ask(ctx, actor.Extend, d)
	switch {
	case !g.apart:
	case err == nil:
		g.tell(func() { g.watch(d == 0) })
	case d != 0:
		g.tell(g.goOn)
	}
	if end := g.end.Load(); err != nil && end != nil { // its members were released because of it, which was not its user
		return g.hold.fail(end.err, end.cause)
	}
	return err
}

// goOn has all members watched as before, after an extension to which no majority agreed. Some may have that lease now.
func (g *group) goOn() {
	for i := range g.members {
		if h := g.members[i].hold.Load(); h != nil && g.actor.Watched() {
			h.engine.loop.Post(h.request(nil, actor.Extend, 0))
		}
	}
}

// ask sends a request to all members and waits until enough of them have agreed, or all have answered. If ctx
// ends first, those without an answer are not waited for.
func (g *group) ask(ctx context.Context, what actor.Kind, lease time.Duration) error {
	r := newRound(g)
	for i := range g.members {
		if h := g.members[i].hold.Load(); h != nil {
			r.add(i, h, what, lease)
		}
	}
	enough := g.need
	if what == actor.Unlock { // what is missing has nothing to be released, and nobody else waits for it
		enough = max(1, g.need-(len(g.members)-len(r.calls)))
	}
	r.send()
	agreed := r.collect(ctx, enough)
	switch {
	case agreed >= enough:
		return nil
	case len(r.failed) > 0:
		return lockErrors(r.failed)
	}
	return g.tooFew()
}

// tooFew says why there were not enough members to ask: they ended at this moment, or their engines are closed.
func (g *group) tooFew() error {
	for i := range g.members {
		if m := &g.members[i]; m.hold.Load() == nil && m.past.Load() != nil {
			end := g.without(m.past.Load())
			return g.hold.fail(end.err, end.cause)
		}
	}
	return g.hold.fail(ErrClosed, nil)
}

// round is one request to all members of a group. It belongs to the goroutine of the caller.
type round struct {
	group  *group
	asked  []int         // which members
	holds  []*Hold       // theirs
	calls  []engine.Call // for them; a loop's until it was told
	told   chan int      // which call has its verdict, or everyOne; never blocks a loop
	open   atomic.Int32  // verdicts to come, of calls for one engine
	sent   int
	failed []error
}

// everyOne stands for all calls: those for one engine are answered together, so the caller wakes once.
const everyOne = -1

func newRound(g *group) *round {
	n := len(g.members)
	return &round{group: g, asked: make([]int, 0, n), holds: make([]*Hold, 0, n), calls: make([]engine.Call, 0, n), told: make(chan int, n)}
}

func (r *round) add(i int, h *Hold, what actor.Kind, lease time.Duration) {
	r.asked = append(r.asked, i)
	r.holds = append(r.holds, h)
	r.calls = append(r.calls, engine.Call{Request: actor.Request{Tag: what, Name: h.name, Hold: &h.grant, Lease: lease}})
}

// send posts the calls. Those for one engine come in one turn, so that they leave together.
func (r *round) send() {
	if r.group.apart {
		r.sendApart()
		return
	}
	if len(r.calls) == 0 {
		return
	}
	r.open.Store(int32(len(r.calls)))
	answered := r.answered
	for i := range r.calls {
		r.calls[i].Told = answered
	}
	if r.group.members[0].lock.engine.loop.PostAll(r.calls) {
		r.sent = len(r.calls)
	}
}

// answered is called on the loop for each verdict of one engine.
func (r *round) answered() {
	if r.open.Add(-1) == 0 {
		r.told <- everyOne
	}
}

func (r *round) sendApart() {
	for i := range r.calls {
		call := &r.calls[i]
		call.Told = func() { r.told <- i }
		if r.group.members[r.asked[i]].lock.engine.loop.Post(call) {
			r.sent++
		}
	}
}

// collect returns how many members agreed: at least enough, or all that did.
func (r *round) collect(ctx context.Context, enough int) (agreed int) {
	done := ctx.Done()
	for waiting := r.sent; waiting > 0 && agreed < enough; {
		select {
		case <-done:
			cause := context.Cause(ctx)
			if what := r.calls[0].Tag; ends(what, &r.group.hold.grant, cause) {
				outer, cancel := beyond(ctx, func(end error) bool { return ends(what, &r.group.hold.grant, end) })
				defer cancel()
				ctx, done = outer, outer.Done()
				continue
			}
			r.giveUp(cause)
			done = nil // the verdicts come at once
		case i := <-r.told:
			first, last := i, i+1
			if i == everyOne {
				first, last = 0, len(r.calls)
			}
			waiting -= last - first
			agreed += r.agreed(first, last)
		}
	}
	return agreed
}

// agreed counts those of some calls that succeeded, and notes why the others failed.
func (r *round) agreed(first, last int) (count int) {
	for i := first; i < last; i++ {
		if err := r.holds[i].outcome(&r.calls[i]); err != nil {
			r.failed = append(r.failed, err)
		} else {
			count++
		}
	}
	return count
}

func (r *round) giveUp(cause error) {
	for i, at := range r.asked {
		r.group.members[at].lock.engine.loop.Cancel(&r.calls[i], cause)
	}
}
