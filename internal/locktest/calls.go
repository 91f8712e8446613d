package locktest

import (
	"context"

	"github.com/lockwheel/lockwheel"
)

// Locks returns the three ways to acquire a lock.
func Locks(m lockwheel.Mutex) []func(context.Context, ...lockwheel.Option) (*lockwheel.Hold, error) {
	async := func(ctx context.Context, opts ...lockwheel.Option) (*lockwheel.Hold, error) {
		p := m.LockAsync(ctx, opts...)
		<-p.Done()
		return p.Hold()
	}
	return []func(context.Context, ...lockwheel.Option) (*lockwheel.Hold, error){m.Lock, m.TryLock, async}
}

// AllCalls calls every method of a Mutex and returns the errors by name.
func AllCalls(ctx context.Context, m lockwheel.Mutex) map[string]error {
	errs := map[string]error{
		"Do":          m.Do(ctx, func(context.Context) error { panic("run without the lock") }),
		"ForceUnlock": Second(m.ForceUnlock(ctx)),
		"State":       Second(m.State(ctx)),
		"IsLocked":    Second(m.IsLocked(ctx)),
		"TTL":         Second(m.TTL(ctx)),
		"HoldCount":   Second(m.HoldCount(ctx)),
	}
	for i, call := range Locks(m) {
		errs[[]string{"Lock", "TryLock", "LockAsync"}[i]] = Second(call(ctx))
	}
	return errs
}

// NoContext is a nil context, which is invalid.
var NoContext context.Context
