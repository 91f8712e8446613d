package lockwheel

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/lockwheel/lockwheel/actor"
)

// errOverdue is why a hold is lost that nobody has told so yet.
var errOverdue = errors.New("the lease ended before it was renewed")

// holdContext is a hold's context: it carries the hold as the owner of its lock.
type holdContext struct {
	context.Context
	hold *Hold
}

type (
	holdKey  struct{} // the innermost *Hold of a context, nil behind WithoutOwner
	ownerKey struct{} // the owner number of WithOwner
)

// Value adds the hold to what the context carries.
func (c holdContext) Value(key any) any {
	if key == (holdKey{}) {
		return c.hold
	}
	return c.Context.Value(key)
}

var threadOwners atomic.Uint64

// WithOwner returns a context with an owner of its own for all names, as a Java thread is one: whatever
// is locked with it, or with a context made from it, is re-entered by all others that carry it.
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
		if hold.engine == e && hold.name == name {
			return hold.grant.Owner
		}
		if g := hold.group(); g != nil {
			if owner := g.owner(e, name); owner != 0 {
				return owner
			}
		}
		at = hold.parent
	}
	owner, _ := ctx.Value(ownerKey{}).(uint64)
	return owner
}
