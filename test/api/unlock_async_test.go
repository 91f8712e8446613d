package api_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// The hold has ended when UnlockAsync returns, whatever the server does.
func TestUnlockAsync_SilentServer_EndsAtOnce(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	e := s.OpenAt(p.Addr(), lockwheel.Options{CallTimeout: 1200 * time.Millisecond})
	hold := locktest.Lock(t, e.Mutex("n"))
	ctx := hold.Context()
	p.Set(proxy.Both, proxy.Hold)
	u := hold.UnlockAsync()
	require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrNotHeld)
	require.ErrorIs(t, hold.Err(), lockwheel.ErrNotHeld)
	require.NoError(t, u.Err(), "not known yet")
	locktest.Receive(t, u.Done())
	require.ErrorIs(t, u.Err(), lockwheel.ErrUnavailable)
	require.NoError(t, p.Heal())
	locktest.Eventually(t, "released", func() bool { return !s.Exists("n") })
}

// The result is that of Unlock, for one lock and for several.
func TestUnlockAsync_Result_ThatOfUnlock(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	for name, lock := range map[string]func() (*lockwheel.Hold, error){
		"one":     func() (*lockwheel.Hold, error) { return e.Mutex("n").Lock(t.Context()) },
		"several": func() (*lockwheel.Hold, error) { return e.Multi(e.Mutex("n"), e.Mutex("m")).Lock(t.Context()) },
	} {
		hold, err := lock()
		require.NoError(t, err, name)
		first, second := hold.UnlockAsync(), hold.UnlockAsync()
		locktest.Receive(t, first.Done())
		locktest.Receive(t, second.Done())
		notHeld := 0
		for _, u := range []*lockwheel.Unlocking{first, second} {
			if err := u.Err(); err != nil {
				require.ErrorIs(t, err, lockwheel.ErrNotHeld, name)
				notHeld++
			}
		}
		require.LessOrEqual(t, notHeld, 1, name)
		require.False(t, s.Exists("n"), name)

		hold, err = lock()
		require.NoError(t, err, name)
		_, err = e.Mutex("n").ForceUnlock(t.Context())
		require.NoError(t, err, name)
		u := hold.UnlockAsync()
		locktest.Receive(t, u.Done())
		require.ErrorIs(t, u.Err(), lockwheel.ErrLost, name)
	}
	locktest.RequireIdle(t, e)
}

// Only the first unlock of a hold is sent to the loop, so that repeating it costs nothing.
func TestUnlockAsync_Repeated_PostsOnce(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	e := s.OpenAt(p.Addr(), lockwheel.Options{CallTimeout: locktest.TestDeadline})
	hold := locktest.Lock(t, e.Mutex("n"))
	p.Set(proxy.Both, proxy.Hold)
	first := hold.UnlockAsync()
	require.ErrorIs(t, hold.Err(), lockwheel.ErrNotHeld, "also without a context")
	for range 100 {
		u := hold.UnlockAsync()
		locktest.Receive(t, u.Done())
		require.ErrorIs(t, u.Err(), lockwheel.ErrNotHeld)
	}
	require.NoError(t, p.Heal())
	locktest.Receive(t, first.Done())
	require.NoError(t, first.Err())
}

// The next caller of the engine gets the lock.
func TestUnlockAsync_Waiter_Granted(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	hold := locktest.Lock(t, e.Mutex("n"))
	waiting := locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.Queued(t, e, 1)
	hold.UnlockAsync()
	locktest.Unlock(t, locktest.Granted(t, waiting))
}

// An engine that is closed, a zero Hold and a zero Unlocking have a result at once.
func TestUnlockAsync_NoEngine_ResultAtOnce(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	hold, with := locktest.Lock(t, e.Mutex("n")), locktest.Lock(t, e.Mutex("m"))
	ctx := with.Context()
	require.NoError(t, e.Close())
	for _, u := range []*lockwheel.Unlocking{hold.UnlockAsync(), with.UnlockAsync()} {
		locktest.Receive(t, u.Done())
		require.ErrorIs(t, u.Err(), lockwheel.ErrClosed)
	}
	require.True(t, errors.Is(context.Cause(ctx), lockwheel.ErrClosed))
	for _, u := range []*lockwheel.Unlocking{new(lockwheel.Hold).UnlockAsync(), new(lockwheel.Unlocking)} {
		locktest.Receive(t, u.Done())
		require.ErrorIs(t, u.Err(), lockwheel.ErrNotHeld)
	}
}
