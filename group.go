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

// group is what stands behind a hold of several locks: the parent of that hold, which has no engine. It is held
// while at least need of its members are.
//
// What it does its actor decides. What happens to its members happens on the loops of their engines, and comes to
// its desk one after the other. Whoever sets end ends it.
type group struct {
	context.Context // of the Lock that returned the hold

	hold    Hold
	first   *Hold // of the members that were held when it began
	need    int
	apart   bool                   // each member is of another engine
	end     atomic.Pointer[ending] // nil until then
	members []member

	released atomic.Bool // enough members for an Unlock are, and its caller knows

	// The desk's.
	desk    desk
	actor   quorum.Quorum
	lease   time.Duration // of its own; 0: watched
	begun   time.Time
	bearer  bearer        // of its context; not changed once it asks
	number  uint64        // whom it asks as, and who it is for its context, where its own context carries nobody. Of a quorum
	outcome chan *failure // of one slot: nil once it is held
	letting []*Hold       // members of one engine that are to be released together
	left    bool          // its user was quicker than its loss, and releases the members
}

// ending is how a group ended.
type ending struct{ err, cause error }

// unlocked is the ending of nearly every group.
var unlocked = &ending{err: ErrNotHeld}

// member is one lock of several.
type member struct {
	group *group
	at    int // in the group
	lock  Mutex
	hold  atomic.Pointer[Hold] // nil while it is missing
	past  atomic.Pointer[Hold] // that ended last; set before it is missing

	// The desk's.
	call    *engine.Call // that is to bring it; nil when there is none
	coming  *Hold        // what that would bring
	why     error        // it was refused
	parting *parting     // nil until its group is unlocked while there is a call
	unsure  bool         // its server may have granted it, or may yet, for all that is known. It counts while there is no call
}

func newGroup(ctx context.Context, m Multi, need int) *group {
	g := &group{Context: ctx, need: need, apart: m.quorum, members: make([]member, len(m.locks)), actor: quorum.New(len(m.locks), need)}
	g.hold.name, g.hold.parent = m.name, g
	for i, l := range m.locks {
		g.members[i].group, g.members[i].at, g.members[i].lock = g, i, l
	}
	return g
}

// gather makes one hold of locks that were granted, all of which it needs.
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

// group is what stands behind a hold of several locks; nil for one lock.
func (h *Hold) group() *group {
	if h.engine != nil {
		return nil
	}
	return h.parent.(*group)
}

// checked is the hold, if it is held: one of its members may be lost already, or a process was paused.
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

// holds are those of its members; nil for what is missing.
func (g *group) holds() []*Hold {
	holds := make([]*Hold, len(g.members))
	for i := range g.members {
		holds[i] = g.members[i].hold.Load()
	}
	return holds
}

// leave ends the group for its user, and reports whether it was he who did. Its members are left to him, and to tell its actor.
func (g *group) leave(reason error) bool {
	if !g.end.CompareAndSwap(nil, unlocked) {
		return false
	}
	if untold := g.hold.grant.End(ErrNotHeld, nil, 0); untold != nil {
		g.contexts().end(untold, reason)
	}
	return true
}

// lose ends the group because of the end of a member. The others are released: all or none.
func (g *group) lose(m *member) {
	end := g.without(m.past.Load())
	if g.left = !g.end.CompareAndSwap(nil, end); !g.left {
		if untold := g.hold.grant.End(end.err, end.cause, 0); untold != nil {
			g.contexts().endBeside(untold, g.hold.fail(end.err, end.cause))
		}
	}
}

// contexts ends its hold's context: that of any of its engines that was ever open.
func (g *group) contexts() *contexts {
	at := 0
	for g.members[at].lock.engine.zero() {
		at++
	}
	return &g.members[at].lock.engine.contexts
}

// without is how the group ends that cannot do without a hold that has ended.
func (g *group) without(past *Hold) *ending {
	end := past.grant.Signal()
	cause := end.Cause
	if past.name != g.hold.name && cause != nil {
		cause = &partError{past.name, cause}
	}
	return &ending{end.Err, cause}
}

// partError is a cause that is a part's. Its text is made for who reads it: the cause may be a caller's own.
type partError struct {
	name  string
	cause error
}

func (e *partError) Error() string { return "its part " + quoted(e.name) + ": " + e.cause.Error() }
func (e *partError) Unwrap() error { return e.cause }

// adopt takes in a hold that counts already. Nobody but the group is told of its end, with that signal.
func (m *member) adopt(h *Hold, ends *actor.Signal) {
	m.hold.Store(h)
	ends.Watch = m
	if !h.grant.Ask(nil, ends) {
		m.HoldEnded(&h.grant) // before anybody could be told
	} else if m.group.end.Load() != nil {
		h.letGo() // whoever ended the group may have looked before it was here
	}
}

// HoldEnded is called on the loop of the member's engine.
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

// letGo unlocks without waiting for the answer.
func (h *Hold) letGo() { h.engine.loop.Post(h.request(nil, actor.Unlock, 0)) }

// request is a call that concerns a hold, for whose verdict told is called.
func (h *Hold) request(told func(), what actor.Kind, lease time.Duration) *engine.Call {
	call := engine.NewTold(told)
	call.Tag, call.Name, call.Hold, call.Lease = what, h.name, &h.grant, lease
	return call
}

// err says by the clock and by all that is known whether the group is held.
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

// deadline is until when so many members are known to be held as the group needs; zero if they are not.
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

// owner is who re-enters one of the members; 0 if it is not one. Of one that is missing it is whom the group asks as.
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

// member is that of an engine and a name; nil if there is none. Those of one engine are in the order of their names, and may be
// very many.
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

// asks is as which owner the group asks for a member; 0 if it is all of its locks or none.
func (g *group) asks(e *Engine, name string) uint64 {
	if owner := g.bearer.of(e, name); owner != 0 {
		return owner
	}
	return g.number
}
