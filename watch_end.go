package lockwheel

import (
	"context"
	"time"
)

// endOf is a context that ends with a caller's. When that ends, Go asks why on a goroutine of its own: of the caller's context a panic there
// would be the end of the process, and the end of the goroutine would keep from all who wait with it that it has ended.
type endOf struct {
	of    context.Context // nil once it was asked for a value
	done  <-chan struct{}
	value any
}

// onlyEnd is a context that ends with another one and then calls nothing of it.
func onlyEnd(ctx context.Context) context.Context {
	if _, itself := ctx.(interface{ AfterFunc(func()) func() bool }); itself || ordinary(ctx) {
		return ctx
	}
	return &endOf{of: ctx, done: ctx.Done()}
}

func (c *endOf) Deadline() (at time.Time, is bool) { return at, false }

func (c *endOf) Done() <-chan struct{} { return c.done }

func (c *endOf) Err() error {
	select {
	case <-c.done:
		return context.Canceled
	default:
		return nil
	}
}

// Value is what the caller's context answers to the one question that package context has, which is whether it is made of one of its own.
// It has it first before AfterFunc returns, and then again.
func (c *endOf) Value(key any) any {
	if c.of != nil {
		c.of, c.value = nil, c.of.Value(key)
	}
	return c.value
}
