package interop

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/redisson"
)

// testDeadline is a deadline for events that take milliseconds. It is shorter than the default lease of both sides and
// their first renewal (30s and 10s). So neither of them can be the cause of an event in time.
const testDeadline = 8 * time.Second

// lockResult is the result of a Lock on our side.
type lockResult struct {
	hold *lockwheel.Hold
	err  error
}

// lockAsync calls Lock in a goroutine.
func lockAsync(ctx context.Context, m lockwheel.Mutex, opts ...lockwheel.Option) <-chan lockResult {
	done := make(chan lockResult, 1)
	go func() {
		hold, err := m.Lock(ctx, opts...)
		done <- lockResult{hold, err}
	}()
	return done
}

// lock takes a free lock.
func lock(t testing.TB, ctx context.Context, m lockwheel.Mutex) *lockwheel.Hold {
	t.Helper()
	hold, err := m.Lock(ctx, lockwheel.Wait(testDeadline))
	require.NoError(t, err)
	return hold
}

// unlock ends a hold, which must not be lost.
func unlock(t testing.TB, hold *lockwheel.Hold) {
	t.Helper()
	require.NoError(t, hold.Unlock(t.Context()))
}

// requireLocked checks that a lock cannot be acquired.
func requireLocked(t testing.TB, m lockwheel.Mutex) {
	t.Helper()
	_, err := m.TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
}

// requireGranted waits for a Lock on our side that must succeed.
func requireGranted(t testing.TB, done <-chan lockResult) *lockwheel.Hold {
	t.Helper()
	got := receive(t, done)
	require.NoError(t, got.err)
	return got.hold
}

// requireSuccess waits for a command of Java that must succeed.
func requireSuccess(t testing.TB, done <-chan redisson.Answer) {
	t.Helper()
	require.NoError(t, receive(t, done).Err)
}

// receive waits for a value that must come.
func receive[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	return receiveWithin(t, from, testDeadline)
}

// receiveWithin is like receive, with another bound: for waits in which no lease is about to end.
func receiveWithin[T any](t testing.TB, from <-chan T, timeout time.Duration) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(timeout):
		require.FailNow(t, "nothing came")
		panic("not reached")
	}
}

// requireQuiet checks that nothing comes for a while.
func requireQuiet[T any](t testing.TB, from <-chan T, d time.Duration) {
	t.Helper()
	select {
	case got := <-from:
		require.FailNow(t, "came too early", "%+v", got)
	case <-time.After(d):
	}
}

// eventually waits until is reports true.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testDeadline); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			require.FailNow(t, "in vain: "+what)
		}
	}
}

// awaitWaiting waits until one request of an engine waits, and only a message can wake it early.
func awaitWaiting(t testing.TB, e *lockwheel.Engine) {
	t.Helper()
	eventually(t, "a request asleep", func() bool {
		s := e.Stats()
		return s.Waiting == 1 && s.Subscriptions == 1 && s.InFlight == 0
	})
}

// awaitNoListener waits until no client listens for a lock any more, also not this engine after its wait. Java must not
// be waited for with awaitListening before that.
func awaitNoListener(t testing.TB, s *testEnv, name string) {
	t.Helper()
	eventually(t, "no client listening for "+name, func() bool { return !s.hasSubscriber(name) })
}

// awaitListening waits until Java, without a waiter on our side, is subscribed for a lock that it waits for, and has
// asked once more since. After that, only a message can wake it early.
func awaitListening(t testing.TB, s *testEnv, name string, waiting <-chan redisson.Answer) {
	t.Helper()
	eventually(t, "Java listening for "+name, func() bool { return s.hasSubscriber(name) })
	requireQuiet(t, waiting, 30*time.Millisecond)
}

// keepNotifying takes and releases a lock of the kind write now and then, until it is stopped. Each time is a message
// for all waiters. The message of a read/write lock wakes only threads of Redisson that sleep already. A waiter misses
// a message that comes after its rejection and before it sleeps. It then sleeps until the next message, or until the
// lease that it knows ends. No other kind needs stir.
func keepNotifying(t testing.TB, k kind, e *lockwheel.Engine, name string) (stop func()) {
	if k.java != write.java {
		return func() {}
	}
	m := k.mutex(e, name)
	ctx, cancel := context.WithCancel(t.Context())
	var notifying sync.WaitGroup
	notifying.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
			if hold, err := m.Lock(ctx); err == nil {
				_ = hold.Unlock(context.WithoutCancel(ctx))
			}
		}
	})
	return func() {
		cancel()
		notifying.Wait()
	}
}

// requireNoKeys waits until the server has no keys: Redisson removes the latch of an unlock after its reply.
func requireNoKeys(t testing.TB, s *testEnv, name string) {
	t.Helper()
	eventually(t, "no keys left", func() bool { return len(s.keysLeft(name)) == 0 })
}
