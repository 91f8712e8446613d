package waiting_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// Otherwise the tests for engines that poll would run with engines that subscribe.
func TestPoll_TestEngines_DoPoll(t *testing.T) {
	t.Parallel()
	locktest.OnEachNotify(t, func(t *testing.T) {
		s := locktest.RealServer(t)
		s.HoldAsOther("n", time.Hour)
		e := s.Open(lockwheel.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		waiting := locktest.Locking(ctx, e.Mutex("n"))
		if locktest.Polls(t) {
			locktest.Eventually(t, "it to poll", func() bool { return e.Stats().Polling == 1 })
			require.Zero(t, s.Subscriptions())
		} else {
			locktest.RequireWaiting(t, e, 1, 1)
		}
		cancel()
		require.ErrorIs(t, locktest.Receive(t, waiting).Err, lockwheel.ErrNotAcquired)
	})
}

// A waiter that polls never subscribes, asks less and less often, and acquires the lock soon after its release.
func TestPoll_Release_GrantedSoon(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	holder, waiter := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{Notify: lockwheel.Poll})
	for range 3 {
		hold := locktest.Lock(t, holder.Mutex("n"))
		waiting := locktest.Locking(t.Context(), waiter.Mutex("n"))
		locktest.Eventually(t, "it to poll", func() bool { return waiter.Stats().Polling == 1 })
		since, calls := time.Now(), s.Scripts()
		locktest.RequireNoReply(t, waiting, 400*time.Millisecond)
		require.LessOrEqual(t, s.Scripts()-calls, 10+int(time.Since(since)/(50*time.Millisecond)), "less and less often")
		locktest.Unlock(t, hold)
		locktest.Unlock(t, locktest.Granted(t, waiting))
		require.Zero(t, waiter.Stats().Polling)
	}
	require.Zero(t, s.Subscriptions())
	locktest.RequireIdle(t, waiter)
}

// Waiters of an engine that polls are served in the order of arrival, and one of them polls for all.
func TestPoll_ManyWaiters_InOrder(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	holder, e := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{Notify: lockwheel.Poll})
	hold := locktest.Lock(t, holder.Mutex("n"))
	var waiting []<-chan locktest.Outcome
	for i := range 5 {
		waiting = append(waiting, locktest.Locking(t.Context(), e.Mutex("n")))
		locktest.Queued(t, e, int64(i+1))
	}
	locktest.Eventually(t, "one to ask for all", func() bool { return e.Stats().Polling == 1 })
	locktest.Unlock(t, hold)
	for _, w := range waiting {
		locktest.Unlock(t, locktest.Granted(t, w))
	}
}

// Redisson's spin lock publishes nothing. After such a release, a waiter that polls acquires the lock soon, and a
// subscribed one when the last reported lease has expired.
func TestPoll_BesideSpinLocks_Granted(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	polls, listens := s.Open(lockwheel.Options{Notify: lockwheel.Poll}), s.Open(lockwheel.Options{})
	for range 5 {
		s.HoldAsOther("n", time.Hour)
		waiting := locktest.Locking(t.Context(), polls.Mutex("n"))
		locktest.Eventually(t, "it to poll", func() bool { return polls.Stats().Polling == 1 })
		s.Do("DEL", "n")                                 // as the spin lock does
		locktest.Unlock(t, locktest.Granted(t, waiting)) // within patience, which is far shorter than an hour
	}
	s.HoldAsOther("n", locktest.ShortLease)
	waiting := locktest.Locking(t.Context(), listens.Mutex("n"))
	locktest.RequireWaiting(t, listens, 1, 1)
	s.Do("DEL", "n")
	locktest.Unlock(t, locktest.Granted(t, waiting))
}

// Redisson's spin lock testTryLockAsync, testTimedTryLockAsync, testTryLockAsyncWaitTime.
func TestPoll_WaitElapsed_EndsInTime(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(context.Context, lockwheel.Mutex, ...lockwheel.Option) <-chan locktest.Outcome{
		"Lock": locktest.Locking[lockwheel.Mutex], "LockAsync": locktest.TakingAsync,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.AnyServer(t)
			e := s.Open(lockwheel.Options{Notify: lockwheel.Poll})
			s.HoldAsOther("n", time.Hour)
			locktest.RequireTaken(t, func(wait lockwheel.Option) error {
				return locktest.ReceiveWithin(t, 3*locktest.TestDeadline, ask(t.Context(), e.Mutex("n"), wait)).Err
			})
			for _, opts := range [][]lockwheel.Option{nil, {lockwheel.Wait(time.Minute)}} {
				waiting := ask(t.Context(), e.Mutex("n"), opts...)
				locktest.Eventually(t, "it to poll", func() bool { return e.Stats().Polling == 1 })
				s.Do("DEL", "n")
				locktest.Unlock(t, locktest.Granted(t, waiting))
				s.HoldAsOther("n", time.Hour)
			}
			locktest.RequireIdle(t, e)
		})
	}
}

// Stats.Polling shows a waiter that polls because the server rejects its subscription.
func TestPoll_SubscribeRejected_InStats(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	s.Do("ACL", "SETUSER", "pubsubdown", "on", ">secret", "~*", "resetchannels", "+@all")
	holder := s.Open(lockwheel.Options{})
	var opts lockwheel.Options
	opts.Redis.Username, opts.Redis.Password = "pubsubdown", "secret"
	pubsubdown := s.Open(opts)
	hold := locktest.Lock(t, holder.Mutex("n"))
	waiting := locktest.Locking(t.Context(), pubsubdown.Mutex("n"))
	locktest.Eventually(t, "it to poll", func() bool { return pubsubdown.Stats().Polling == 1 })
	locktest.Unlock(t, hold)
	locktest.Unlock(t, locktest.Granted(t, waiting))
	locktest.RequireIdle(t, pubsubdown)
	require.Zero(t, pubsubdown.Stats().Polling)
}
