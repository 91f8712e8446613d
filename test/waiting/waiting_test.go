package waiting_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// redisson#1763, #5761, #3891: an unlock between the failed try and the subscription was missed.
func TestWaiter_UnlockBeforeSubscribe_Woken(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	p.SetFor(proxy.Subscribers, proxy.Replies, proxy.Hold)
	holder, waiter := s.Open(lockwheel.Options{}), s.OpenAt(p.Addr(), lockwheel.Options{})
	hold := locktest.Lock(t, holder.Mutex("n"))
	waiting := locktest.Locking(t.Context(), waiter.Mutex("n"))
	locktest.Eventually(t, "subscribed, and not told so", func() bool { return len(s.Channels()) == 1 })
	require.Zero(t, waiter.Stats().Subscriptions)
	locktest.Unlock(t, hold)
	p.SetFor(proxy.Subscribers, proxy.Replies, proxy.Pass)
	locktest.Unlock(t, locktest.Granted(t, waiting))
}

// The same between the failed try and the arrival of the SUBSCRIBE at the server: no message arrives at all.
func TestWaiter_UnlockBeforeSubscribed_Woken(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	p.SetFor(proxy.Subscribers, proxy.Commands, proxy.Hold)
	holder, waiter := s.Open(lockwheel.Options{}), s.OpenAt(p.Addr(), lockwheel.Options{})
	hold := locktest.Lock(t, holder.Mutex("n"))
	waiting := locktest.Locking(t.Context(), waiter.Mutex("n"))
	locktest.Eventually(t, "on its way to subscribe", func() bool { return p.Buffered(proxy.Commands) > 0 })
	locktest.Unlock(t, hold)
	p.SetFor(proxy.Subscribers, proxy.Commands, proxy.Pass)
	locktest.Unlock(t, locktest.Granted(t, waiting))
}

// The message of a release arrives between the server's reply that the lock is held and the waiters' sleep. They are
// subscribed, and the reply to their command arrives after the message.
func TestWaiter_MessageBeforeSleep_Woken(t *testing.T) {
	t.Parallel()
	locktest.OnEveryKind(t, func(t *testing.T, mutex, other locktest.KindOfLock) {
		s := locktest.RealServer(t)
		p := proxy.Start(t, s.Addr)
		p.SetFor(proxy.Subscribers, proxy.Replies, proxy.Pass) // messages are never delayed
		holder, waiter := s.Open(lockwheel.Options{}), s.OpenAt(p.Addr(), lockwheel.Options{})
		hold := locktest.Lock(t, other(holder, "n"))
		var waiting []<-chan locktest.Outcome
		for i := range 3 {
			waiting = append(waiting, locktest.Locking(t.Context(), mutex(waiter, "n")))
			locktest.Queued(t, waiter, int64(i+1))
		}
		asked := 0
		locktest.Eventually(t, "all asleep, with nothing under way as replies are held up", func() bool {
			if waiter.Stats().Waiting != 3 || !locktest.Listens(waiter) {
				return false
			}
			asked = s.Scripts() // before the check: for a fair lock, a delayed command would be the last one
			if p.Set(proxy.Replies, proxy.Hold); waiter.Stats().InFlight == 0 {
				return true
			}
			p.Set(proxy.Replies, proxy.Pass)
			return false
		})
		require.NotEmpty(t, s.Channels())
		for _, channel := range s.Channels() {
			s.Do("PUBLISH", channel, 1) // so that they ask; Redisson also wakes all waiters with it
		}
		locktest.Eventually(t, "an answer that is held up", func() bool { return s.Scripts() > asked && p.Buffered(proxy.Replies) > 0 })
		locktest.Unlock(t, hold)
		for _, w := range waiting {
			locktest.RequireNoReply(t, w, 20*time.Millisecond) // the message has arrived
		}
		require.NoError(t, p.Heal())
		for _, w := range waiting { // in order, or together
			locktest.Unlock(t, locktest.Granted(t, w))
		}
		locktest.RequireIdle(t, waiter)
	})
}

// No transfer between two engines takes as long as a lease or a renewal interval.
func TestWaiter_ManyTransfers_NoneMissed(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	rounds := s.Amount(600, 200)
	var r locktest.CriticalSection
	locktest.Crowd(t, 4, func(i int) error {
		m := s.Open(locktest.SlowTimeouts).Mutex("n")
		for range rounds {
			if err := locktest.EnterWith(t.Context(), m, &r, lockwheel.Wait(locktest.TestDeadline)); err != nil {
				return err
			}
			locktest.ShortRun()
		}
		return nil
	})
	r.Require(t, 4*rounds)
}

// rueidis#457: a message to a waiter that had gone away blocked everyone.
func TestWaiter_ManyLeave_NoBlock(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	m := e.Mutex("n")
	const waiters = 200
	for range 20 {
		hold := locktest.Lock(t, m)
		ctx, leave := context.WithCancelCause(t.Context())
		var pending []*lockwheel.Pending
		for range waiters {
			pending = append(pending, m.LockAsync(ctx))
		}
		locktest.Queued(t, e, waiters)
		go leave(errors.New("all at once"))
		s.Do("PUBLISH", "redisson_lock__channel:{n}", 0)
		locktest.Unlock(t, hold)
		for _, p := range pending {
			locktest.Receive(t, p.Done())
		}
		locktest.Unlock(t, locktest.Lock(t, e.Mutex("another")))
		// Callers that were granted the lock before they left have released it.
		locktest.Unlock(t, locktest.Lock(t, m))
	}
	locktest.RequireIdle(t, e)
	require.False(t, s.Exists("n"))
}

