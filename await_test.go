package lockwheel_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// How the tests ask for locks, and wait for what must come: for a condition, with a deadline.

// lock takes a lock that is to be had.
func lock(t testing.TB, m lockwheel.Mutex, opts ...lockwheel.Option) *lockwheel.Hold {
	t.Helper()
	return lockWith(t, t.Context(), m, opts...)
}

// lockWith takes a lock with a context that may carry an owner.
func lockWith(t testing.TB, ctx context.Context, m lockwheel.Mutex, opts ...lockwheel.Option) *lockwheel.Hold {
	t.Helper()
	hold, err := m.Lock(ctx, append([]lockwheel.Option{lockwheel.Wait(patience)}, opts...)...)
	require.NoError(t, err)
	return hold
}

// unlock ends a hold that is held.
func unlock(t testing.TB, hold *lockwheel.Hold) {
	t.Helper()
	require.NoError(t, hold.Unlock(t.Context()))
}

// giveBack is unlock where an answer may take longer than a Timeout that is short: the release is sent until it has come, and the engine is
// settled only then.
func giveBack(t testing.TB, hold *lockwheel.Hold) {
	t.Helper()
	if err := hold.Unlock(t.Context()); err != nil {
		require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	}
}

// refused makes sure that a lock is not to be had.
func refused(t testing.TB, m lockwheel.Mutex) {
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

// receive waits for what must come.
func receive[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(patience):
		require.FailNow(t, "nothing came")
		panic("not reached")
	}
}

// lateTimer is how much later than its time a timer may be on a busy machine: a process among others has been seen to stand still for
// most of a second, and a server with it.
const lateTimer = 2 * time.Second

// toldAt is the moment at which Done of a hold is closed.
func toldAt(hold *lockwheel.Hold) <-chan time.Time {
	told := make(chan time.Time, 1)
	go func() {
		<-hold.Done()
		told <- time.Now()
	}()
	return told
}

// requireLost makes sure that a hold is lost, and was told so within its lease since the last moment at which the server can have had it.
func requireLost(t testing.TB, hold *lockwheel.Hold, told <-chan time.Time, last time.Time, lease time.Duration) (took time.Duration) {
	t.Helper()
	took = receive(t, told).Sub(last)
	require.Less(t, took, lease+lateTimer, hold.Name())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	return took
}

// silent makes sure that nothing comes for a while.
func silent[T any](t testing.TB, from <-chan T, d time.Duration) {
	t.Helper()
	select {
	case got := <-from:
		require.FailNow(t, "came too early", "%+v", got)
	case <-time.After(d):
	}
}

// eventually waits until something is so. It looks from the goroutine of the test, so that looking may end it.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	within(t, patience, what, is)
}

// within is eventually with a time of its own.
func within(t testing.TB, d time.Duration, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(d); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			require.FailNow(t, "in vain: "+what)
		}
	}
}

// always makes sure that something stays so for a while.
func always(t testing.TB, d time.Duration, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		require.True(t, is(), what)
	}
}

// queued waits until so many requests of an engine are without a verdict.
func queued(t testing.TB, e *lockwheel.Engine, n int64) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d requests waiting", n), func() bool { return e.Stats().Waiting == n })
}

// asleep waits until so many requests wait, and nothing but a message can hurry them.
func asleep(t testing.TB, e *lockwheel.Engine, n, channels int64) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d requests asleep on %d channels", n, channels), func() bool {
		s := e.Stats()
		return s.Waiting == n && s.Subscriptions == channels && s.InFlight == 0
	})
}

// listens tells whether a request of an engine that listened to nothing before waits for somebody whom the server has told of.
func listens(e *lockwheel.Engine) bool {
	s := e.Stats()
	return s.Waiting > 0 && s.Subscriptions > 0 && s.InFlight == 0
}

// settled waits until an engine holds nothing, wants nothing and has nothing under way.
// A fair acquire whose answer was lost is released once more after two Timeouts, which is longer than most waits of tests.
func settled(t testing.TB, e *lockwheel.Engine) {
	t.Helper()
	within(t, 3*patience, "an engine with nothing left to do", func() bool {
		s := e.Stats()
		return s.Held == 0 && s.Waiting == 0 && s.InFlight == 0 && s.Subscriptions == 0 && s.Timers == 0
	})
}
