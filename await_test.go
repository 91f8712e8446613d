package lockwheel_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// Helpers of the tests that acquire locks, and that wait for a condition with a deadline.

// lock acquires a lock that must be available.
func lock(t testing.TB, m lockwheel.Mutex, opts ...lockwheel.Option) *lockwheel.Hold {
	t.Helper()
	return lockWith(t, t.Context(), m, opts...)
}

// lockWith acquires a lock with a context that may carry an owner.
func lockWith(t testing.TB, ctx context.Context, m lockwheel.Mutex, opts ...lockwheel.Option) *lockwheel.Hold {
	t.Helper()
	hold, err := m.Lock(ctx, append([]lockwheel.Option{lockwheel.Wait(testDeadline)}, opts...)...)
	require.NoError(t, err)
	return hold
}

// unlock ends a hold that must be held.
func unlock(t testing.TB, hold *lockwheel.Hold) {
	t.Helper()
	require.NoError(t, hold.Unlock(t.Context()))
}

// unlockHold is unlock for a server that may take longer than a short CallTimeout to reply: the engine sends the release
// until the server has replied, and is settled only then.
func unlockHold(t testing.TB, hold *lockwheel.Hold) {
	t.Helper()
	if err := hold.Unlock(t.Context()); err != nil {
		require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	}
}

// stateFailed requires that a lock is not available.
func stateFailed(t testing.TB, m lockwheel.Mutex) {
	t.Helper()
	_, err := m.TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
}

// outcome is what a Lock returned.
type outcome struct {
	hold *lockwheel.Hold
	err  error
}

// locking calls Lock in a goroutine.
func locking(ctx context.Context, m lockwheel.Mutex, opts ...lockwheel.Option) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		hold, err := m.Lock(ctx, opts...)
		done <- outcome{hold, err}
	}()
	return done
}

// granted waits for a Lock that must succeed.
func granted(t testing.TB, done <-chan outcome) *lockwheel.Hold {
	t.Helper()
	got := receive(t, done)
	require.NoError(t, got.err)
	return got.hold
}

// receive waits for a value that must arrive.
func receive[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(testDeadline):
		require.FailNow(t, "nothing came")
		panic("not reached")
	}
}

// lateTimer is how late a timer may be on a busy machine: a process was once observed to stand still for most of a
// second, and a server with it.
const lateTimer = 2 * time.Second

// notifiedAt returns the time at which Done of a hold is closed.
func notifiedAt(hold *lockwheel.Hold) <-chan time.Time {
	told := make(chan time.Time, 1)
	go func() {
		<-hold.Done()
		told <- time.Now()
	}()
	return told
}

// requireLost requires that a hold is lost, and that its Done was closed within its lease. The lease counts from the
// last time at which the server can have had the lock.
func requireLost(t testing.TB, hold *lockwheel.Hold, told <-chan time.Time, last time.Time, lease time.Duration) (took time.Duration) {
	t.Helper()
	took = receive(t, told).Sub(last)
	require.Less(t, took, lease+lateTimer, hold.Name())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	return took
}

// requireNoReply requires that no value arrives for a while.
func requireNoReply[T any](t testing.TB, from <-chan T, d time.Duration) {
	t.Helper()
	select {
	case got := <-from:
		require.FailNow(t, "came too early", "%+v", got)
	case <-time.After(d):
	}
}

// eventually waits until a condition is true. It checks it on the goroutine of the test, so that a check may end the
// test.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	checkRange(t, testDeadline, what, is)
}

// checkRange is eventually with another deadline.
func checkRange(t testing.TB, d time.Duration, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(d); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			require.FailNow(t, "in vain: "+what)
		}
	}
}

// always requires that a condition stays true for a while.
func always(t testing.TB, d time.Duration, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		require.True(t, is(), what)
	}
}

// queued waits until n requests of an engine have no result yet.
func queued(t testing.TB, e *lockwheel.Engine, n int64) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d requests waiting", n), func() bool { return e.Stats().Waiting == n })
}

// requireWaiting waits until n requests wait, and only a message can wake them.
func requireWaiting(t testing.TB, e *lockwheel.Engine, n, channels int64) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d requests asleep on %d channels", n, channels), func() bool {
		s := e.Stats()
		return s.Waiting == n && s.Subscriptions == channels && s.InFlight == 0
	})
}

// listens reports whether a request of an engine without subscriptions waits for a holder that the server has
// reported.
func listens(e *lockwheel.Engine) bool {
	s := e.Stats()
	return s.Waiting > 0 && s.Subscriptions > 0 && s.InFlight == 0
}

// requireIdle waits until an engine holds nothing, requests nothing and has nothing in flight. A fair acquire without a
// reply is released once more after two Timeouts, which is longer than most waits of tests.
func requireIdle(t testing.TB, e *lockwheel.Engine) {
	t.Helper()
	checkRange(t, 3*testDeadline, "an engine with nothing left to do", func() bool {
		s := e.Stats()
		return s.Held == 0 && s.Waiting == 0 && s.InFlight == 0 && s.Subscriptions == 0 && s.Timers == 0
	})
}
