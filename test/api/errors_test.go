package api_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// Each error is produced by its real cause. It matches its sentinel and no other, and its text names the lock.
func TestErrors_EachCause_Distinguished(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		is   error // the sentinel; nil: none, the error is the server's own
		also error // a further error that it matches
		make func(t *testing.T) error
	}{
		{"TryLock of a taken lock", lockwheel.ErrNotAcquired, nil, func(t *testing.T) error {
			return locktest.Second(stateTaken(t).TryLock(t.Context()))
		}},
		{"the end of a Wait", lockwheel.ErrNotAcquired, nil, func(t *testing.T) error {
			return locktest.Second(stateTaken(t).Lock(t.Context(), lockwheel.Wait(askTime)))
		}},
		{"a deadline", lockwheel.ErrNotAcquired, context.DeadlineExceeded, func(t *testing.T) error {
			return stateCanceled(t, stateTaken(t), func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, askTime)
			})
		}},
		{"a canceled context", lockwheel.ErrNotAcquired, context.Canceled, func(t *testing.T) error {
			return stateCanceled(t, stateTaken(t), func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(askTime, cancel)
				return ctx, cancel
			})
		}},
		{"a cause", lockwheel.ErrNotAcquired, locktest.ErrTest, func(t *testing.T) error {
			return stateCanceled(t, stateTaken(t), func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeoutCause(ctx, askTime, locktest.ErrTest)
			})
		}},
		{"a context that ended before", lockwheel.ErrNotAcquired, context.Canceled, func(t *testing.T) error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return locktest.Second(locktest.AnyServer(t).Open(lockwheel.Options{}).Mutex("n").Lock(ctx))
		}},
		{"a dead server", lockwheel.ErrUnavailable, nil, func(t *testing.T) error {
			return locktest.Second(dead(t).Lock(t.Context(), lockwheel.Wait(100*time.Millisecond)))
		}},
		{"a server that stood still for longer than its connections last", lockwheel.ErrUnavailable, nil, func(t *testing.T) error {
			s := locktest.RealServer(t)
			e := s.Open(lockwheel.Options{CallTimeout: 250 * time.Millisecond})
			locktest.UnlockHold(t, locktest.Lock(t, e.Mutex("n")))
			require.NoError(t, s.Real.Pause())
			require.ErrorIs(t, locktest.Second(e.Mutex("n").Lock(t.Context(), lockwheel.Wait(time.Second))), lockwheel.ErrUnavailable)
			return locktest.Second(e.Mutex("n").Lock(t.Context(), lockwheel.Wait(time.Second)))
		}},
		{"a dead server and a deadline", lockwheel.ErrUnavailable, context.DeadlineExceeded, func(t *testing.T) error {
			return stateCanceled(t, dead(t), func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 500*time.Millisecond)
			})
		}},
		{"a lease that ended", lockwheel.ErrLost, nil, func(t *testing.T) error {
			m := locktest.AnyServer(t).Open(lockwheel.Options{}).Mutex("n")
			hold := locktest.LockBriefly(t, t.Context(), m, lockwheel.Lease(700*time.Millisecond))
			locktest.Receive(t, hold.Done())
			return hold.Err()
		}},
		{"Unlock of what was forced away", lockwheel.ErrLost, nil, func(t *testing.T) error {
			s := locktest.AnyServer(t)
			hold := locktest.Lock(t, s.Open(lockwheel.Options{}).Mutex("n"))
			locktest.ForceUnlock(t, s.Open(lockwheel.Options{}).Mutex("n"))
			return hold.Unlock(t.Context())
		}},
		{"a second Unlock", lockwheel.ErrNotHeld, nil, func(t *testing.T) error {
			hold := locktest.Lock(t, locktest.AnyServer(t).Open(lockwheel.Options{}).Mutex("n"))
			locktest.Unlock(t, hold)
			return hold.Unlock(t.Context())
		}},
		{"a closed engine", lockwheel.ErrClosed, nil, func(t *testing.T) error {
			e := locktest.AnyServer(t).Open(lockwheel.Options{})
			require.NoError(t, e.Close())
			return locktest.Second(e.Mutex("n").Lock(t.Context()))
		}},
		{"a key of another type", nil, nil, func(t *testing.T) error {
			s := locktest.AnyServer(t)
			s.Do("SET", "n", "x")
			return locktest.Second(s.Open(lockwheel.Options{}).Mutex("n").Lock(t.Context()))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := c.make(t)
			require.Error(t, err)
			for _, sentinel := range locktest.Sentinels {
				require.Equal(t, sentinel == c.is, errors.Is(err, sentinel), "%v is %v", err, sentinel)
			}
			if c.also != nil {
				require.ErrorIs(t, err, c.also)
			} else {
				require.NotErrorIs(t, err, context.Canceled)
				require.NotErrorIs(t, err, context.DeadlineExceeded)
			}
			require.ErrorContains(t, err, `lock "n"`)
			require.NotContains(t, err.Error(), "\n", "one line")
			t.Log(err)
		})
	}
}

// askTime is long enough for the reply that the lock is held elsewhere.
const askTime = 2 * time.Second

// stateTaken returns a lock that is held elsewhere.
func stateTaken(t *testing.T) lockwheel.Mutex {
	t.Helper()
	s := locktest.AnyServer(t)
	s.HoldAsOther("n", time.Hour)
	return s.Open(lockwheel.Options{}).Mutex("n")
}

// dead returns a lock on a server that is gone.
func dead(t *testing.T) lockwheel.Mutex {
	t.Helper()
	s := locktest.RealServer(t)
	m := s.Open(lockwheel.Options{}).Mutex("n")
	require.NoError(t, s.Real.Kill())
	return m
}

// stateCanceled returns the error of a Lock that a context ends.
func stateCanceled(t *testing.T, m lockwheel.Mutex, with func(context.Context) (context.Context, context.CancelFunc)) error {
	t.Helper()
	ctx, cancel := with(t.Context())
	defer cancel()
	return locktest.Second(m.Lock(ctx))
}

// An error prints any name on one line and with a bounded length.
func TestErrors_AnyName_OneBoundedLine(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	for _, name := range []string{"a\nb\x00c\x1b[31m", strings.Repeat("long", 10_000)} {
		hold := locktest.Lock(t, e.Mutex(name))
		locktest.Unlock(t, hold)
		text := hold.Unlock(t.Context()).Error()
		require.NotContains(t, text, "\n")
		require.NotContains(t, text, "\x1b")
		require.Less(t, len(text), 1000)
	}
}

// After a loss the same lock can be acquired again at once. consul#5686: "lock already held", for ever.
func TestLostLock_LockAgain_Granted(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	m := e.Mutex("n")
	for range 5 {
		hold := locktest.Lock(t, m)
		locktest.ForceUnlock(t, m)
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	}
	locktest.Unlock(t, locktest.Lock(t, m))
	locktest.RequireIdle(t, e)
}
