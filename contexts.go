package lockwheel

import (
	"cmp"
	"context"
	"hash/maphash"
	"reflect"

	"github.com/lockwheel/lockwheel/actor"
)

// contexts handles the contexts of an engine's callers. A context may be a custom type with methods that block or
// panic, so the loop never calls one.
type contexts struct {
	ending  crew // ends the contexts of holds; runs no code of a caller
	leaving crew // unregisters from callers' contexts, and runs code of theirs
	watches watches
}

func (c *contexts) begin(e *Engine) {
	c.watches.causeOf, c.watches.shared.seed = c.cause, maphash.MakeSeed()
	c.watches.giveUp = func(together []*actor.Request, cause error) { e.loop.CancelAll(together, cause) }
	c.ending.most, c.ending.limit = mostEnding, 1<<62 // the number of holds is the bound
	c.leaving.most, c.leaving.limit = mostLeaving, mostLeft
}

// holdContext is a hold's context: it carries the hold as the owner of its lock. It is a child of Lock's context. If
// that is a custom context, there is one of package context between them, so that the child ends without calling the
// custom one.
type holdContext struct {
	context.Context
	hold   *Hold
	cancel context.CancelCauseFunc
	leave  context.CancelCauseFunc // unregisters from Lock's context; nil if cancel does so without code of the caller
}

func newHoldContext(h *Hold) *holdContext {
	c, parent := &holdContext{hold: h}, h.parent
	if !ofPackageContext(parent) {
		parent, c.leave = context.WithCancelCause(parent)
	}
	c.Context, c.cancel = context.WithCancelCause(parent)
	return c
}

var (
	cancelType = reflect.TypeOf(ended)
	timerType  = func() reflect.Type {
		ctx, cancel := context.WithTimeout(context.Background(), 0)
		cancel()
		return reflect.TypeOf(ctx)
	}()
	valueType = reflect.TypeOf(context.WithValue(context.Background(), holdKey{}, nil))
)

// ofPackageContext reports whether a child can be removed from a context without running code of the caller.
func ofPackageContext(ctx context.Context) bool {
	for {
		switch c := ctx.(type) {
		case *fencing:
			ctx = c.Context
		case *group:
			ctx = c.Context
		case *holdContext:
			return true
		default:
			is := reflect.TypeOf(ctx)
			return is == cancelType || is == timerType || ctx == context.Background()
		}
	}
}

// ordinary reports whether a context consists only of contexts of package context, so that none of its methods is
// code of a caller.
func ordinary(ctx context.Context) bool {
	for !ofPackageContext(ctx) {
		switch c := ctx.(type) {
		case *fencing:
			ctx = c.Context
		case *group:
			ctx = c.Context
		default:
			if reflect.TypeOf(ctx) != valueType {
				return false
			}
			ctx = reflect.ValueOf(ctx).Elem().FieldByName("Context").Interface().(context.Context)
		}
	}
	return true
}

// drop ends a context that was never returned to a caller.
func (c *holdContext) drop(reason error) {
	c.cancel(reason)
	if c.leave != nil {
		c.leave(nil)
	}
}

// end ends the context of a hold that has ended, on the goroutine of its caller, and then closes Done.
func (c *contexts) end(untold *actor.Signal, reason error) {
	of := untold.Value.(*holdContext)
	of.cancel(reason)
	close(untold.Done)
	c.leave(of)
}

// endBeside does the same without waiting for it. A context with very many children can take long to end, and Done
// does not wait for them.
func (c *contexts) endBeside(untold *actor.Signal, reason error) {
	c.ending.put(func() {
		of, over := untold.Value.(*holdContext), make(chan struct{})
		go func() {
			of.cancel(reason)
			close(over)
		}()
		<-of.Context.Done()
		close(untold.Done)
		<-over
		c.leave(of)
	})
}

func (c *contexts) leave(of *holdContext) {
	if of.leave != nil {
		c.leaving.put(func() { of.leave(nil) })
	}
}

// cause returns the cause of a context's end. It returns context.Canceled if the context panics or does not report
// its end.
func (c *contexts) cause(ctx context.Context) error {
	return cmp.Or(c.ended(ctx), context.Canceled)
}

// ended returns the cause of a context's end, or nil if the context does not report its end. A panic counts as
// context.Canceled.
func (c *contexts) ended(ctx context.Context) (cause error) {
	defer func() {
		if recover() != nil {
			c.leaving.panics.Add(1)
			cause = context.Canceled
		}
	}()
	return context.Cause(ctx)
}
