package interop

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redisson"
)

// testDeadline is a deadline for events that take milliseconds. It is shorter than the default lease of both sides and
// their first renewal (30s and 10s). So neither of them can be the cause of an event in time.
const testDeadline = locktest.TestDeadline

// requireGranted waits for a Lock on our side that must succeed.
func requireGranted(t testing.TB, done <-chan locktest.Outcome) *lockwheel.Hold {
	t.Helper()
	got := receive(t, done)
	require.NoError(t, got.Err)
	return got.Hold
}

// requireSuccess waits for a command of Java that must succeed.
func requireSuccess(t testing.TB, done <-chan redisson.Answer) {
	t.Helper()
	require.NoError(t, receive(t, done).Err)
}

// receive waits for a value that must come.
func receive[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	return locktest.ReceiveWithin(t, testDeadline, from)
}

// eventually waits until is reports true.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	locktest.CheckRange(t, testDeadline, what, is)
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
	locktest.RequireNoReply(t, waiting, 30*time.Millisecond)
}

// keepNotifying takes and releases a lock of the kind write now and then, until it is stopped. Each time is a message
// for all waiters. The message of a read/write lock wakes only threads of Redisson that sleep already. A waiter misses
// a message that comes after its rejection and before it sleeps. It then sleeps until the next message, or until the
// lease that it knows ends. No other kind needs it.
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
