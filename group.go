package lockwheel

import (
	"context"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/actor/quorum"
	"github.com/lockwheel/lockwheel/engine"
)

// group implements a hold of several locks. It is the parent of that hold, which has no engine. The hold lasts while
// at least need of the members are held.
//
// Its actor makes the decisions. Events of the members happen on the loops of their engines, and desk runs them one
// at a time. The goroutine that sets end ends the group.
type group struct {
	context.Context // of the Lock that returned the hold

	hold    Hold
	first   *Hold // one of the members that were held when the group was acquired
	need    int
	apart   bool                   // each member belongs to another engine
	end     atomic.Pointer[ending] // nil until the group has ended
	members []member

	released atomic.Bool // enough members are released for Unlock, and its caller knows

	// Owned by the desk.
	desk    desk
	actor   quorum.Quorum
	lease   time.Duration // the caller's own; 0: watched
	begun   time.Time
	bearer  bearer        // of its context; immutable once requests are sent
	number  uint64        // owner of a quorum's requests, and of its context, if the caller's context carries no owner
	outcome chan *failure // capacity 1; receives nil once the group is held
	letting []*Hold       // members of one engine that are to be released together
	left    bool          // the caller's Unlock came before the loss, and releases the members
}

// ending is how a group ended.
type ending struct{ err, cause error }

// unlocked is the ending after Unlock.
var unlocked = &ending{err: ErrNotHeld}

// member is one lock of several.
type member struct {
	group *group
	at    int // index in the group
	lock  Mutex
	hold  atomic.Pointer[Hold] // nil while it is missing
	past  atomic.Pointer[Hold] // the hold that ended last; set before hold becomes nil

	// Owned by the desk.
	call    *engine.Call // the request for the member; nil if there is none
	coming  *Hold        // the hold that the request would acquire
	why     error        // why the last request failed
	parting *parting     // nil until the group is unlocked during a request
	unsure  bool         // the server may have granted the member, or may still do so. Valid while call is nil
}

func newGroup(ctx context.Context, m Multi, need int) *group {
	g := &group{Context: ctx, need: need, apart: m.quorum, members: make([]member, len(m.locks)), actor: quorum.New(len(m.locks), need)}
	g.hold.name, g.hold.parent = m.name, g
	for i, l := range m.locks {
		g.members[i].group, g.members[i].at, g.members[i].lock = g, i, l
	}
	return g
}

// gather returns one hold for locks that were granted; it needs all of them.
func gather(ctx context.Context, m Multi, holds []*Hold) *group {
	g := newGroup(ctx, m, len(holds))
	g.actor.Gathered()
	g.first = holds[0]
	signals := make([]actor.Signal, len(holds))
	for i, h := range holds {
		g.members[i].adopt(h, &signals[i])
	}
	return g
}

// group returns the group of a hold of several locks; nil for one lock.
func (h *Hold) group() *group {
	if h.engine != nil {
		return nil
	}
	return h.parent.(*group)
}

// checked returns the hold if it is held: a member may already be lost, or the process may have been paused.
func (g *group) checked() (*Hold, error) {
	err := g.hold.Err()
	if err == nil {
		return &g.hold, nil
	}
	if g.leave(err) {
		g.tell(g.actor.Leave)
		g.letGo()
	}
	return nil, err
}

// letGo releases all members that are held, without waiting.
func (g *group) letGo() {
	if !g.apart {
		letGo(g.holds())
		return
	}
	for i := range g.members {
		g.members[i].letGo()
	}
}

// holds returns the holds of the members; nil for a missing one.
func (g *group) holds() []*Hold {
	holds := make([]*Hold, len(g.members))
	for i := range g.members {
		holds[i] = g.members[i].hold.Load()
	}
	return holds
}

// leave ends the group on behalf of its caller, and reports whether this call ended it. The caller of leave then
// releases the members and notifies the actor.
func (g *group) leave(reason error) bool {
	if !g.end.CompareAndSwap(nil, unlocked) {
		return false
	}
	if untold := g.hold.grant.End(ErrNotHeld, nil, 0); untold != nil {
		g.contexts().end(untold, reason)
	}
	return true
}

// lose ends the group because a member ended. The other members are released.
func (g *group) lose(m *member) {
	end := g.without(m.past.Load())
	if g.left = !g.end.CompareAndSwap(nil, end); !g.left {
		if untold := g.hold.grant.End(end.err, end.cause, 0); untold != nil {
			g.contexts().endBeside(untold, g.hold.fail(end.err, end.cause))
		}
	}
}

