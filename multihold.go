package lockwheel

import (
	"context"
	"errors"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/actor/quorum"
	"github.com/lockwheel/lockwheel/engine"
	"github.com/lockwheel/lockwheel/internal/async"
)

// multiHold implements a hold of several locks. It is the parent of that hold, which has no engine. The hold lasts
// while at least required of the members are held. newMultiHold makes one; it holds nothing yet. The zero value has no
// members.
//
// Its quorum makes the decisions. Events of the members happen on the loops of their engines, and executor runs them
// one at a time. The goroutine that sets ended ends the group. required and perEngine are immutable, as is the list of
// members.
type multiHold struct {
	context.Context // of the Lock that returned the hold

	hold      Hold
	firstHold *Hold // one of the members that were held when the group was acquired
	required  int
	perEngine bool                     // each member belongs to another engine
	ended     atomic.Pointer[endState] // nil until the group has ended
	members   []member

	unlockDone     atomic.Bool           // enough members are released for Unlock, and a caller knows
	unlockReported atomic.Bool           // an Unlock has returned nil, or is about to
	lostAtUnlock   atomic.Pointer[error] // that the group was lost when Unlock came; nil: it was not

	// Owned by the executor.
	executor         async.Executor
	quorum           quorum.Quorum
	lease            time.Duration // the caller's own; 0: watched
	start            time.Time
	ownerSource      ownerSource         // of its context; immutable once requests are sent
	ownOwner         uint64              // owner of a quorum's requests, and of its context, if the caller's context carries no owner
	result           chan *quorumFailure // capacity 1; receives nil once the group is held
	notices          []func()            // end what watchEngines has registered
	toRelease        []*Hold             // members of one engine that are to be released together
	releasedByCaller bool                // the caller's Unlock came before the loss, and releases the members
}

// endState is how a group ended. It is immutable, and always has an err.
type endState struct{ err, cause error }

// endedByUnlock is the endState after Unlock.
var endedByUnlock = &endState{err: ErrNotHeld}

// member is one lock of several. newMultiHold sets parent, index and lock, which are immutable from then on. A member
// of the zero value is missing.
type member struct {
	parent   *multiHold
	index    int // index in the group
	lock     Mutex
	hold     atomic.Pointer[Hold] // nil while it is missing
	lastHold atomic.Pointer[Hold] // the hold that ended last; set before hold becomes nil

	// Owned by the executor.
	pendingCall *engine.Call    // the request for the member; nil if there is none
	pendingHold *Hold           // the hold that the request would acquire
	err         error           // why the last request failed
	release     *pendingRelease // nil until the group is unlocked during a request
	maybeHeld   bool            // the server may have granted the member, or may still do so. Valid while pendingCall is nil
}

// newMultiHold returns a group that holds nothing yet.
func newMultiHold(ctx context.Context, m Multi, need int) *multiHold {
	g := &multiHold{Context: ctx, required: need, perEngine: m.quorum, members: make([]member, len(m.locks)), quorum: quorum.New(len(m.locks), need)}
	g.hold.name, g.hold.parent = m.name, g
	for i, l := range m.locks {
		g.members[i].parent, g.members[i].index, g.members[i].lock = g, i, l
	}
	return g
}

// multiHoldOf returns one hold for locks that were granted, with a lease or watched; it needs all of them.
func multiHoldOf(ctx context.Context, m Multi, holds []*Hold, watched bool) *multiHold {
	g := newMultiHold(ctx, m, len(holds))
	g.quorum.BeginHeld(watched)
	g.firstHold = holds[0]
	g.hold.setNote(holds[0].grant.Note())
	signals := make([]actor.HoldSignal, len(holds))
	for i, h := range holds {
		g.members[i].attach(h, &signals[i])
	}
	return g
}

// multi returns the group of a hold of several locks; nil for one lock.
func (h *Hold) multi() *multiHold {
	if h.engine != nil {
		return nil
	}
	return h.parent.(*multiHold)
}

// checked returns the hold if it is held: a member may already be lost, or the process may have been paused.
func (g *multiHold) checked() (*Hold, error) {
	err := g.hold.Err()
	if err == nil {
		return &g.hold, nil
	}
	g.giveBack(err)
	return nil, err
}

// giveBack ends the group on behalf of its caller, unless it has ended, and releases the members without waiting.
func (g *multiHold) giveBack(reason error) {
	if g.endByUnlock(reason) {
		g.apply(g.quorum.Unlock)
		g.releaseAsync()
	}
}

// leak implements Hold.leak for several locks. A quorum asks for no missing member from now on: the leases of its
// members end one after the other, and each would be acquired again before the next one ends.
func (g *multiHold) leak() {
	if g.ended.Load() == nil {
		g.apply(func() {
			g.setWatched(false)
			for _, held := range g.holds() {
				if held != nil {
					held.leak()
				}
			}
		})
	}
}

