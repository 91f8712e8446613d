package redisson_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// Redisson's testRemainTimeToLive
func TestTTL_Lease_AsRequested(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		m := mutex(locktest.AnyServer(t).Open(lockwheel.Options{}), "n")
		locktest.RequireTTL(t, m, 0, 0)
		hold := locktest.Lock(t, m, lockwheel.Lease(time.Hour))
		locktest.RequireTTL(t, m, time.Hour-time.Minute, time.Hour)
		locktest.Unlock(t, hold)
		locktest.RequireTTL(t, m, 0, 0)
		hold = locktest.Lock(t, m)
		locktest.RequireTTL(t, m, 20*time.Second, 30*time.Second)
		locktest.Unlock(t, hold)
		locktest.RequireTTL(t, m, 0, 0)
	})
}

// Redisson's testRemainTimeToLive2: unlocking an inner hold restores exactly the lease that was requested. Ours may
// round the lease up by a few per cent when one renewal serves several holds.
func TestTTL_InnerUnlock_LeaseKept(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		m := mutex(locktest.AnyServer(t).Open(lockwheel.Options{}), "n")
		me := lockwheel.WithOwner(t.Context())
		var holds []*lockwheel.Hold
		for range 3 {
			holds = append(holds, locktest.LockWith(t, me, m, lockwheel.Lease(10*time.Second)))
		}
		locktest.Unlock(t, holds[2])
		locktest.Unlock(t, holds[1])
		locktest.RequireTTL(t, m, 5*time.Second, 11*time.Second)
		require.NoError(t, holds[0].Err())
		locktest.Unlock(t, holds[0])
	})
}

// Unlock of a partial hold through another handle keeps the lease.
func TestTTL_InnerUnlockOtherHandle_LeaseKept(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		e := locktest.AnyServer(t).Open(lockwheel.Options{})
		me := lockwheel.WithOwner(t.Context())
		outer := locktest.LockWith(t, me, mutex(e, "n"), lockwheel.Lease(time.Hour))
		inner := locktest.LockWith(t, me, mutex(e, "n"))
		locktest.Unlock(t, inner)
		locktest.RequireTTL(t, mutex(e, "n"), 50*time.Minute, 61*time.Minute)

		inner = locktest.LockWith(t, me, mutex(e, "n"), lockwheel.Lease(2*time.Hour))
		locktest.RequireTTL(t, mutex(e, "n"), 110*time.Minute, 125*time.Minute)
		locktest.Unlock(t, inner)
		locktest.Eventually(t, "the lease of the outer hold", func() bool {
			ttl, err := mutex(e, "n").TTL(t.Context())
			return err == nil && ttl > 50*time.Minute && ttl <= 61*time.Minute
		})
		locktest.Unlock(t, outer)
	})
}

// Redisson's testExpire, with a shorter lease
func TestLease_Ends_NextGranted(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s := locktest.AnyServer(t)
		here, elsewhere := mutex(s.Open(lockwheel.Options{}), "n"), mutex(s.Open(lockwheel.Options{}), "n")
		const lease = 700 * time.Millisecond
		before := time.Now()
		first := locktest.LockBriefly(t, t.Context(), here, lockwheel.Lease(lease))
		next := locktest.Lock(t, elsewhere)
		require.GreaterOrEqual(t, time.Since(before), lease-locktest.Skew)
		require.ErrorIs(t, first.Err(), lockwheel.ErrLost, "known before the next grant")
		require.ErrorIs(t, first.Unlock(t.Context()), lockwheel.ErrLost)
		require.Equal(t, map[string]string{next.ID(): "1"}, s.Hash("n"))
		locktest.Unlock(t, next)
	})
}

// Redisson's testTryLockWait
func TestTryLock_Wait_AsLongAsRequested(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s := locktest.AnyServer(t)
		s.HoldAsOther("n", time.Hour)
		m := mutex(s.Open(lockwheel.Options{}), "n")
		for _, call := range []func(context.Context, ...lockwheel.Option) (*lockwheel.Hold, error){m.TryLock, m.Lock} {
			locktest.RequireTaken(t, func(wait lockwheel.Option) error { return locktest.Second(call(t.Context(), wait)) })
		}
	})
}

// redislock#28, #74: a wait is not limited to the lease.
func TestWait_LongerThanLease_Granted(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s := locktest.AnyServer(t)
		s.HoldAsOther("n", 1500*time.Millisecond)
		m := mutex(s.Open(lockwheel.Options{}), "n")
		hold := locktest.LockBriefly(t, t.Context(), m, lockwheel.Wait(time.Minute), lockwheel.Lease(700*time.Millisecond))
		require.LessOrEqual(t, s.PTTL("n"), 700*time.Millisecond)
		locktest.Receive(t, hold.Done())
	})
}

// Redisson's testRedisFailed
func TestTryLock_DeadServer_SaysSo(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s := locktest.RealServer(t)
		m := mutex(s.Open(lockwheel.Options{}), "n")
		require.NoError(t, s.Real.Kill())
		_, err := m.TryLock(t.Context(), lockwheel.Wait(300*time.Millisecond), lockwheel.Lease(10*time.Second))
		require.ErrorIs(t, err, lockwheel.ErrUnavailable)
		require.NotErrorIs(t, err, lockwheel.ErrNotAcquired)
	})
}

// Redisson's testLockIsNotRenewedAfterInterruptedTryLock
// redisson#2714, #4368, curator#600: an interrupted acquire left a lock that was renewed for ever.
func TestTryLock_Canceled_LeavesNoLock(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s := locktest.RealServer(t)
		p := proxy.Start(t, s.Addr)
		e := s.OpenAt(p.Addr(), lockwheel.Options{})
		m := mutex(e, "n")
		locktest.Unlock(t, locktest.Lock(t, m)) // before its first reply an engine does not know the server's clock, and a fair acquire has no effect
		for _, opts := range [][]lockwheel.Option{nil, {lockwheel.Wait(time.Minute)}} {
			p.Set(proxy.Replies, proxy.Hold)
			ctx, interrupt := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := m.TryLock(ctx, opts...)
				done <- err
			}()
			locktest.Eventually(t, "the lock taken", func() bool { return s.Exists("n") })
			interrupt()
			err := locktest.Receive(t, done)
			require.ErrorIs(t, err, lockwheel.ErrUnavailable, "it never had an answer")
			require.ErrorIs(t, err, context.Canceled)

			falls := s.PTTL("n")
			locktest.Always(t, 200*time.Millisecond, "a TTL that only falls", func() bool {
				before := falls
				falls = s.PTTL("n")
				return falls <= before+locktest.Skew
			})
			p.Set(proxy.Replies, proxy.Pass)
			locktest.Eventually(t, "the lock given back", func() bool { return !s.Exists("n") })
			locktest.RequireIdle(t, e)
		}
	})
}
