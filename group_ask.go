package lockwheel

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

// extend implements Hold.Extend for several locks.
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
	if end := g.end.Load(); err != nil && end != nil { // the members were released because the group was lost
		return g.hold.fail(end.err, end.cause)
	}
	return err
}

// goOn makes all members watched as before, after an extension without a majority. Some may have the new lease by
// now.
func (g *group) goOn() {
	for i := range g.members {
		if h := g.members[i].hold.Load(); h != nil && g.actor.Watched() {
			h.engine.loop.Post(h.request(nil, actor.Extend, 0))
		}
	}
}

// ask sends a request to all members. It waits until enough of them have succeeded or all have a result. If ctx ends
// first, it does not wait for the others.
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

// refusal returns why too few members succeeded.
func (r *round) refusal() error {
	if len(r.failed.all) > 0 {
		return r.failed.all
	}
	return r.group.tooFew()
}

// tooFew returns the error for a group with too few members to ask: they have just ended, or their engines are
// closed.
func (g *group) tooFew() error {
	for i := range g.members {
		if m := &g.members[i]; m.hold.Load() == nil && m.past.Load() != nil {
			end := g.without(m.past.Load())
			return g.hold.fail(end.err, end.cause)
		}
	}
	return g.hold.fail(ErrClosed, nil)
}

// round is one request to all members of a group. It belongs to the caller's goroutine.
type round struct {
	group  *group
	asked  []int         // indices of the members
	holds  []*Hold       // the holds of these members
	calls  []engine.Call // the calls for them; each belongs to a loop until its result
	held   int           // number of calls for members that were held. The others wait for the result of an acquire
	told   chan verdicts // results of some calls; a send never blocks a loop
	failed failures
	again  bool // a repeated Unlock
	before int  // members that a previous Unlock has already released, as confirmed by the server

	// For members of one engine, which are asked in slices. Owned by the loop between the results.
	open   atomic.Int32 // results still to come
	begun  atomic.Int32 // number of calls posted
	giveUp atomic.Bool  // the caller has stopped waiting, also for calls not yet posted
}

// verdicts are the results of consecutive calls.
type verdicts struct {
	first, last int
	shut        bool // there are no results, and none for later calls: the engine is closed
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

// send posts the calls. For one engine it posts a slice in one turn, so that they are batched. The next slice follows
// after the replies, so that other commands run in between.
func (r *round) send() {
	switch {
	case r.group.apart:
		r.sendApart()
	case len(r.calls) > 0:
		r.begun.Store(int32(min(sliceMost, len(r.calls)))) // before the loop can go on
		r.next(0, sliceMost)
	}
}

// next posts at most that many calls. Calls beyond begun are not canceled.
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

// answered runs on the loop for each result of one engine. If the server did not reply, it posts the remaining
// releases at once. Releases continue even if the caller has stopped waiting.
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

// post posts one call of several engines.
func (r *round) post(i int) {
	call := &r.calls[i]
	call.Told = func() { r.told <- verdicts{first: i, last: i + 1} }
	if !r.group.members[r.asked[i]].lock.engine.loop.Post(call) {
		r.told <- verdicts{i, i + 1, true}
	}
}

// collect returns the number of members that succeeded: at least enough, or all that did.
func (r *round) collect(ctx context.Context, enough int) (agreed int) {
	done := ctx.Done()
	all := len(r.calls) // calls that are waited for
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
			done = nil // the results arrive at once
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

// agreed counts the successful calls of a range, and records the errors of the others.
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

// leave cancels the posted calls and returns their number: the rest is not waited for.
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

// failuresMost is the maximum number of errors kept for one call: those of very many locks are mostly equal.
const failuresMost = 64

// failures contains why some locks failed: the first errors, and one for each further result.
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
