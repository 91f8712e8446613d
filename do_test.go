package lockwheel_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// Do: the function runs under the lock, and the lock goes however it ends.

func TestDoHoldsTheLockWhileTheFunctionRuns(t *testing.T) {
	t.Parallel()
	s := anySite(t)
	m := s.open(lockwheel.Options{}).Mutex("n")
	failure := errors.New("what the function returned")
	err := m.Do(t.Context(), func(ctx context.Context) error {
		require.True(t, s.exists("n"))
		refused(t, m)
		requireCount(t, ctx, m, 1)
		return errors.Join(failure, m.Do(ctx, func(ctx context.Context) error { // re-enters
			requireCount(t, ctx, m, 2)
			return nil
		}))
	})
	require.ErrorIs(t, err, failure)
	require.False(t, s.exists("n"))
	require.NoError(t, m.Do(t.Context(), func(context.Context) error { return nil }))
}

func TestDoUnlocksWhenTheFunctionPanics(t *testing.T) {
	t.Parallel()
	s := anySite(t)
	m := s.open(lockwheel.Options{}).Mutex("n")
	require.PanicsWithValue(t, "oops", func() {
		_ = m.Do(t.Context(), func(context.Context) error { panic("oops") })
	})
	require.False(t, s.exists("n"))

	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = m.Do(t.Context(), func(context.Context) error { runtime.Goexit(); return nil })
	}()
	receive(t, exited)
	require.False(t, s.exists("n"))
}

func TestDoReportsALossBesideTheFunctionsOwnError(t *testing.T) {
	t.Parallel()
	m := anySite(t).open(lockwheel.Options{}).Mutex("n")
	failure := errors.New("what the function returned")
	err := m.Do(t.Context(), func(ctx context.Context) error {
		forceUnlock(t, m)
		receive(t, ctx.Done())
		require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrLost)
		return failure
	})
	require.ErrorIs(t, err, lockwheel.ErrLost)
	require.ErrorIs(t, err, failure)

	err = m.Do(t.Context(), func(context.Context) error {
		forceUnlock(t, m)
		return nil
	})
	require.ErrorIs(t, err, lockwheel.ErrLost)
}

func TestDoDoesNotRunTheFunctionWithoutTheLock(t *testing.T) {
	t.Parallel()
	m := anySite(t).open(lockwheel.Options{}).Mutex("n")
	hold := lock(t, m)
	err := m.Do(t.Context(), func(context.Context) error { panic("run without the lock") }, lockwheel.Wait(0))
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	unlock(t, hold)
}

// the release goes out although the request's context has ended meanwhile.
func TestDoUnlocksAfterItsContextEnded(t *testing.T) {
	t.Parallel()
	s := anySite(t)
	m := s.open(lockwheel.Options{}).Mutex("n")
	ctx, cancel := context.WithCancel(t.Context())
	err := m.Do(ctx, func(ctx context.Context) error {
		cancel()
		return ctx.Err()
	})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, lockwheel.ErrUnavailable)
	require.False(t, s.exists("n"))
}
