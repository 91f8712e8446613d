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

// Polls reports whether the engines of a test must poll.
func Polls(t testing.TB) bool { return strings.HasSuffix(t.Name(), "/"+polling) }

// OnEachNotify runs a test of the plain lock with engines that subscribe, and with engines that poll.
func OnEachNotify(t *testing.T, test func(t *testing.T)) {
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
	OnEachNotify(t, func(t *testing.T) {
		s := RealServer(t)
		s.HoldAsOther("n", time.Hour)
		e := s.Open(lockwheel.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		waiting := Locking(ctx, e.Mutex("n"))
		if Polls(t) {
			Eventually(t, "it to poll", func() bool { return e.Stats().Polling == 1 })
			require.Zero(t, s.Subscriptions())
		} else {
			RequireWaiting(t, e, 1, 1)
		}
		cancel()
		require.ErrorIs(t, Receive(t, waiting).Err, lockwheel.ErrNotAcquired)
	})
}

func TestPollersNeverSubscribeAndComeSoon(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	holder, waiter := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{Notify: lockwheel.Poll})
	for range 3 {
		hold := Lock(t, holder.Mutex("n"))
		waiting := Locking(t.Context(), waiter.Mutex("n"))
		Eventually(t, "it to poll", func() bool { return waiter.Stats().Polling == 1 })
		calls, since := s.Scripts(), time.Now()
		RequireNoReply(t, waiting, 400*time.Millisecond)
		require.LessOrEqual(t, s.Scripts()-calls, 10+int(time.Since(since)/(50*time.Millisecond)), "less and less often")
		Unlock(t, hold)
		Unlock(t, Granted(t, waiting))
		require.Zero(t, waiter.Stats().Polling)
	}
	require.Zero(t, s.Subscriptions())
	RequireIdle(t, waiter)
}

func TestPollersAreServedInTheirOrder(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	holder, e := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{Notify: lockwheel.Poll})
	hold := Lock(t, holder.Mutex("n"))
	var waiting []<-chan Outcome
	for i := range 5 {
		waiting = append(waiting, Locking(t.Context(), e.Mutex("n")))
		Queued(t, e, int64(i+1))
	}
	Eventually(t, "one to ask for all", func() bool { return e.Stats().Polling == 1 })
	Unlock(t, hold)
	for _, w := range waiting {
		Unlock(t, Granted(t, w))
	}
}

// Redisson's spin lock publishes nothing. After such a release, a waiter that polls acquires the lock soon, and a
// subscribed one when the last reported lease has expired.
func TestWaitersBesideSpinLocksProgress(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	polls, listens := s.Open(lockwheel.Options{Notify: lockwheel.Poll}), s.Open(lockwheel.Options{})
	for range 5 {
		s.HoldAsOther("n", time.Hour)
		waiting := Locking(t.Context(), polls.Mutex("n"))
		Eventually(t, "it to poll", func() bool { return polls.Stats().Polling == 1 })
		s.Do("DEL", "n")               // as the spin lock does
		Unlock(t, Granted(t, waiting)) // within patience, which is far shorter than an hour
	}
	s.HoldAsOther("n", ShortLease)
	waiting := Locking(t.Context(), listens.Mutex("n"))
	RequireWaiting(t, listens, 1, 1)
	s.Do("DEL", "n")
	Unlock(t, Granted(t, waiting))
}

// Redisson's spin lock testTryLockAsync, testTimedTryLockAsync, testTryLockAsyncWaitTime.
func TestAPollersWaitEndsInTime(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(context.Context, lockwheel.Mutex, ...lockwheel.Option) <-chan Outcome{
		"Lock": Locking, "LockAsync": TakingAsync,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := AnyServer(t)
			e := s.Open(lockwheel.Options{Notify: lockwheel.Poll})
			s.HoldAsOther("n", time.Hour)
			began := time.Now()
			require.ErrorIs(t, Receive(t, ask(t.Context(), e.Mutex("n"), lockwheel.Wait(time.Second))).Err, lockwheel.ErrNotAcquired)
			require.GreaterOrEqual(t, time.Since(began), time.Second)
			for _, opts := range [][]lockwheel.Option{nil, {lockwheel.Wait(time.Minute)}} {
				waiting := ask(t.Context(), e.Mutex("n"), opts...)
				Eventually(t, "it to poll", func() bool { return e.Stats().Polling == 1 })
				s.Do("DEL", "n")
				Unlock(t, Granted(t, waiting))
				s.HoldAsOther("n", time.Hour)
			}
			RequireIdle(t, e)
		})
	}
}

func TestARefusedSubscriptionShowsInStats(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	s.Do("ACL", "SETUSER", "deaf", "on", ">secret", "~*", "resetchannels", "+@all")
	holder := s.Open(lockwheel.Options{})
	var opts lockwheel.Options
	opts.Redis.Username, opts.Redis.Password = "deaf", "secret"
	deaf := s.Open(opts)
	hold := Lock(t, holder.Mutex("n"))
	waiting := Locking(t.Context(), deaf.Mutex("n"))
	Eventually(t, "it to poll", func() bool { return deaf.Stats().Polling == 1 })
	Unlock(t, hold)
	Unlock(t, Granted(t, waiting))
	RequireIdle(t, deaf)
	require.Zero(t, deaf.Stats().Polling)
}
