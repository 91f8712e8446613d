package lockwheel

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/actor/quorum"
	"github.com/lockwheel/lockwheel/engine"
)

// extend implements Hold.Extend for several locks. until is when the caller's wait ends besides; zero: never.
func (g *multiHold) extend(ctx context.Context, d time.Duration, until time.Time) error {
	if err := g.err(); err != nil {
		return err
	}
	err := g.broadcast(ctx, actor.Extend, d, until)
	switch {
	case err == nil:
		g.apply(func() { g.setWatched(d == 0) })
	case d != 0:
		g.apply(g.resumeWatch)
	}
	if end := g.ended.Load(); err != nil && end != nil { // the members were released because the group was lost
		return g.hold.fail(end.err, end.cause)
	}
	var all multiError
	if !errors.Is(err, ErrLost) || !errors.As(err, &all) {
		return err
	}
	if lost := g.err(); lost != nil { // by the clock, before the group has learned of its end
		return lost
	}
	return g.hold.fail(ErrUnavailable, all.withoutKinds(nil)) // a lock is lost, and the group goes on
}

// resumeWatch makes all members watched as before, after an extension of too few. Some may have the new lease by now.
// It does not wait for the replies.
func (g *multiHold) resumeWatch() {
	if g.quorum.Watched() {
		g.roundOfAll(actor.Extend, 0).send()
	}
}

// broadcast sends a request to all members. It waits until enough of them have succeeded or all have a result. If ctx
// ends first, or it is until, it does not wait for the others.
func (g *multiHold) broadcast(ctx context.Context, what actor.Op, lease time.Duration, until time.Time) error {
	r := g.roundOfHeld(what, lease)
	r.until = until
	r.send()
	if r.wait(ctx, g.required) >= g.required {
		return nil
	}
	return r.err()
}

// err returns why too few members succeeded.
func (r *round) err() error {
	if len(r.errs.all) > 0 {
		return r.errs.all
	}
	return r.parent.lossError()
}

// lossError returns the error for a group with too few members to ask: they have just ended, or their engines are
// closed.
func (g *multiHold) lossError() error {
	for i := range g.members {
		if m := &g.members[i]; m.hold.Load() == nil && m.lastHold.Load() != nil {
			end := g.lossOf(m.lastHold.Load())
			return g.hold.fail(end.err, end.cause)
		}
	}
	return g.hold.fail(ErrClosed, nil)
}

// round is one request to all members of a group. It belongs to the caller's goroutine, but for what the last fields
// say. newRound makes one; the zero round has no group.
type round struct {
	parent         *multiHold
	members        []int            // indices of the members
	holds          []*Hold          // the holds of these members
	calls          []engine.Call    // the calls for them; each belongs to a loop until its result
	heldCalls      int              // number of calls for members that were held. The others wait for the result of an acquire
	results        chan callResults // results of some calls; a send never blocks a loop
	until          time.Time        // when the caller's wait ends besides its context; zero: never
	errs           errorSample
	repeated       bool // a repeated Unlock
	releasedBefore int  // members that another Unlock has already released, as confirmed by the server

	// For members of one engine, which are asked in slices. Owned by the loop between the results.
	pending  atomic.Int32 // results still to come
	posted   atomic.Int32 // number of calls posted
	canceled atomic.Bool  // the caller has stopped waiting, also for calls not yet posted
}

// callResults are the results of consecutive calls, from index first to the one before last. A loop makes it, and the
// caller's goroutine receives it. The zero value has none.
type callResults struct {
	first, last int
	over        bool // there are no results, and none for later calls: the engine is closed, or they were not posted
}

func newRound(g *multiHold) *round {
	n := len(g.members)
	r := &round{parent: g, members: make([]int, 0, n), holds: make([]*Hold, 0, n), calls: make([]engine.Call, 0, n)}
	if g.perEngine {
		r.results = make(chan callResults, n)
	} else {
		r.results = make(chan callResults, n/sliceSize+2)
	}
	return r
}

func (r *round) add(i int, h *Hold, what actor.Op, lease time.Duration) {
	r.members = append(r.members, i)
	r.holds = append(r.holds, h)
	r.calls = append(r.calls, engine.Call{Request: actor.Request{Op: what, Name: h.name, Hold: &h.grant, Lease: lease}})
}

// roundOfAll returns a round of all members that are held, which is yet to be sent.
func (g *multiHold) roundOfAll(what actor.Op, lease time.Duration) *round {
	r := newRound(g)
	for i := range g.members {
		if h := g.members[i].hold.Load(); h != nil {
			r.add(i, h, what, lease)
		}
	}
	r.heldCalls = len(r.calls)
	return r
}

