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

// patience is a deadline for what takes milliseconds. It is shorter than the default lease of both sides and than its first
// renewal (30s and 10s), so whatever comes in time was brought by neither.
const patience = 8 * time.Second

// outcome is what a Lock of ours returned.
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

// lock takes a lock that is to be had.
func lock(t testing.TB, ctx context.Context, m lockwheel.Mutex) *lockwheel.Hold {
	t.Helper()
	hold, err := m.Lock(ctx, lockwheel.Wait(patience))
	require.NoError(t, err)
	return hold
}

// unlock ends a hold that is held.
func unlock(t testing.TB, hold *lockwheel.Hold) {
	t.Helper()
	require.NoError(t, hold.Unlock(t.Context()))
}

// refused makes sure that a lock is not to be had.
func refused(t testing.TB, m lockwheel.Mutex) {
	t.Helper()
	_, err := m.TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
}

// granted waits for a Lock of ours that must succeed.
func granted(t testing.TB, done <-chan outcome) *lockwheel.Hold {
	t.Helper()
	got := receive(t, done)
	require.NoError(t, got.err)
	return got.hold
}

// succeeded waits for something of Java's that must succeed.
func succeeded(t testing.TB, done <-chan redisson.Answer) {
	t.Helper()
	require.NoError(t, receive(t, done).Err)
}

// receive waits for what must come.
func receive[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	return receiveWithin(t, from, patience)
}

// receiveWithin is receive where no lease is about to end.
func receiveWithin[T any](t testing.TB, from <-chan T, most time.Duration) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(most):
		require.FailNow(t, "nothing came")
		panic("not reached")
	}
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

// eventually waits until something is so.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			require.FailNow(t, "in vain: "+what)
		}
	}
}

// asleep waits until one request of an engine waits, and nothing but a message can hurry it.
func asleep(t testing.TB, e *lockwheel.Engine) {
	t.Helper()
	eventually(t, "a request asleep", func() bool {
		s := e.Stats()
		return s.Waiting == 1 && s.Subscriptions == 1 && s.InFlight == 0
	})
}

// listening waits until Java, with nobody of ours waiting, listens for a lock that it waits for, and has asked once more since: after
// that, nothing but a message can hurry it.
func listening(t testing.TB, s *site, name string, waiting <-chan redisson.Answer) {
	t.Helper()
	eventually(t, "Java listening for "+name, func() bool { return s.heard(name) })
	silent(t, waiting, 30*time.Millisecond)
}

// stir takes and gives back a lock of the kind write now and then, until it is stopped: each time is a message for all who wait. A waiter
// of Redisson misses the message of a read/write lock that comes after it was refused and before it sleeps, because such a message wakes
// only those who sleep already; then it sleeps until the next message, or the end of the lease that it was told of. No other kind needs it.
func stir(t testing.TB, k kind, e *lockwheel.Engine, name string) (stop func()) {
	if k.java != write.java {
		return func() {}
	}
	m := k.mutex(e, name)
	ctx, cancel := context.WithCancel(t.Context())
	var stirring sync.WaitGroup
	stirring.Go(func() {
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
		stirring.Wait()
	}
}

// nothingLeft waits until the server has no keys: Redisson takes the latch of an unlock away after its answer.
func nothingLeft(t testing.TB, s *site, name string) {
	t.Helper()
	eventually(t, "no keys left", func() bool { return len(s.left(name)) == 0 })
}
