package lockwheel_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// Callers that wait without a subscription, alone and beside others.

// polling is the name of a test, or of a subtest, in which all engines poll. Redisson's spin lock is a plain lock
// with clients that poll.
const polling = "polling"

// polls reports whether the engines of a test must poll.
func polls(t testing.TB) bool { return strings.HasSuffix(t.Name(), "/"+polling) }

// onEachNotify runs a test of the plain lock with engines that subscribe, and with engines that poll.
func onEachNotify(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	for _, name := range []string{"listening", polling} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// Otherwise the tests for engines that poll would run with engines that subscribe.
func TestTheEnginesOfATestThatPollsDo(t *testing.T) {
	t.Parallel()
	onEachNotify(t, func(t *testing.T) {
		s := RealServer(t)
		s.HoldAsOther("n", time.Hour)
		e := s.open(lockwheel.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		waiting := locking(ctx, e.Mutex("n"))
		if polls(t) {
			eventually(t, "it to poll", func() bool { return e.Stats().Polling == 1 })
			require.Zero(t, s.subscriptions())
		} else {
			requireWaiting(t, e, 1, 1)
		}
		cancel()
		require.ErrorIs(t, receive(t, waiting).err, lockwheel.ErrNotAcquired)
	})
}

func TestPollersNeverSubscribeAndComeSoon(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	holder, waiter := s.open(lockwheel.Options{}), s.open(lockwheel.Options{Notify: lockwheel.Poll})
	for range 3 {
		hold := lock(t, holder.Mutex("n"))
		waiting := locking(t.Context(), waiter.Mutex("n"))
		eventually(t, "it to poll", func() bool { return waiter.Stats().Polling == 1 })
		calls, since := s.scripts(), time.Now()
		requireNoReply(t, waiting, 400*time.Millisecond)
		require.LessOrEqual(t, s.scripts()-calls, 10+int(time.Since(since)/(50*time.Millisecond)), "less and less often")
		unlock(t, hold)
		unlock(t, granted(t, waiting))
		require.Zero(t, waiter.Stats().Polling)
	}
	require.Zero(t, s.subscriptions())
	requireIdle(t, waiter)
}

func TestPollersAreServedInTheirOrder(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	holder, e := s.open(lockwheel.Options{}), s.open(lockwheel.Options{Notify: lockwheel.Poll})
	hold := lock(t, holder.Mutex("n"))
	var waiting []<-chan outcome
	for i := range 5 {
		waiting = append(waiting, locking(t.Context(), e.Mutex("n")))
		queued(t, e, int64(i+1))
	}
	eventually(t, "one to ask for all", func() bool { return e.Stats().Polling == 1 })
	unlock(t, hold)
	for _, w := range waiting {
		unlock(t, granted(t, w))
	}
}

// Redisson's spin lock publishes nothing. After such a release, a waiter that polls acquires the lock soon, and a
// subscribed one when the last reported lease has expired.
func TestWaitersBesideSpinLocksProgress(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	polls, listens := s.open(lockwheel.Options{Notify: lockwheel.Poll}), s.open(lockwheel.Options{})
	for range 5 {
		s.HoldAsOther("n", time.Hour)
		waiting := locking(t.Context(), polls.Mutex("n"))
		eventually(t, "it to poll", func() bool { return polls.Stats().Polling == 1 })
		s.do("DEL", "n")               // as the spin lock does
		unlock(t, granted(t, waiting)) // within patience, which is far shorter than an hour
	}
	s.HoldAsOther("n", shortLease)
	waiting := locking(t.Context(), listens.Mutex("n"))
	requireWaiting(t, listens, 1, 1)
	s.do("DEL", "n")
	unlock(t, granted(t, waiting))
}

// Redisson's spin lock testTryLockAsync, testTimedTryLockAsync, testTryLockAsyncWaitTime.
func TestAPollersWaitEndsInTime(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(context.Context, lockwheel.Mutex, ...lockwheel.Option) <-chan outcome{
		"Lock": locking, "LockAsync": takingAsync,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := AnyServer(t)
			e := s.open(lockwheel.Options{Notify: lockwheel.Poll})
			s.HoldAsOther("n", time.Hour)
			began := time.Now()
			require.ErrorIs(t, receive(t, ask(t.Context(), e.Mutex("n"), lockwheel.Wait(time.Second))).err, lockwheel.ErrNotAcquired)
			require.GreaterOrEqual(t, time.Since(began), time.Second)
			for _, opts := range [][]lockwheel.Option{nil, {lockwheel.Wait(time.Minute)}} {
				waiting := ask(t.Context(), e.Mutex("n"), opts...)
				eventually(t, "it to poll", func() bool { return e.Stats().Polling == 1 })
				s.do("DEL", "n")
				unlock(t, granted(t, waiting))
				s.HoldAsOther("n", time.Hour)
			}
			requireIdle(t, e)
		})
	}
}

func TestARefusedSubscriptionShowsInStats(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	s.do("ACL", "SETUSER", "deaf", "on", ">secret", "~*", "resetchannels", "+@all")
	holder := s.open(lockwheel.Options{})
	var opts lockwheel.Options
	opts.Redis.Username, opts.Redis.Password = "deaf", "secret"
	deaf := s.open(opts)
	hold := lock(t, holder.Mutex("n"))
	waiting := locking(t.Context(), deaf.Mutex("n"))
	eventually(t, "it to poll", func() bool { return deaf.Stats().Polling == 1 })
	unlock(t, hold)
	unlock(t, granted(t, waiting))
	requireIdle(t, deaf)
	require.Zero(t, deaf.Stats().Polling)
}
