package api_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// watchedContext is a context that does not end, and counts what is registered for its end.
type watchedContext struct {
	context.Context
	done     chan struct{}
	watching atomic.Int64
}

func newWatchedContext() *watchedContext {
	return &watchedContext{Context: context.Background(), done: make(chan struct{})}
}

func (c *watchedContext) Done() <-chan struct{} { return c.done }

// AfterFunc is called by package context, which otherwise keeps a list of its own.
func (c *watchedContext) AfterFunc(func()) (stop func() bool) {
	c.watching.Add(1)
	var stopped atomic.Bool
	return func() bool {
		if stopped.CompareAndSwap(false, true) {
			c.watching.Add(-1)
			return true
		}
		return false
	}
}

// A request that has its result leaves nothing registered at its context, whatever the result is.
func TestContext_RequestDone_NothingLeft(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	const times = 1000
	s.HoldAsOther("taken", time.Hour)
	e := s.Open(lockwheel.Options{})
	taken, free := e.Mutex("taken"), e.Mutex("free")
	shut := s.Open(lockwheel.Options{})
	require.NoError(t, shut.Close())
	for what, ask := range map[string]func(context.Context) *lockwheel.Pending{
		"refused": func(ctx context.Context) *lockwheel.Pending { return taken.LockAsync(ctx, lockwheel.Wait(0)) },
		"refused when its wait ended": func(ctx context.Context) *lockwheel.Pending {
			return taken.LockAsync(ctx, lockwheel.Wait(time.Millisecond))
		},
		"never sent": func(ctx context.Context) *lockwheel.Pending { return shut.Mutex("n").LockAsync(ctx) },
		"canceled": func(ctx context.Context) *lockwheel.Pending {
			p := taken.LockAsync(ctx)
			p.Cancel()
			return p
		},
		"granted and canceled": func(ctx context.Context) *lockwheel.Pending {
			p := free.LockAsync(ctx)
			<-p.Done()
			p.Cancel()
			return p
		},
		"granted and taken": func(ctx context.Context) *lockwheel.Pending {
			p := free.LockAsync(ctx)
			<-p.Done()
			if hold, err := p.Hold(); err == nil {
				hold.Context()
				_ = hold.Unlock(context.Background())
			}
			return p
		},
	} {
		ctx := newWatchedContext()
		ps := make([]*lockwheel.Pending, 0, 100)
		for range times / 100 {
			ps = ps[:0]
			for range 100 {
				ps = append(ps, ask(ctx))
			}
			for _, p := range ps {
				locktest.Receive(t, p.Done())
			}
		}
		locktest.Eventually(t, what, func() bool { return ctx.watching.Load() == 0 })
	}
	locktest.RequireIdle(t, e)
}

// A grant that its caller does not take is released when its context ends, so the engine watches the context until
// then.
func TestPendingGrant_Untaken_ContextWatched(t *testing.T) {
	t.Parallel()
	ctx := newWatchedContext()
	p := locktest.AnyServer(t).Open(lockwheel.Options{}).Mutex("n").LockAsync(ctx)
	locktest.Receive(t, p.Done())
	require.EqualValues(t, 1, ctx.watching.Load())
	hold, err := p.Hold()
	require.NoError(t, err)
	require.Zero(t, ctx.watching.Load())
	locktest.Unlock(t, hold)
}

// Dial leaves nothing registered at its context, whether it succeeds or fails.
func TestContext_AfterDial_NothingLeft(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t, "--requirepass", "secret")
	ctx := newWatchedContext()
	for range 20 {
		e, err := lockwheel.Dial(ctx, "redis://:secret@"+s.Addr)
		require.NoError(t, err)
		locktest.Unlock(t, locktest.Lock(t, e.Mutex("n"))) // and a Pub/Sub connection
		_, err = lockwheel.Dial(ctx, "redis://:public@"+s.Addr)
		require.ErrorContains(t, err, "WRONGPASS")
		locktest.Eventually(t, "nothing watches the context", func() bool { return ctx.watching.Load() == 0 })
		require.NoError(t, e.Close())
	}
}

// A hold's context is a child of Lock's context, which keeps no reference to it after the hold has ended.
func TestContext_HoldEnded_NothingLeft(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	ctx := newWatchedContext()
	e := s.Open(lockwheel.Options{})
	elsewhere := func() lockwheel.Mutex { return locktest.AnyServer(t).Open(lockwheel.Options{}).Mutex("n") }
	quorum := lockwheel.Quorum(e.Mutex("n"), elsewhere(), elsewhere())
	for range 100 {
		hold := locktest.LockWith(t, ctx, e.Mutex("n"))
		hold.Context()
		locktest.Unlock(t, hold)
		hold = locktest.LockWith(t, ctx, e.Mutex("n"))
		hold.Context()
		locktest.ForceUnlock(t, e.Mutex("n"))
		require.ErrorIs(t, hold.Unlock(ctx), lockwheel.ErrLost)
		for _, m := range []lockwheel.Multi{locktest.Multi(e, "a", "b"), quorum} {
			hold, err := m.Lock(ctx, lockwheel.Wait(locktest.TestDeadline))
			require.NoError(t, err)
			hold.Context()
			locktest.Unlock(t, hold)
		}
		locktest.Eventually(t, "nothing watches the context", func() bool { return ctx.watching.Load() == 0 })
	}
	hold := locktest.LockWith(t, ctx, e.Mutex("n"))
	hold.Context()
	require.NoError(t, e.Close())
	require.Zero(t, ctx.watching.Load())
}