// rueidis#602, redisson PR #1888: waiting burned a CPU.
func TestWaitingCosts_ServerNothing(t *testing.T) {
	t.Parallel()
	const lease = locktest.ShortLease + time.Second // the waiters must ask before it ends
	for name, setUp := range map[string]func(*locktest.Server){
		"while it is held":              func(s *locktest.Server) { s.HoldAsOther("n", time.Hour) },
		"with a lease that is over":     func(s *locktest.Server) { s.HoldAsOther("n", lease) },
		"without expiry":                func(s *locktest.Server) { s.HoldAsOther("n", 0) },
		"and its subscription is cut":   func(s *locktest.Server) { s.HoldAsOther("n", time.Hour) },
		"and messages come all the day": func(s *locktest.Server) { s.HoldAsOther("n", time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			e := s.Open(lockwheel.Options{})
			setUp(s)
			for range 50 {
				locktest.Locking(t.Context(), e.Mutex("n"))
			}
			locktest.RequireWaiting(t, e, 50, 1)
			if name == "with a lease that is over" {
				require.Equal(t, int64(1), s.Do("PERSIST", "n"))
				time.Sleep(lease)
			}
			since, calls, turns := time.Now(), s.Scripts(), e.Stats().LoopTurns
			const window = time.Second
			switch name {
			case "and its subscription is cut":
				for range 3 {
					s.Do("CLIENT", "KILL", "TYPE", "pubsub")
					locktest.Eventually(t, "subscribed again", func() bool { return len(s.Channels()) == 1 })
				}
			case "and messages come all the day":
				for range 10 {
					s.Do("PUBLISH", "redisson_lock__channel:{n}", 0)
				}
			}
			time.Sleep(window)
			require.LessOrEqual(t, s.Scripts()-calls, int(20*time.Since(since)/window), "20 tries in a second, whatever the number of waiters")
			require.LessOrEqual(t, e.Stats().LoopTurns-turns, uint64(200*time.Since(since)/window))
			locktest.Eventually(t, "one subscription", func() bool { return s.Subscribers() == 1 })
			require.NoError(t, e.Close())
		})
	}
}

// Without any message a waiter acquires the lock when the reported lease expires.
func TestWaiter_NoMessage_GrantedAtLeaseEnd(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	before := time.Now()
	s.HoldAsOther("n", 400*time.Millisecond)
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
	require.GreaterOrEqual(t, time.Since(before), 400*time.Millisecond-locktest.Skew)
}

// A key without expiry is polled: no event announces its end.
func TestLockWithoutTTL_Waiter_Polls(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	s.HoldAsOther("n", 0)
	e := s.Open(lockwheel.Options{})
	waiting := locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.RequireWaiting(t, e, 1, 1)
	require.Equal(t, int64(1), s.Do("DEL", "n")) // and no message
	locktest.Unlock(t, locktest.Granted(t, waiting))
}

// Callers of one engine are served in the order of arrival.
func TestWaiter_OneEngine_InOrder(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	m := e.Mutex("n")
	hold := locktest.Lock(t, m)
	const waiters = 50
	var waiting []<-chan locktest.Outcome
	for i := range waiters {
		waiting = append(waiting, locktest.Locking(t.Context(), m))
		locktest.Queued(t, e, int64(i+1))
	}
	for _, next := range waiting {
		locktest.StateFailed(t, m) // TryLock never overtakes
		locktest.Unlock(t, hold)
		hold = locktest.Granted(t, next)
	}
	locktest.Unlock(t, hold)
}

// TryLock neither queues nor overtakes: a free lock goes to the earlier waiter.
func TestTryLock_LockFree_EarlierWaiterFirst(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	s.HoldAsOther("n", time.Hour)
	e := s.Open(lockwheel.Options{})
	waiting := locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.RequireWaiting(t, e, 1, 1)
	require.Equal(t, int64(1), s.Do("DEL", "n")) // free, without a message
	locktest.StateFailed(t, e.Mutex("n"))        // it makes the engine ask the server, and a free lock goes to the earlier waiter
	locktest.Unlock(t, locktest.Granted(t, waiting))
	locktest.RequireIdle(t, e)
}

// A waiter of LockAsync needs no goroutine.
func TestWaiter_LockAsync_NoGoroutine(t *testing.T) {
	s := locktest.AnyServer(t)
	s.HoldAsOther("n", time.Hour)
	e := s.Open(lockwheel.Options{})
	before := runtime.NumGoroutine()
	const waiters = 10_000
	var left atomic.Int64
	ctx, leave := context.WithCancel(t.Context())
	var pending []*lockwheel.Pending
	for range waiters {
		pending = append(pending, e.Mutex("n").LockAsync(ctx))
	}
	locktest.RequireWaiting(t, e, waiters, 1)
	require.LessOrEqual(t, runtime.NumGoroutine(), before+20, "a few more for the pub/sub connection")
	leave()
	for _, p := range pending {
		locktest.Receive(t, p.Done())
		if _, err := p.Hold(); errors.Is(err, lockwheel.ErrNotAcquired) {
			left.Add(1)
		}
	}
	require.EqualValues(t, waiters, left.Load())
	locktest.RequireIdle(t, e)
}
