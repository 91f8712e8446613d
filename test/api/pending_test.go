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

// The hold of a Pending can be taken once, and not before it is decided.
func TestPending_HoldTwice_SecondFails(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	hold := locktest.Lock(t, e.Mutex("n"))
	p := e.Mutex("n").LockAsync(t.Context())
	_, err := p.Hold()
	require.ErrorContains(t, err, `"n"`)
	locktest.RequireNoReply(t, p.Done(), 20*time.Millisecond)
	locktest.Unlock(t, hold)
	locktest.Receive(t, p.Done())
	next, err := p.Hold()
	require.NoError(t, err)
	_, err = p.Hold()
	require.ErrorContains(t, err, "taken before")
	p.Cancel() // too late to have an effect
	require.NoError(t, next.Err())
	require.Equal(t, map[string]string{next.ID(): "1"}, s.Hash("n"))
	locktest.Unlock(t, next)
	locktest.RequireIdle(t, e)
}

// Redisson's spin lock testTryLockAsyncFailed, testTryLockAsyncSucceed.
func TestPending_WithoutWait_FirstReply(t *testing.T) {
	t.Parallel()
	locktest.OnEachNotify(t, func(t *testing.T) {
		s := locktest.AnyServer(t)
		e := s.Open(lockwheel.Options{})
		s.HoldAsOther("n", time.Hour)
		for range 2 {
			p := e.Mutex("n").LockAsync(t.Context(), lockwheel.Wait(0))
			locktest.Receive(t, p.Done())
			_, err := p.Hold()
			require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		}
		s.Do("DEL", "n")
		p := e.Mutex("n").LockAsync(t.Context(), lockwheel.Wait(0))
		locktest.Receive(t, p.Done())
		hold, err := p.Hold()
		require.NoError(t, err)
		locktest.Unlock(t, hold)
		locktest.RequireIdle(t, e)
	})
}

// Exactly one of many callers gets the hold of a Pending.
func TestPending_ManyTakers_OneGetsHold(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	p := e.Mutex("n").LockAsync(t.Context())
	locktest.Receive(t, p.Done())
	holds := make(chan *lockwheel.Hold, 16)
	locktest.Crowd(t, 16, func(int) error {
		if hold, err := p.Hold(); err == nil {
			holds <- hold
		}
		return nil
	})
	require.Len(t, holds, 1)
	locktest.Unlock(t, <-holds)
}

// A grant that is not taken is released when its context ends or it is canceled.
func TestPending_Untaken_Released(t *testing.T) {
	t.Parallel()
	reason := errors.New("enough")
	for name, end := range map[string]func(*lockwheel.Pending, context.CancelCauseFunc){
		"context ended": func(_ *lockwheel.Pending, cancel context.CancelCauseFunc) { cancel(reason) },
		"canceled":      func(p *lockwheel.Pending, _ context.CancelCauseFunc) { p.Cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.AnyServer(t)
			e := s.Open(lockwheel.Options{})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			p := e.Mutex("n").LockAsync(ctx)
			locktest.Receive(t, p.Done())
			require.True(t, s.Exists("n"))
			waiting := locktest.Locking(t.Context(), e.Mutex("n"))
			locktest.Queued(t, e, 1)
			end(p, cancel)
			locktest.Unlock(t, locktest.Granted(t, waiting))
			require.False(t, s.Exists("n"))
			_, err := p.Hold()
			require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
			if name == "canceled" {
				require.ErrorIs(t, err, context.Canceled)
			} else {
				require.ErrorIs(t, err, reason)
			}
			locktest.RequireIdle(t, e)
		})
	}
}

// A canceled call takes nothing from the next call of the same goroutine: not the lock, which it has given up, and not
// its place among the waiters.
func TestPending_Canceled_NotInWayOfNextCall(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{MaxWaiting: 1, CallTimeout: 10 * time.Second})
	for range 200 {
		granted := e.Mutex("n").LockAsync(t.Context())
		locktest.Receive(t, granted.Done())
		granted.Cancel()
		hold, err := e.Mutex("n").TryLock(t.Context())
		require.NoError(t, err)
		waits := e.Mutex("n").LockAsync(t.Context())
		locktest.Queued(t, e, 1)
		waits.Cancel()
		next := e.Mutex("n").LockAsync(t.Context())
		locktest.Unlock(t, hold)
		locktest.Receive(t, next.Done())
		hold, err = next.Hold()
		require.NoError(t, err)
		locktest.Unlock(t, hold)
	}
	locktest.RequireIdle(t, e)
}

