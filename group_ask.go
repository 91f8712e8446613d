package lockwheel

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

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
	r.held = len(r.calls)
	r.send()
	if r.collect(ctx, g.need) >= g.need {
		return nil
	}
	return r.refusal()
}

// refusal is why too few members have agreed.
func (r *round) refusal() error {
	if len(r.failed.all) > 0 {
		return r.failed.all
	}
	return r.group.tooFew()
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
	held   int           // calls for members that were held. The others wait for what becomes of a request
	told   chan verdicts // of some calls; never blocks a loop
	failed failures
	again  bool // it asks for a release that was asked for before
	before int  // members that say so of theirs, and that it was answered

	// Of one engine: some are asked at a time. The loop's, from one verdict to the next.
	open   atomic.Int32 // verdicts to come
	begun  atomic.Int32 // how many were posted
	giveUp atomic.Bool  // the caller has left: what is not posted yet is not waited for
}

// verdicts are those of calls that follow each other.
type verdicts struct {
	first, last int
	shut        bool // there are none, nor of any further call: the engine is closed
}

func newRound(g *group) *round {
	n := len(g.members)
	r := &round{group: g, asked: make([]int, 0, n), holds: make([]*Hold, 0, n), calls: make([]engine.Call, 0, n)}
	if g.apart {
		r.told = make(chan verdicts, n)
	} else {
		r.told = make(chan verdicts, n/sliceMost+2)
	}
	return r
}

func (r *round) add(i int, h *Hold, what actor.Kind, lease time.Duration) {
	r.asked = append(r.asked, i)
	r.holds = append(r.holds, h)
	r.calls = append(r.calls, engine.Call{Request: actor.Request{Tag: what, Name: h.name, Hold: &h.grant, Lease: lease}})
}

// send posts the calls. Those for one engine come some in a turn, so that they leave together, and the next ones when these are
// answered, so that others come in between.
func (r *round) send() {
	switch {
	case r.group.apart:
		r.sendApart()
	case len(r.calls) > 0:
		r.begun.Store(int32(min(sliceMost, len(r.calls)))) // before the loop can go on
		r.next(0, sliceMost)
	}
}

// next posts so many calls at most. Those of which begun does not tell yet are not given up.
func (r *round) next(first, most int) {
	last := min(first+most, len(r.calls))
	some := r.calls[first:last]
	r.open.Store(int32(len(some)))
	answered := func() { r.answered(first, last) }
	for i := range some {
		some[i].Told = answered
	}
	if !r.group.members[0].lock.engine.loop.PostAll(some) {
		r.told <- verdicts{first, last, true}
		return
	}
	if first > 0 {
		r.begun.Store(int32(last))
	}
}

// answered is called on the loop for each verdict of one engine. Where there was no answer, the others are not to wait for it. What
// ends a hold goes on also without the caller.
func (r *round) answered(first, last int) {
	if r.open.Add(-1) > 0 {
		return
	}
	silent, end := unanswered(r.calls[first:last]), r.calls[first].Tag == actor.Unlock
	switch {
	case last == len(r.calls):
	case silent && end:
		r.next(last, len(r.calls))
	case !r.giveUp.Load() || end:
		r.next(last, sliceMost)
	}
	r.told <- verdicts{first: first, last: last}
}

func (r *round) sendApart() {
	for i := range r.held {
		r.post(i)
	}
}

// post posts one call of many engines.
func (r *round) post(i int) {
	call := &r.calls[i]
	call.Told = func() { r.told <- verdicts{first: i, last: i + 1} }
	if !r.group.members[r.asked[i]].lock.engine.loop.Post(call) {
		r.told <- verdicts{i, i + 1, true}
	}
}

// collect returns how many members agreed: at least enough, or all that did.
func (r *round) collect(ctx context.Context, enough int) (agreed int) {
	done := ctx.Done()
	all := len(r.calls) // that are waited for
	for had := 0; had < all && agreed < enough; {
		select {
		case <-done:
			cause := r.group.members[0].lock.engine.contexts.cause(ctx)
			what, name := r.calls[0].Tag, r.group.hold.name
			if ends(what, &r.group.hold.grant, name, cause) {
				outer, cancel := beyond(ctx, func(end error) bool { return ends(what, &r.group.hold.grant, name, end) })
				defer cancel()
				ctx, done = outer, outer.Done()
				continue
			}
			all = r.leave(cause)
			done = nil // the verdicts come at once
		case v := <-r.told:
			if v.shut && !r.group.apart {
				return agreed
			}
			had += v.last - v.first
			if !v.shut {
				agreed += r.agreed(v.first, v.last)
			}
		}
	}
	return agreed
}

// agreed counts those of some calls that succeeded, and notes why the others failed.
func (r *round) agreed(first, last int) (count int) {
	for i := first; i < last; i++ {
		switch err := r.calls[i].Err; {
		case err == nil:
			count++
		case r.again && (err == ErrNotHeld || err == ErrLost):
			r.before++
			count++
		case r.failed.wants(err):
			r.failed.add(err, r.holds[i].outcome(&r.calls[i]))
		}
	}
	return count
}

// leave gives up what was posted and returns how much that is: the rest is not waited for.
func (r *round) leave(cause error) (posted int) {
	if r.group.apart {
		r.leaveApart(cause)
		return len(r.calls)
	}
	r.giveUp.Store(true)
	posted = int(r.begun.Load())
	for i, at := range r.asked[:posted] {
		r.group.members[at].lock.engine.loop.Cancel(&r.calls[i], cause)
	}
	if posted < len(r.calls) {
		r.failed.add(ErrUnavailable, r.holds[posted].fail(ErrUnavailable, actor.Left{Cause: cause}))
	}
	return posted
}

// failuresMost is how many errors of one call are kept: of very many locks they mostly say the same.
const failuresMost = 64

// failures are why some locks did not agree: the first of them, and one of each further verdict.
type failures struct {
	all      lockErrors
	verdicts []error
}

func (f *failures) wants(verdict error) bool {
	return len(f.all) < failuresMost || !slices.Contains(f.verdicts, verdict)
}

func (f *failures) add(verdict, err error) {
	f.all = append(f.all, err)
	if !slices.Contains(f.verdicts, verdict) {
		f.verdicts = append(f.verdicts, verdict)
	}
}
