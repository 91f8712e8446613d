package api_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// Do holds the lock while the function runs, and returns the function's error. The function's context re-enters.
func TestDo_FunctionRuns_LockHeld(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{}).Mutex("n")
	failure := errors.New("what the function returned")
	err := m.Do(t.Context(), func(ctx context.Context) error {
		require.True(t, s.Exists("n"))
		locktest.StateFailed(t, m)
		locktest.RequireCount(t, ctx, m, 1)
		return errors.Join(failure, m.Do(ctx, func(ctx context.Context) error { // re-enters
			locktest.RequireCount(t, ctx, m, 2)
			return nil
		}))
	})
	require.ErrorIs(t, err, failure)
	require.False(t, s.Exists("n"))
	require.NoError(t, m.Do(t.Context(), func(context.Context) error { return nil }))
}

// Do unlocks if the function panics or ends its goroutine.
func TestDo_FunctionPanics_Unlocked(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{}).Mutex("n")
	require.PanicsWithValue(t, "oops", func() {
		_ = m.Do(t.Context(), func(context.Context) error { panic("oops") })
	})
	require.False(t, s.Exists("n"))

	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = m.Do(t.Context(), func(context.Context) error { runtime.Goexit(); return nil })
	}()
	locktest.Receive(t, exited)
	require.False(t, s.Exists("n"))
}

// Lock and Unlock can fail with the same error. That of Do says whether the function has run.
func TestDo_UnlockUnanswered_SaysSo(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	e := s.OpenAt(p.Addr(), lockwheel.Options{CallTimeout: 100 * time.Millisecond, Lease: 10 * time.Second})
	failure := errors.New("what the function returned")
	err := e.Mutex("n").Do(t.Context(), func(context.Context) error {
		p.Set(proxy.Both, proxy.Hold)
		return failure
	})
	for _, want := range []error{failure, lockwheel.ErrUnlockFailed, lockwheel.ErrUnavailable} {
		require.ErrorIs(t, err, want)
	}
	require.ErrorContains(t, err, `lockwheel: lock "n": unlock failed: redis unavailable: `)
	err = e.Mutex("other").Do(t.Context(), func(context.Context) error { panic("it has no lock") }, lockwheel.Wait(time.Millisecond))
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	require.NotErrorIs(t, err, lockwheel.ErrUnlockFailed)
	require.NoError(t, p.Heal())
	var proxies []*proxy.Proxy // of a quorum
	var members []lockwheel.Mutex
	for range 3 {
		s := locktest.RealServer(t)
		p := proxy.Start(t, s.Addr)
		proxies = append(proxies, p)
		members = append(members, s.OpenAt(p.Addr(), lockwheel.Options{CallTimeout: 100 * time.Millisecond, Lease: 10 * time.Second}).Mutex("q"))
	}
	for name, lock := range map[string]interface {
		Do(context.Context, func(context.Context) error, ...lockwheel.Option) error
	}{
		"multi":    e.Multi(e.Mutex("a"), e.Mutex("b")),
		"of kinds": e.Multi(e.Mutex("c"), e.FencedMutex("d")),
		"readers":  e.RWMutex("e").RLocker(),
		"quorum":   lockwheel.Quorum(members...),
	} {
		err := lock.Do(t.Context(), func(context.Context) error {
			for _, p := range append(proxies, p) {
				p.Set(proxy.Both, proxy.Hold)
			}
			return nil
		})
		require.ErrorIs(t, err, lockwheel.ErrUnlockFailed, name)
		require.ErrorIs(t, err, lockwheel.ErrUnavailable, name)
		require.ErrorContains(t, err, ": unlock failed: ", name)
		for _, p := range append(proxies, p) {
			require.NoError(t, p.Heal())
		}
	}
}