// releaseAsync releases all members that are held, without waiting.
func (g *multiHold) releaseAsync() {
	if !g.perEngine {
		releaseAll(g.holds())
		return
	}
	for i := range g.members {
		g.members[i].releaseAsync()
	}
}

// holds returns the holds of the members; nil for a missing one.
func (g *multiHold) holds() []*Hold {
	holds := make([]*Hold, len(g.members))
	for i := range g.members {
		holds[i] = g.members[i].hold.Load()
	}
	return holds
}

// endByUnlock ends the group on behalf of its caller, and reports whether this call ended it. The caller of endByUnlock
// then releases the members and notifies the quorum. If the group ended before, it waits until the context has ended.
func (g *multiHold) endByUnlock(reason error) bool {
	if !g.ended.CompareAndSwap(nil, endedByUnlock) {
		<-g.hold.Done()
		return false
	}
	if remaining := g.hold.grant.End(ErrNotHeld, nil, 0); remaining != nil {
		g.contexts().end(remaining, reason)
	}
	return true
}

// endByLoss ends the group because a member ended. The other members are released.
func (g *multiHold) endByLoss(m *member) {
	end := g.lossOf(m.lastHold.Load())
	if g.releasedByCaller = !g.ended.CompareAndSwap(nil, end); !g.releasedByCaller {
		if remaining := g.hold.grant.End(end.err, end.cause, 0); remaining != nil {
			g.contexts().endAsync(remaining, g.hold.fail(end.err, end.cause))
		}
	}
}

// opened returns the first engine of the group that was opened, as Multi.opened does.
func (g *multiHold) opened() *Engine {
	at := 0
	for g.members[at].lock.engine.zero() {
		at++
	}
	return g.members[at].lock.engine
}

// contexts returns the contexts of an engine of the group, to end the hold's context.
func (g *multiHold) contexts() *callerContexts { return &g.opened().contexts }

// lossOf returns the endState of a group that cannot continue after one of its holds has ended.
func (g *multiHold) lossOf(past *Hold) *endState {
	end := past.grant.Signal()
	cause := end.Cause
	if past.name != g.hold.name && cause != nil {
		cause = &memberLoss{past.name, cause}
	}
	return &endState{end.Err, cause}
}

// memberLoss is a cause that concerns one lock of several. It creates its text on demand, because the cause may be a
// caller's own error. It is immutable.
type memberLoss struct {
	name  string
	cause error
}

func (e *memberLoss) Error() string { return "its lock " + quoted(e.name) + ": " + e.cause.Error() }

func (e *memberLoss) Unwrap() error { return e.cause }

// attach adds a granted hold to the group. Only the group is notified of its end, through that signal.
func (m *member) attach(h *Hold, ends *actor.HoldSignal) {
	m.hold.Store(h)
	ends.Watcher = m
	seen := h.grant.Signal()
	if seen != nil && seen.Err != nil || !h.grant.Install(seen, ends) {
		m.HoldEnded(&h.grant) // it ended before the signal was installed
	} else if m.parent.ended.Load() != nil {
		h.releaseAsync() // the end of the group may have missed this member
	}
}

// HoldEnded runs on the loop of the member's engine.
func (m *member) HoldEnded(grant *actor.Hold) {
	if g := m.parent; g.ended.Load() == nil {
		g.apply(func() {
			if h := m.hold.Load(); h != nil && &h.grant == grant {
				m.lastHold.Store(h)
				m.hold.Store(nil)
				end := h.grant.Signal()
				switch known := h.engine.loop.Time(end.HeldUntil).Sub(g.start); {
				case actor.IsMaxHold(end.Cause):
					g.quorum.MemberMaxHold(g.elapsed(), m.index)
				case actor.IsUnlockedByForce(end.Cause):
					g.quorum.MemberForced(g.elapsed(), m.index, known)
				default:
					g.quorum.MemberLost(g.elapsed(), m.index, known)
				}
			}
		})
	}
}

// doneOfAll returns the Done of the hold of several locks that ends with the loss of one: the one with that signal. It
// returns nil for another hold, and for a quorum, which may go on.
func doneOfAll(signal *actor.HoldSignal) <-chan struct{} {
	if signal != nil {
		if m, ok := signal.Watcher.(*member); ok && !m.parent.perEngine {
			return m.parent.hold.Done()
		}
	}
	return nil
}

// releaseAsync releases the member if it is held, without waiting.
func (m *member) releaseAsync() {
	if h := m.hold.Load(); h != nil {
		h.releaseAsync()
	}
}

// releaseAsync unlocks without waiting for the reply.
func (h *Hold) releaseAsync() { h.engine.loop.Post(h.request(nil, actor.Unlock, 0)) }

// request returns a call for a hold. onDone is called with its result.
func (h *Hold) request(onDone func(), what actor.Op, lease time.Duration) *engine.Call {
	call := engine.NewCallback(onDone)
	call.Op, call.Name, call.Hold, call.Lease = what, h.name, &h.grant, lease
	return call
}

