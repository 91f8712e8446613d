package lockwheel

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/lockwheel/lockwheel/actor"
)

// errOverdue is why a hold is lost that nobody has told so yet.
var errOverdue = errors.New("the lease ended before it was renewed")

type (
	holdKey  struct{} // the innermost *Hold of a context, nil behind WithoutOwner
	ownerKey struct{} // the owner number of WithOwner
)

// Value adds the hold to what the context carries.
func (c *holdContext) Value(key any) any {
	if key == (holdKey{}) {
		return c.hold
	}
	return c.Context.Value(key)
}

var threadOwners atomic.Uint64

// WithOwner returns a context with an owner of its own for all names, as a Java thread is one: whatever
// is locked with it, or with a context made from it, is re-entered by all others that carry it, also by those that were
// waiting already.
//
// It is for code that was written for threads. Every goroutine that is given the context is the same
// owner: two of them can hold one lock at the same time without noticing. Prefer [Hold.Context], which
// carries the owner of one lock only; for a name that the context holds already, that hold counts.
func WithOwner(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownerKey{}, actor.ThreadOwner|threadOwners.Add(1))
}

// WithoutOwner returns a context that carries no owner: whoever locks with it queues like anyone. It is
// for work that a holder hands to other goroutines.
func WithoutOwner(ctx context.Context) context.Context {
	return context.WithValue(context.WithValue(ctx, holdKey{}, (*Hold)(nil)), ownerKey{}, uint64(0))
}

// ownerOf is who a context says its bearer is, for one name of one engine; 0 for nobody.
func ownerOf(ctx context.Context, e *Engine, name string) uint64 {
	for at := ctx; ; {
		hold, _ := at.Value(holdKey{}).(*Hold)
		if hold == nil {
			break
		}
		if owner := hold.owns(e, name); owner != 0 {
			return owner
		}
		at = hold.parent
	}
	owner, _ := ctx.Value(ownerKey{}).(uint64)
	return owner
}

// owns is the owner that a hold is for a name of an engine; 0 for none.
func (h *Hold) owns(e *Engine, name string) uint64 {
	if h.engine == e && h.name == name {
		return h.grant.Owner
	}
	if g := h.group(); g != nil {
		return g.owner(e, name)
	}
	return 0
}

// bearer is all that a context says of who its bearer is: for who asks when the context is not to be touched.
type bearer struct {
	holds []*Hold // the innermost first
	owner uint64
}

func bearerOf(ctx context.Context) (b bearer) {
	for at := ctx; ; {
		hold, _ := at.Value(holdKey{}).(*Hold)
		if hold == nil {
			break
		}
		b.holds, at = append(b.holds, hold), hold.parent
	}
	b.owner, _ = ctx.Value(ownerKey{}).(uint64)
	return b
}

// of is as ownerOf.
func (b *bearer) of(e *Engine, name string) uint64 {
	for _, h := range b.holds {
		if owner := h.owns(e, name); owner != 0 {
			return owner
		}
	}
	return b.owner
}

// ends reports whether a context ended by what was asked for: the release of that hold, or a force of the lock with that name. That of a
// hold ends with its parent as well, and then the caller gave up.
func ends(what actor.Kind, hold *actor.Hold, name string, cause error) bool {
	switch what {
	case actor.Force:
		return actor.Forced(cause) && about(cause, name)
	case actor.Unlock:
		s := hold.Signal()
		_, ours := cause.(*lockError) // a cause of the caller's may be of a type that cannot be compared
		return ours && s != nil && s.Value != nil && errors.Is(cause, ErrNotHeld) && context.Cause(s.Value.(context.Context)) == cause
	}
	return false
}

// about reports whether an error is about the lock with that name, or about several of which it is one.
func about(err error, name string) bool {
	for err != nil {
		of := ""
		switch e := err.(type) {
		case *lockError:
			of, err = e.name, e.cause
		case *partError:
			of, err = e.name, e.cause
		default:
			err = errors.Unwrap(err)
		}
		if of == name {
			return true
		}
	}
	return false
}

// beyond is the context with which the holds of a context were locked that have ended so, with its deadline;
// context.Background in place of the first if the context does not carry them any more.
func beyond(ctx context.Context, so func(cause error) bool) (context.Context, context.CancelFunc) {
	outer := ctx
	for so(context.Cause(outer)) {
		hold, _ := outer.Value(holdKey{}).(*Hold)
		if hold == nil {
			outer = context.Background()
			break
		}
		outer = hold.parent
	}
	if deadline, has := ctx.Deadline(); has {
		return context.WithDeadline(outer, deadline)
	}
	return context.WithCancel(outer)
}
