package lockwheel

import (
	"cmp"
	"context"
	"hash/maphash"
	"reflect"

	"github.com/lockwheel/lockwheel/actor"
)

// callerContexts handles the contexts of an engine's callers. A context may be a custom type with methods that block or
// panic, so the loop never calls one.
type callerContexts struct {
	ending    workerPool // ends the contexts of holds; runs no code of a caller
	detaching workerPool // unregisters from callers' contexts, and runs code of theirs
	watches   contextWatches
}

func (c *callerContexts) init(e *Engine) {
	c.watches.causeOf, c.watches.shared.seed = c.causeOf, maphash.MakeSeed()
	c.watches.cancelAll = func(together []*actor.Request, cause error) { e.loop.CancelAll(together, cause) }
	c.ending.maxWorkers, c.ending.maxTasks = maxEndingWorkers, 1<<62 // the number of holds is the bound
	c.detaching.maxWorkers, c.detaching.maxTasks = maxDetachingWorkers, maxDetaching
}

// holdContext is a hold's context: it carries the hold as the owner of its lock. It is a child of Lock's context. If
// that is a custom context, there is one of package context between them, so that the child ends without calling the
// custom one.
type holdContext struct {
	context.Context
	hold   *Hold
	cancel context.CancelCauseFunc
	detach context.CancelCauseFunc // unregisters from Lock's context; nil if cancel does so without code of the caller
}

func newHoldContext(h *Hold) *holdContext {
	c, parent := &holdContext{hold: h}, h.parent
	if !isStdContext(parent) {
		parent, c.detach = context.WithCancelCause(parent)
	}
	c.Context, c.cancel = context.WithCancelCause(parent)
	return c
}

var (
	cancelType = reflect.TypeOf(canceledCtx)
	timerType  = func() reflect.Type {
		ctx, cancel := context.WithTimeout(context.Background(), 0)
		cancel()
		return reflect.TypeOf(ctx)
	}()
	valueType = reflect.TypeOf(context.WithValue(context.Background(), holdKey{}, nil))
)

// isStdContext reports whether a child can be removed from a context without running code of the caller.
func isStdContext(ctx context.Context) bool {
	for {
		switch c := ctx.(type) {
		case *tokenContext:
			ctx = c.Context
		case *multiHold:
			ctx = c.Context
		case *holdContext:
			return true
		default:
			is := reflect.TypeOf(ctx)
			return is == cancelType || is == timerType || ctx == context.Background()
		}
	}
}

// isStdTree reports whether a context consists only of contexts of package context, so that none of its methods is
// code of a caller.
func isStdTree(ctx context.Context) bool {
	for !isStdContext(ctx) {
		switch c := ctx.(type) {
		case *tokenContext:
			ctx = c.Context
		case *multiHold:
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

// discard ends a context that was never returned to a caller.
func (c *holdContext) discard(reason error) {
	c.cancel(reason)
	if c.detach != nil {
		c.detach(nil)
	}
}

// end ends the context of a hold that has ended, on the goroutine of its caller, and then closes Done.
func (c *callerContexts) end(untold *actor.HoldSignal, reason error) {
	of := untold.Context.(*holdContext)
	of.cancel(reason)
	close(untold.Done)
	c.detach(of)
}

// endAsync does the same without waiting for it. A context with very many children can take long to end, and Done
// does not wait for them.
func (c *callerContexts) endAsync(untold *actor.HoldSignal, reason error) {
	c.ending.submit(func() {
		of, over := untold.Context.(*holdContext), make(chan struct{})
		go func() {
			of.cancel(reason)
			close(over)
		}()
		<-of.Context.Done()
		close(untold.Done)
		<-over
		c.detach(of)
	})
}

func (c *callerContexts) detach(of *holdContext) {
	if of.detach != nil {
		c.detaching.submit(func() { of.detach(nil) })
	}
}

// causeOf returns the cause of a context's end. It returns context.Canceled if the context panics or does not report
// its end.
func (c *callerContexts) causeOf(ctx context.Context) error {
	return cmp.Or(c.endCause(ctx), context.Canceled)
}

// endCause returns the cause of a context's end, or nil if the context does not report its end. A panic counts as
// context.Canceled.
func (c *callerContexts) endCause(ctx context.Context) (cause error) {
	defer func() {
		if recover() != nil {
			c.detaching.panics.Add(1)
			cause = context.Canceled
		}
	}()
	return context.Cause(ctx)
}