// roundOfHeld is roundOfAll for a caller. A quorum's missing member may have been granted just now: the executor makes
// the round, so that it is of that member, too, once its engine has published the grant.
func (g *multiHold) roundOfHeld(what actor.Op, lease time.Duration) (r *round) {
	if !g.perEngine {
		return g.roundOfAll(what, lease)
	}
	made := make(chan struct{})
	g.apply(func() {
		r = g.roundOfAll(what, lease)
		close(made)
	})
	<-made
	return r
}

// send posts the calls. For one engine it posts a slice in one turn, so that they are batched. The next slice follows
// after the replies, so that other commands run in between.
func (r *round) send() {
	switch {
	case r.parent.perEngine:
		r.sendPerEngine()
	case len(r.calls) > 0:
		r.posted.Store(int32(min(sliceSize, len(r.calls)))) // before the loop can go on
		r.postSlice(0, sliceSize)
	}
}

// postSlice posts at most limit calls. Calls beyond posted are not canceled.
func (r *round) postSlice(first, limit int) {
	last := min(first+limit, len(r.calls))
	some := r.calls[first:last]
	r.pending.Store(int32(len(some)))
	onDone := func() { r.onResult(first, last) }
	for i := range some {
		some[i].OnDone = onDone
	}
	if !r.parent.members[0].lock.engine.loop.PostAll(some) {
		r.results <- callResults{over: true}
		return
	}
	if first > 0 {
		r.posted.Store(int32(last))
	}
}

// onResult runs on the loop for each result of one engine. If the server did not reply, it posts the remaining
// releases at once, see releaseRun.onResult, and no other request: all are needed, and each slice would wait for
// CallTimeout. Releases continue even if the caller has stopped waiting.
func (r *round) onResult(first, last int) {
	if r.pending.Add(-1) > 0 {
		return
	}
	silent, end := anyNoReply(r.calls[first:last]), r.calls[first].Op == actor.Unlock
	over := false
	switch {
	case last == len(r.calls):
	case silent && end:
		r.postSlice(last, len(r.calls))
	case silent:
		over = true
	case !r.canceled.Load() || end:
		r.postSlice(last, sliceSize)
	}
	r.results <- callResults{first: first, last: last} // the caller may go on from here
	if over {
		r.results <- callResults{over: true}
	}
}

func (r *round) sendPerEngine() {
	for i := range r.heldCalls {
		r.post(i)
	}
}

// post posts one call of several engines.
func (r *round) post(i int) {
	call := &r.calls[i]
	call.OnDone = func() { r.results <- callResults{first: i, last: i + 1} }
	if !r.parent.members[r.members[i]].lock.engine.loop.Post(call) {
		r.results <- callResults{i, i + 1, true}
	}
}

// wait returns the number of members that succeeded: at least enough, or all that did.
func (r *round) wait(ctx context.Context, enough int) (agreed int) {
	done := ctx.Done()
	var timeout <-chan time.Time
	if !r.until.IsZero() {
		timer := time.NewTimer(time.Until(r.until))
		defer timer.Stop()
		timeout = timer.C
	}
	all := len(r.calls) // calls that are waited for
	for had := 0; had < all && agreed < enough; {
		select {
		case <-done:
			cause := r.parent.members[0].lock.engine.contexts.causeOf(ctx)
			what, name := r.calls[0].Op, r.parent.hold.name
			if endedBy(what, &r.parent.hold.grant, name, cause) {
				outer, cancel := ignoringEnds(ctx, func(end error) bool { return endedBy(what, &r.parent.hold.grant, name, end) })
				defer cancel()
				ctx, done = outer, outer.Done()
				continue
			}
			all = r.cancelAll(cause)
			done = nil // the results arrive at once
		case <-timeout:
			all = r.cancelAll(nil)
		case v := <-r.results:
			if v.over && !r.parent.perEngine {
				return agreed
			}
			had += v.last - v.first
			if !v.over {
				agreed += r.countOK(v.first, v.last)
			}
		}
	}
	return agreed
}

// countOK counts the successful calls of a range, and records the errors of the others.
func (r *round) countOK(first, last int) (count int) {
	for i := first; i < last; i++ {
		switch err := r.calls[i].Err; {
		case err == nil:
			count++
		case r.isReleased(i):
			r.releasedBefore++
			count++
		case r.errs.wants(err):
			r.errs.add(err, r.resultError(i))
		}
	}
	return count
}

// resultError returns the error of a call. Of locks on servers of their own, it says on which.
func (r *round) resultError(i int) error {
	err := r.holds[i].resultError(&r.calls[i])
	if r.parent.perEngine {
		return r.holds[i].engine.onServer(err)
	}
	return err
}

// isReleased reports whether a call found that another one has released the member: one of a concurrent Unlock, or of a
// repeated one.
func (r *round) isReleased(i int) bool {
	call := &r.calls[i]
	return call.Op == actor.Unlock && call.Err == ErrNotHeld || r.repeated && call.Err == ErrLost
}

