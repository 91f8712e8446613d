package lockwheel

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

// group is what stands behind a hold of several locks: the parent of that hold, which has no engine. It is held
// while at least need of its members are.
//
// It has no goroutine and no lock. What it is told, it is told on the loops of its members' engines: the end of
// a member, and for a quorum the verdicts on those that were not there yet. Whoever sets over ends it.
type group struct {
	context.Context // of the Lock that returned the hold

	hold    Hold
	first   *Hold // of the members that were held when it began
	need    int
	apart   bool // each member is of another engine
	members []member
	renews  atomic.Bool  // members that are missing are taken when they can be
	held    atomic.Int32 // members
	over    atomic.Bool  // lost or unlocked
}

// member is one lock of several.
type member struct {
	group *group
	at    int // in the group
	lock  Mutex
	hold  atomic.Pointer[Hold]        // nil while it is missing
	wish  atomic.Pointer[engine.Call] // that is to bring it; nil when there is none
}

// gather makes one hold of those that were granted; nil stands for a lock that is missing.
func gather(ctx context.Context, m Multi, need int, holds []*Hold, renews bool) *group {
	g := &group{Context: ctx, need: need, apart: m.quorum, members: make([]member, len(m.locks))}
	g.hold.name, g.hold.parent = m.name, g
	g.renews.Store(renews)
	for i, h := range holds {
		g.members[i].group, g.members[i].at, g.members[i].lock = g, i, m.locks[i]
		if h != nil {
			g.held.Add(1)
		}
	}
	signals := make([]actor.Signal, len(holds))
	for i, h := range slices.Backward(holds) {
		if h != nil {
			g.first = h
			g.members[i].adopt(h, &signals[i])
		}
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
	if g.over.CompareAndSwap(false, true) {
		g.hold.grant.End(ErrNotHeld, nil, err)
		g.letGo()
	}
	return nil, err
}

// adopt takes in a hold that counts already. Nobody but the group is told of its end, with that signal.
func (m *member) adopt(h *Hold, ends *actor.Signal) {
	m.hold.Store(h)
	ends.Watch = m
	if !h.grant.Ask(nil, ends) {
		m.ended(h) // before anybody could be told
	}
}

// HoldEnded is called on the loop of the member's engine.
func (m *member) HoldEnded(grant *actor.Hold) {
	if h := m.hold.Load(); h != nil && &h.grant == grant {
		m.ended(h)
	}
}

// ended takes in the end of the member's hold.
func (m *member) ended(h *Hold) {
	g := m.group
	if g.over.Load() || !m.hold.CompareAndSwap(h, nil) {
		return
	}
	if int(g.held.Add(-1)) < g.need {
		g.lose(h.grant.Signal(), h.name)
		return
	}
	g.await(m.at)
}

// lose ends the group because of the end of a member. The others are released: all or none.
func (g *group) lose(end *actor.Signal, name string) {
	if !g.over.CompareAndSwap(false, true) {
		return
	}
	cause := end.Cause
	if name != g.hold.name && cause != nil {
		cause = fmt.Errorf("its part %s: %w", quoted(name), cause)
	}
	g.hold.grant.End(end.Err, cause, g.hold.fail(end.Err, cause))
	g.letGo()
}

// letGo releases all members, and whatever is under way for them, without waiting.
func (g *group) letGo() {
	for i := range g.members {
		g.members[i].forget()
		if h := g.members[i].hold.Load(); h != nil {
			h.letGo()
		}
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

// forget gives up what is under way to bring the member.
func (m *member) forget() {
	if wish := m.wish.Swap(nil); wish != nil {
		m.lock.engine.loop.Cancel(wish, context.Canceled)
	}
}

// err says by the clock and by all that is known whether the group is held.
func (g *group) err() error {
	if s := g.hold.grant.Signal(); s != nil && s.Err != nil {
		return g.hold.fail(s.Err, s.Cause)
	}
	held := 0
	var missing error = errOverdue
	for i := range g.members {
		switch h := g.members[i].hold.Load(); {
		case h == nil:
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

// owner is who re-enters one of the members; 0 if it is not one, or missing.
func (g *group) owner(e *Engine, name string) uint64 {
	for i := range g.members {
		h := g.members[i].hold.Load()
		if h != nil && h.engine == e && h.name == name {
			return h.grant.Owner
		}
	}
	return 0
}
