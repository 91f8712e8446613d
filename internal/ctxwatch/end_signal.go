package ctxwatch

import (
	"context"
	"time"
)

// endSignal is a context that ends with a caller's context and hides its methods. When a context ends, Go asks it for
// the cause on a separate goroutine. A panic of the caller's context there would end the process. A Goexit would hide
// the end from all callers that wait with it.
type endSignal struct {
	parent context.Context // nil after the first call of Value
	done   <-chan struct{}
	value  any
}

// endOnly returns a context that ends with ctx and calls none of its methods after that.
func (c *Config[C]) endOnly(ctx context.Context) context.Context {
	if _, itself := ctx.(interface{ AfterFunc(func()) func() bool }); itself || c.IsStdTree(ctx) {
		return ctx
	}
	return &endSignal{parent: ctx, done: ctx.Done()}
}

func (c *endSignal) Deadline() (at time.Time, is bool) { return at, false }

func (c *endSignal) Done() <-chan struct{} { return c.done }

func (c *endSignal) Err() error {
	select {
	case <-c.done:
		return context.Canceled
	default:
		return nil
	}
}

// Value returns what the caller's context returns for the one key that package context uses, to find a context of its
// own. Package context calls it first before AfterFunc returns, and then again.
func (c *endSignal) Value(key any) any {
	if c.parent != nil {
		c.parent, c.value = nil, c.parent.Value(key)
	}
	return c.value
}