var errNotPosted = errors.New("the wait ended before it was sent")

// cancelAll cancels the posted calls and returns their number: the rest is not waited for. Without a cause the time of
// the caller's wait is over.
func (r *round) cancelAll(cause error) (posted int) {
	if r.parent.perEngine {
		r.cancelPerEngine(cause)
		return len(r.calls)
	}
	r.canceled.Store(true)
	posted = int(r.posted.Load())
	for i, at := range r.members[:posted] {
		r.parent.members[at].lock.engine.loop.Cancel(&r.calls[i], cause)
	}
	if posted < len(r.calls) {
		why := errNotPosted
		if cause != nil {
			why = actor.CallerGone{Cause: cause}
		}
		r.errs.add(ErrUnavailable, r.holds[posted].fail(ErrUnavailable, why))
	}
	return posted
}

// maxErrors is the maximum number of errors kept for one call: those of very many locks are mostly equal.
const maxErrors = 64

// errorSample contains why some locks failed: the first errors, and one for each further result. The zero value has
// none. It belongs to its round.
type errorSample struct {
	all   multiError
	kinds []error // the results in all, each once
}

// wants reports whether add would keep an error with that result: there are few, or none has it yet.
func (f *errorSample) wants(result error) bool {
	return len(f.all) < maxErrors || !slices.Contains(f.kinds, result)
}

// add keeps an error, and its result: the sentinel error without the name of the lock.
func (f *errorSample) add(result, err error) {
	f.all = append(f.all, err)
	if !slices.Contains(f.kinds, result) {
		f.kinds = append(f.kinds, result)
	}
}

// unlock implements Hold.Unlock for several locks.
func (g *multiHold) unlock(ctx context.Context) error {
	r, enough, err := g.beginUnlock()
	if err != nil {
		return err
	}
	return g.awaitUnlock(ctx, r, enough)
}

// beginUnlock ends the group and sends the releases, as far as they are sent together. It returns an error if the group
// had ended otherwise, or was unlocked and released before.
func (g *multiHold) beginUnlock() (r *round, enough int, err error) {
	// Members that have just been lost need no release: too many of them are a loss all the same. Of concurrent calls,
	// the one that reports the end says so, and not always the first.
	if before := g.err(); errors.Is(before, ErrLost) {
		lost := before // so that before does not escape
		g.lostAtUnlock.CompareAndSwap(nil, &lost)
	}
	first := g.endByUnlock(g.hold.fail(ErrNotHeld, nil))
	if end := g.ended.Load(); end != endedByUnlock {
		return nil, 0, g.hold.fail(end.err, end.cause)
	}
	if !first && g.unlockDone.Load() {
		return nil, 0, g.hold.fail(ErrNotHeld, nil)
	}
	r, enough = g.newReleaseRound()
	r.repeated = !first
	if !g.perEngine && len(r.calls) > sliceSize { // otherwise all calls are posted now, and each has that bound itself
		r.until = time.Now().Add(g.members[0].lock.engine.config.CallTimeout)
	}
	r.send()
	return r, enough, nil
}

// awaitUnlock waits for enough replies to the releases. Of concurrent calls, of which each may have released some of
// the members, one returns nil, or that the group was lost.
func (g *multiHold) awaitUnlock(ctx context.Context, r *round, enough int) error {
	agreed := r.wait(ctx, enough)
	r.abandonPending(errMaybeHeld)
	if agreed < enough {
		return r.err() // for a second call: members with a release without a reply so far
	}
	g.unlockDone.Store(true)
	if r.repeated && r.releasedBefore >= enough || !g.unlockReported.CompareAndSwap(false, true) {
		return g.hold.fail(ErrNotHeld, nil)
	}
	if lost := g.lostAtUnlock.Load(); lost != nil {
		return *lost
	}
	return nil
}

// newReleaseRound returns a round that releases all members, and the number of releases that are required. A missing
// member needs no release if it is known that no request has acquired it or can. If a request is in flight, the round
// waits for its result.
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
		g.quorum.Unlock()
		close(made)
	})
	<-made
	return r, max(1, enough)
}

// pendingRelease is the state of a request for a member of a group that was unlocked meanwhile. The zero value has no
// call that waits. Owned by the executor.
type pendingRelease struct {
	canceled bool
	waiting  []roundCall // calls that wait for the result
}

// roundCall is a call of a round, by its index. It is immutable.
type roundCall struct {
	round *round
	index int
}

// finishRelease handles the result of the request, and releases what was granted.
//
// A request that was in flight when it was canceled may still be granted; its engine then releases it. The reply to a
// new try comes after that. So finishRelease sends one such try if an Unlock waits.
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

// withdrawIfUnused cancels a request when no Unlock waits for it any more. Otherwise requests would accumulate at a
// server that does not reply.
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