// contexts returns the contexts of any engine of the group that was opened, to end the hold's context.
func (g *group) contexts() *contexts {
	at := 0
	for g.members[at].lock.engine.zero() {
		at++
	}
	return &g.members[at].lock.engine.contexts
}

// without returns the ending of a group that cannot continue after one of its holds has ended.
func (g *group) without(past *Hold) *ending {
	end := past.grant.Signal()
	cause := end.Cause
	if past.name != g.hold.name && cause != nil {
		cause = &partError{past.name, cause}
	}
	return &ending{end.Err, cause}
}

// partError is a cause that concerns one lock of several. It creates its text on demand, because the cause may be a
// caller's own error.
type partError struct {
	name  string
	cause error
}

func (e *partError) Error() string { return "its part " + quoted(e.name) + ": " + e.cause.Error() }
func (e *partError) Unwrap() error { return e.cause }

// adopt adds a granted hold to the group. Only the group is notified of its end, through that signal.
func (m *member) adopt(h *Hold, ends *actor.Signal) {
	m.hold.Store(h)
	ends.Watch = m
	if !h.grant.Ask(nil, ends) {
		m.HoldEnded(&h.grant) // it ended before the signal was installed
	} else if m.group.end.Load() != nil {
		h.letGo() // the end of the group may have missed this member
	}
}

// HoldEnded runs on the loop of the member's engine.
func (m *member) HoldEnded(grant *actor.Hold) {
	if g := m.group; g.end.Load() == nil {
		g.tell(func() {
			if h := m.hold.Load(); h != nil && &h.grant == grant {
				m.past.Store(h)
				m.hold.Store(nil)
				if end := h.grant.Signal(); actor.Spent(end.Cause) {
					g.actor.Spent(g.now(), m.at)
				} else {
					g.actor.Gone(g.now(), m.at, h.engine.loop.Time(end.Known).Sub(g.begun))
				}
			}
		})
	}
}

// letGo releases the member if it is held, without waiting.
func (m *member) letGo() {
	if h := m.hold.Load(); h != nil {
		h.letGo()
	}
}

// letGo unlocks without waiting for the reply.
func (h *Hold) letGo() { h.engine.loop.Post(h.request(nil, actor.Unlock, 0)) }

// request returns a call for a hold. told is called with its result.
func (h *Hold) request(told func(), what actor.Kind, lease time.Duration) *engine.Call {
	call := engine.NewTold(told)
	call.Tag, call.Name, call.Hold, call.Lease = what, h.name, &h.grant, lease
	return call
}

// err reads the clock and the members, and returns why the group is not held; nil if it is.
func (g *group) err() error {
	if end := g.end.Load(); end != nil {
		return g.hold.fail(end.err, end.cause)
	}
	held := 0
	var missing error = errOverdue
	for i := range g.members {
		switch h := g.members[i].hold.Load(); {
		case h == nil:
			if past := g.members[i].past.Load(); past != nil && missing == errOverdue {
				missing = past.Err()
			}
		case h.Err() == nil:
			held++
		default:
			missing = h.Err()
		}
	}
	if held < g.need {
		return g.hold.fail(ErrLost, missing)
	}
	return nil
}

// deadline returns the time until which the required number of members is known to be held; zero if they are not.
func (g *group) deadline() time.Time {
	if g.end.Load() != nil {
		return time.Time{}
	}
	var deadlines []time.Time
	for i := range g.members {
		if h := g.members[i].hold.Load(); h != nil {
			deadlines = append(deadlines, h.Deadline())
		}
	}
	if len(deadlines) < g.need {
		return time.Time{}
	}
	slices.SortFunc(deadlines, func(a, b time.Time) int { return b.Compare(a) })
	return deadlines[g.need-1]
}

// owner returns the owner that re-enters that member, 0 if it is no member. For a missing member it is the owner of
// the group's request.
func (g *group) owner(e *Engine, name string) uint64 {
	m := g.member(e, name)
	if m == nil {
		return 0
	}
	if h := m.hold.Load(); h != nil {
		return h.grant.Owner
	}
	return g.asks(e, name)
}

// member returns the member with that engine and name, or nil. Members of one engine are sorted by name, because
// there can be very many.
func (g *group) member(e *Engine, name string) *member {
	if g.apart {
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

// asks returns the owner of the group's request for a member; 0 if the group is no quorum and its context carries no
// owner.
func (g *group) asks(e *Engine, name string) uint64 {
	if owner := g.bearer.of(e, name); owner != 0 {
		return owner
	}
	return g.number
}