// Do returns a loss together with the function's own error.
func TestDo_LockLost_BothErrors(t *testing.T) {
	t.Parallel()
	m := locktest.AnyServer(t).Open(lockwheel.Options{}).Mutex("n")
	failure := errors.New("what the function returned")
	err := m.Do(t.Context(), func(ctx context.Context) error {
		locktest.ForceUnlock(t, m)
		locktest.Receive(t, ctx.Done())
		require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrLost)
		return failure
	})
	require.ErrorIs(t, err, lockwheel.ErrLost)
	require.ErrorIs(t, err, failure)

	err = m.Do(t.Context(), func(context.Context) error {
		locktest.ForceUnlock(t, m)
		return nil
	})
	require.ErrorIs(t, err, lockwheel.ErrLost)
}

// A function that returns the cause of its context has reported the loss: the error contains it once.
func TestDo_FunctionReturnsLoss_ReportedOnce(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	cause := func(ctx context.Context) error {
		locktest.Receive(t, ctx.Done())
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	for name, do := range map[string]func(func(context.Context) error) error{
		"mutex": func(f func(context.Context) error) error {
			return e.Mutex("n").Do(t.Context(), func(ctx context.Context) error {
				locktest.ForceUnlock(t, e.Mutex("n"))
				return f(ctx)
			})
		},
		"multi": func(f func(context.Context) error) error {
			return e.Multi(e.Mutex("a"), e.Mutex("b")).Do(t.Context(), func(ctx context.Context) error {
				locktest.ForceUnlock(t, e.Mutex("b"))
				return f(ctx)
			})
		},
	} {
		err := do(cause)
		require.ErrorIs(t, err, lockwheel.ErrLost, name)
		require.Equal(t, 1, strings.Count(err.Error(), lockwheel.ErrLost.Error()), "%s: %v", name, err)
		other := errors.New("another reason")
		err = do(func(ctx context.Context) error { locktest.Receive(t, ctx.Done()); return other })
		require.ErrorIs(t, err, other, name)
		require.ErrorIs(t, err, lockwheel.ErrLost, name)
	}
}

// Do reports once that its engine was closed, also if the function returns that as well.
func TestDo_EngineClosed_ReportedOnce(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(e *lockwheel.Engine, f func(context.Context) error) error{
		"mutex": func(e *lockwheel.Engine, f func(context.Context) error) error { return e.Mutex("n").Do(t.Context(), f) },
		"multi": func(e *lockwheel.Engine, f func(context.Context) error) error {
			return e.Multi(e.Mutex("a"), e.Mutex("b")).Do(t.Context(), f)
		},
	} {
		e := locktest.AnyServer(t).Open(lockwheel.Options{})
		err := do(e, func(ctx context.Context) error {
			require.NoError(t, e.Close())
			locktest.Receive(t, ctx.Done())
			return context.Cause(ctx)
		})
		require.ErrorIs(t, err, lockwheel.ErrClosed, name)
		require.Equal(t, 1, strings.Count(err.Error(), lockwheel.ErrClosed.Error()), "%s: %v", name, err)
	}
}

func TestDo_NotAcquired_FunctionNotRun(t *testing.T) {
	t.Parallel()
	m := locktest.AnyServer(t).Open(lockwheel.Options{}).Mutex("n")
	hold := locktest.Lock(t, m)
	err := m.Do(t.Context(), func(context.Context) error { panic("run without the lock") }, lockwheel.Wait(0))
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	locktest.Unlock(t, hold)
}

// Do sends the release even if the request's context has ended meanwhile.
func TestDo_ContextEnded_Unlocks(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{}).Mutex("n")
	do := func(last func()) error {
		ctx, cancel := context.WithCancel(t.Context())
		return m.Do(ctx, func(ctx context.Context) error {
			last()
			cancel()
			return ctx.Err()
		})
	}
	err := do(func() {})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, lockwheel.ErrUnavailable)
	require.False(t, s.Exists("n"))
	for range 5 { // it waits for the reply, which says that the lock was gone
		err = do(func() { s.Do("DEL", "n") })
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, lockwheel.ErrLost)
	}
}
