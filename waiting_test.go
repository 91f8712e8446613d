package lockwheel_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// Waiting and waking: a message is a hint, and no waiter depends on a message alone.

// redisson#1763, #5761, #3891: an unlock between the failed try and the subscription was missed.
func TestAnUnlockBeforeTheSubscriptionIsNotMissed(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	p := proxy.Start(t, s.addr)
	p.SetFor(proxy.Subscribers, proxy.Replies, proxy.Hold)
	holder, waiter := s.open(lockwheel.Options{}), s.openAt(p.Addr(), lockwheel.Options{})
	hold := lock(t, holder.Mutex("n"))
	waiting := locking(t.Context(), waiter.Mutex("n"))
	eventually(t, "subscribed, and not told so", func() bool { return len(s.channels()) == 1 })
	require.Zero(t, waiter.Stats().Subscriptions)
	unlock(t, hold)
	p.SetFor(proxy.Subscribers, proxy.Replies, proxy.Pass)
	unlock(t, granted(t, waiting))
}

// The same between the failed try and the arrival of the SUBSCRIBE at the server: no message arrives at all.
func TestAnUnlockBeforeTheServerKnowsTheSubscriberIsNotMissed(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	p := proxy.Start(t, s.addr)
	p.SetFor(proxy.Subscribers, proxy.Commands, proxy.Hold)
	holder, waiter := s.open(lockwheel.Options{}), s.openAt(p.Addr(), lockwheel.Options{})
	hold := lock(t, holder.Mutex("n"))
	waiting := locking(t.Context(), waiter.Mutex("n"))
	eventually(t, "on its way to subscribe", func() bool { return p.Buffered(proxy.Commands) > 0 })
	unlock(t, hold)
	p.SetFor(proxy.Subscribers, proxy.Commands, proxy.Pass)
	unlock(t, granted(t, waiting))
}

// The message of a release arrives between the server's reply that the lock is held and the waiters' sleep. They are
// subscribed, and the reply to their command arrives after the message.
func TestAMessageBetweenTheAnswerAndTheSleepIsNotMissed(t *testing.T) {
	t.Parallel()
	onEveryKind(t, func(t *testing.T, mutex, other kindOfLock) {
		s := RealServer(t)
		p := proxy.Start(t, s.addr)
		p.SetFor(proxy.Subscribers, proxy.Replies, proxy.Pass) // messages are never delayed
		holder, waiter := s.open(lockwheel.Options{}), s.openAt(p.Addr(), lockwheel.Options{})
		hold := lock(t, other(holder, "n"))
		var waiting []<-chan outcome
		for i := range 3 {
			waiting = append(waiting, locking(t.Context(), mutex(waiter, "n")))
			queued(t, waiter, int64(i+1))
		}
		asked := 0
		eventually(t, "all asleep, with nothing under way as replies are held up", func() bool {
			if waiter.Stats().Waiting != 3 || !listens(waiter) {
				return false
			}
			asked = s.scripts() // before the check: for a fair lock, a delayed command would be the last one
			if p.Set(proxy.Replies, proxy.Hold); waiter.Stats().InFlight == 0 {
				return true
			}
			p.Set(proxy.Replies, proxy.Pass)
			return false
		})
		require.NotEmpty(t, s.channels())
		for _, channel := range s.channels() {
			s.do("PUBLISH", channel, 1) // so that they ask; Redisson also wakes all waiters with it
		}
		eventually(t, "an answer that is held up", func() bool { return s.scripts() > asked && p.Buffered(proxy.Replies) > 0 })
		unlock(t, hold)
		for _, w := range waiting {
			requireNoReply(t, w, 20*time.Millisecond) // the message has arrived
		}
		require.NoError(t, p.Heal())
		for _, w := range waiting { // in order, or together
			unlock(t, granted(t, w))
		}
		requireIdle(t, waiter)
	})
}

// No transfer between two engines takes as long as a lease or a renewal interval.
func TestNoHandoffBetweenEnginesIsMissed(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	rounds := s.amount(600, 200)
	var r criticalSection
	crowd(t, 4, func(i int) error {
		m := s.open(slowTimeouts).Mutex("n")
		for range rounds {
			if err := enterWith(t.Context(), m, &r, lockwheel.Wait(testDeadline)); err != nil {
				return err
			}
			shortRun()
		}
		return nil
	})
	r.require(t, 4*rounds)
}

// rueidis#457: a message to a waiter that had gone away blocked everyone.
func TestWaitersThatLeaveAtOnceBlockNobody(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.open(lockwheel.Options{})
	m := e.Mutex("n")
	const waiters = 200
	for range 20 {
		hold := lock(t, m)
		ctx, leave := context.WithCancelCause(t.Context())
		var pending []*lockwheel.Pending
		for range waiters {
			pending = append(pending, m.LockAsync(ctx))
		}
		queued(t, e, waiters)
		go leave(errors.New("all at once"))
		s.do("PUBLISH", "redisson_lock__channel:{n}", 0)
		unlock(t, hold)
		for _, p := range pending {
			receive(t, p.Done())
		}
		unlock(t, lock(t, e.Mutex("another")))
		// Callers that were granted the lock before they left have released it.
		unlock(t, lock(t, m))
	}
	requireIdle(t, e)
	require.False(t, s.exists("n"))
}