// err reads the clock and the members, and returns why the group is not held; nil if it is. An Unlock may run
// concurrently: the group has ended before its members do, and that end is the reason, not the missing members.
func (g *multiHold) err() error {
	if end := g.ended.Load(); end != nil {
		return g.hold.fail(end.err, end.cause)
	}
	held, missing := g.countHeld()
	if held >= g.required {
		return nil
	}
	if end := g.ended.Load(); end != nil {
		return g.hold.fail(end.err, end.cause)
	}
	if errors.Is(missing, ErrClosed) && !errors.Is(missing, ErrLost) {
		return g.hold.fail(ErrClosed, nil) // as the end of the group will say, which follows that of the member
	}
	return g.hold.fail(ErrLost, missing)
}

// countHeld returns the number of members that are held, and why one of the others is not.
func (g *multiHold) countHeld() (held int, missing error) {
	missing = errLeaseExpired
	for i := range g.members {
		switch h := g.members[i].hold.Load(); {
		case h == nil:
			if past := g.members[i].lastHold.Load(); past != nil && missing == errLeaseExpired {
				missing = past.Err()
			}
		case h.Err() == nil:
			held++
		default:
			missing = h.Err()
		}
	}
	return held, missing
}

// deadline returns the time until which the required number of members is known to be held; zero if they are not.
func (g *multiHold) deadline() time.Time {
	if g.ended.Load() != nil {
		return time.Time{}
	}
	var deadlines []time.Time
	for i := range g.members {
		if h := g.members[i].hold.Load(); h != nil {
			deadlines = append(deadlines, h.Deadline())
		}
	}
	if len(deadlines) < g.required {
		return time.Time{}
	}
	slices.SortFunc(deadlines, func(a, b time.Time) int { return b.Compare(a) })
	return deadlines[g.required-1]
}

// owner returns the owner that re-enters that member, 0 if it is no member. For a missing member it is the owner of
// the group's request.
func (g *multiHold) owner(e *Engine, name string) uint64 {
	m := g.member(e, name)
	if m == nil {
		return 0
	}
	if h := m.hold.Load(); h != nil {
		return h.grant.Owner
	}
	return g.requestOwner(e, name)
}

// member returns the member with that engine and name, or nil. Members of one engine are sorted by name, because
// there can be very many.
func (g *multiHold) member(e *Engine, name string) *member {
	if g.perEngine {
		for i := range g.members {
			if m := &g.members[i]; m.lock.engine == e && m.lock.name == name {
				return m
			}
		}
		return nil
	}
	i := sort.Search(len(g.members), func(i int) bool { return g.members[i].lock.name >= name })
	if i == len(g.members) || g.members[i].lock.name != name || g.members[i].lock.engine != e {
		return nil
	}
	return &g.members[i]
}

// requestOwner returns the owner of the group's request for a member; 0 if the group is no quorum and its context
// carries no owner.
func (g *multiHold) requestOwner(e *Engine, name string) uint64 {
	if owner := g.ownerSource.ownerOf(e, name); owner != 0 {
		return owner
	}
	return g.ownOwner
}

// releaseAll releases locks of one engine without waiting for the replies. It releases them in slices, each after the
// replies to the one before, so that other releases run in between. Missing locks are nil.
func releaseAll(holds []*Hold) {
	l := &releaseRun{}
	for _, h := range holds {
		if h != nil {
			l.remaining = append(l.remaining, h)
		}
	}
	l.next(sliceSize)
}

// releaseRun is a list of locks to be released. It belongs to the goroutine that creates it, and then to the loop. The
// zero value has nothing to release.
type releaseRun struct {
	remaining []*Hold
	calls     []engine.Call
	pending   atomic.Int32 // results still to come
}

// next posts at most limit releases.
func (l *releaseRun) next(limit int) {
	some := l.remaining[:min(len(l.remaining), limit)]
	if len(some) == 0 {
		return
	}
	l.remaining = l.remaining[len(some):]
	l.calls = make([]engine.Call, len(some))
	l.pending.Store(int32(len(some)))
	onDone := l.onResult
	for i, h := range some {
		l.calls[i].Request = actor.Request{Op: actor.Unlock, Name: h.name, Hold: &h.grant, OnDone: onDone}
	}
	some[0].engine.loop.PostAll(l.calls)
}

// onResult runs on the loop for each result. If the server did not reply, it posts all remaining releases at once.
// Slice by slice, each would wait for CallTimeout, and the last for longer than a lease. They are at most
// maxMultiLocks, and the loop handles a bounded number of unlocks in a turn.
func (l *releaseRun) onResult() {
	if l.pending.Add(-1) > 0 {
		return
	}
	if anyNoReply(l.calls) {
		l.next(len(l.remaining))
	} else {
		l.next(sliceSize)
	}
}

// anyNoReply reports whether a call of a range failed because there was no reply.
func anyNoReply(calls []engine.Call) bool {
	for i := range calls {
		if calls[i].Err == ErrUnavailable {
			return true
		}
	}
	return false
}