// A call that re-enters comes before an unlock of its hold that the same goroutine calls next: the owner keeps the lock
// though another caller waits.
func TestPending_ReentryThenUnlock_KeepsLock(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	unlocks := []func(*lockwheel.Hold){
		func(h *lockwheel.Hold) { locktest.Unlock(t, h) },
		func(h *lockwheel.Hold) { h.UnlockAsync() },
	}
	for i := range 200 {
		hold := locktest.Lock(t, e.Mutex("n"))
		waiting := locktest.Locking(t.Context(), e.Mutex("n"))
		locktest.Queued(t, e, 1)
		again := e.Mutex("n").LockAsync(context.WithoutCancel(hold.Context()))
		unlocks[i%2](hold)
		locktest.Receive(t, again.Done())
		inner, err := again.Hold()
		require.NoError(t, err)
		require.Equal(t, hold.ID(), inner.ID())
		locktest.Unlock(t, inner)
		locktest.Unlock(t, locktest.Granted(t, waiting))
	}
	locktest.RequireIdle(t, e)
}

// A Pending that is canceled leaves the queue, and the next waiter is not affected.
func TestPending_Canceled_LeavesQueue(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	s.HoldAsOther("n", time.Hour)
	e := s.Open(lockwheel.Options{})
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	first, second := e.Mutex("n").LockAsync(t.Context()), e.Mutex("n").LockAsync(ctx)
	third := e.Mutex("n").LockAsync(t.Context(), lockwheel.Wait(locktest.ShortLease))
	locktest.RequireWaiting(t, e, 3, 1)
	first.Cancel()
	cancel(reason)
	for p, want := range map[*lockwheel.Pending]error{first: context.Canceled, second: reason, third: nil} {
		locktest.Receive(t, p.Done())
		_, err := p.Hold()
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		if want != nil {
			require.ErrorIs(t, err, want)
		}
		_, again := p.Hold()
		require.Equal(t, err.Error(), again.Error(), "an error can be read again")
		p.Cancel()
	}
	locktest.RequireIdle(t, e)
}

// LockAsync does not block on a server without replies, and can be canceled.
func TestLockAsync_SilentServer_DoesNotBlock(t *testing.T) {
	t.Parallel()
	s, p, e := locktest.Behind(t, lockwheel.Options{})
	p.Set(proxy.Both, proxy.Hold)
	pending := e.Mutex("n").LockAsync(t.Context())
	locktest.RequireNoReply(t, pending.Done(), 50*time.Millisecond)
	pending.Cancel()
	locktest.Receive(t, pending.Done())
	_, err := pending.Hold()
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, p.Heal())
	locktest.RequireIdle(t, e)
	require.False(t, s.Exists("n"))
}

// Invalid input is detected at once, and Hold returns the error.
func TestLockAsync_InvalidInput_HoldFails(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for what, p := range map[string]*lockwheel.Pending{
		"zero":  lockwheel.Mutex{}.LockAsync(t.Context()),
		"name":  e.Mutex("").LockAsync(t.Context()),
		"lease": e.Mutex("n").LockAsync(t.Context(), lockwheel.Lease(-1)),
		"ctx":   e.Mutex("n").LockAsync(ended),
	} {
		locktest.Receive(t, p.Done())
		_, err := p.Hold()
		require.Error(t, err, what)
		p.Cancel()
	}
	require.Zero(t, e.Stats().Commands)
}

// A taken hold lasts as long as one of Lock: its context ends with that of LockAsync, but the hold does not.
func TestPending_ContextEnds_HoldGoesOn(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	p := e.Mutex("n").LockAsync(ctx)
	locktest.Receive(t, p.Done())
	hold, err := p.Hold()
	require.NoError(t, err)
	cancel()
	locktest.Receive(t, hold.Context().Done())
	locktest.Always(t, 50*time.Millisecond, "still held", func() bool { return hold.Err() == nil && s.Exists("n") })
	locktest.Unlock(t, hold)
}

// A caller that takes its grant after the lease has expired gets a loss.
func TestPending_HoldAfterLease_Lost(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	p := e.Mutex("n").LockAsync(t.Context(), lockwheel.Lease(100*time.Millisecond))
	locktest.Receive(t, p.Done())
	locktest.Eventually(t, "the end of the lease", func() bool { return e.Stats().Lost > 0 })
	hold, err := p.Hold()
	require.ErrorIs(t, err, lockwheel.ErrLost)
	require.Nil(t, hold)
	locktest.RequireIdle(t, e)
}