// rueidis#602, redisson PR #1888: waiting burned a CPU.
func TestWaitingCostsTheServerNothing(t *testing.T) {
	t.Parallel()
	for name, setUp := range map[string]func(*Server){
		"while it is held":              func(s *Server) { s.HoldAsOther("n", time.Hour) },
		"with a lease that is over":     func(s *Server) { s.HoldAsOther("n", shortLease) },
		"without expiry":                func(s *Server) { s.HoldAsOther("n", 0) },
		"and its subscription is cut":   func(s *Server) { s.HoldAsOther("n", time.Hour) },
		"and messages come all the day": func(s *Server) { s.HoldAsOther("n", time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := RealServer(t)
			setUp(s)
			e := s.open(lockwheel.Options{})
			for range 50 {
				locking(t.Context(), e.Mutex("n"))
			}
			requireWaiting(t, e, 50, 1)
			if name == "with a lease that is over" {
				require.Equal(t, int64(1), s.do("PERSIST", "n"))
				time.Sleep(shortLease)
			}
			calls, turns := s.scripts(), e.Stats().LoopTurns
			const window = time.Second
			switch name {
			case "and its subscription is cut":
				for range 3 {
					s.do("CLIENT", "KILL", "TYPE", "pubsub")
					eventually(t, "subscribed again", func() bool { return len(s.channels()) == 1 })
				}
			case "and messages come all the day":
				for range 10 {
					s.do("PUBLISH", "redisson_lock__channel:{n}", 0)
				}
			}
			time.Sleep(window)
			require.LessOrEqual(t, s.scripts()-calls, 20, "tries in a second, whatever the number of waiters")
			require.LessOrEqual(t, e.Stats().LoopTurns-turns, uint64(200))
			eventually(t, "one subscription", func() bool { return s.subscribers() == 1 })
			require.NoError(t, e.Close())
		})
	}
}

// Without any message a waiter acquires the lock when the reported lease expires.
func TestAWaiterComesByTheEndOfTheLease(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.open(lockwheel.Options{})
	before := time.Now()
	s.HoldAsOther("n", 400*time.Millisecond)
	unlock(t, lock(t, e.Mutex("n")))
	require.GreaterOrEqual(t, time.Since(before), 400*time.Millisecond-skew)
}

// A key without expiry is polled: no event announces its end.
func TestALockWithoutExpiryIsPolled(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	s.HoldAsOther("n", 0)
	e := s.open(lockwheel.Options{})
	waiting := locking(t.Context(), e.Mutex("n"))
	requireWaiting(t, e, 1, 1)
	require.Equal(t, int64(1), s.do("DEL", "n")) // and no message
	unlock(t, granted(t, waiting))
}

// Callers of one engine are served in the order of arrival.
func TestCallersOfOneEngineAreServedInOrder(t *testing.T) {
	t.Parallel()
	e := AnyServer(t).open(lockwheel.Options{})
	m := e.Mutex("n")
	hold := lock(t, m)
	const waiters = 50
	var waiting []<-chan outcome
	for i := range waiters {
		waiting = append(waiting, locking(t.Context(), m))
		queued(t, e, int64(i+1))
	}
	for _, next := range waiting {
		stateFailed(t, m) // TryLock never overtakes
		unlock(t, hold)
		hold = granted(t, next)
	}
	unlock(t, hold)
}

func TestTryLockNeitherQueuesNorOvertakes(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	s.HoldAsOther("n", time.Hour)
	e := s.open(lockwheel.Options{})
	waiting := locking(t.Context(), e.Mutex("n"))
	requireWaiting(t, e, 1, 1)
	require.Equal(t, int64(1), s.do("DEL", "n")) // free, without a message
	stateFailed(t, e.Mutex("n"))                 // it makes the engine ask the server, and a free lock goes to the earlier waiter
	unlock(t, granted(t, waiting))
	requireIdle(t, e)
}

// A waiter of LockAsync needs no goroutine.
func TestManyWaitersAreNoGoroutines(t *testing.T) {
	s := AnyServer(t)
	s.HoldAsOther("n", time.Hour)
	e := s.open(lockwheel.Options{})
	before := runtime.NumGoroutine()
	const waiters = 10_000
	var left atomic.Int64
	ctx, leave := context.WithCancel(t.Context())
	var pending []*lockwheel.Pending
	for range waiters {
		pending = append(pending, e.Mutex("n").LockAsync(ctx))
	}
	requireWaiting(t, e, waiters, 1)
	require.LessOrEqual(t, runtime.NumGoroutine(), before+20, "a few more for the pub/sub connection")
	leave()
	for _, p := range pending {
		receive(t, p.Done())
		if _, err := p.Hold(); errors.Is(err, lockwheel.ErrNotAcquired) {
			left.Add(1)
		}
	}
	require.EqualValues(t, waiters, left.Load())
	requireIdle(t, e)
}
