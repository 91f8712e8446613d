package lockwheel_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// These tests assert what Redisson's own tests of the plain lock assert about leases, waits and holders that die.

// Skew is how much the clocks of this process and of the server may differ over a short lease. Both count in
// milliseconds, and that of the embedded server moves in steps.
const Skew = 10 * time.Millisecond

// Redisson's testRemainTimeToLive
func TestTTLIsTheLeaseThatWasAskedFor(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		m := mutex(AnyServer(t).Open(lockwheel.Options{}), "n")
		RequireTTL(t, m, 0, 0)
		hold := Lock(t, m, lockwheel.Lease(time.Hour))
		RequireTTL(t, m, time.Hour-time.Minute, time.Hour)
		Unlock(t, hold)
		RequireTTL(t, m, 0, 0)
		hold = Lock(t, m)
		RequireTTL(t, m, 20*time.Second, 30*time.Second)
		Unlock(t, hold)
		RequireTTL(t, m, 0, 0)
	})
}

func RequireTTL(t *testing.T, m lockwheel.Mutex, least, most time.Duration) {
	t.Helper()
	ttl, err := m.TTL(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, ttl, least)
	require.LessOrEqual(t, ttl, most)
}

// Redisson's testRemainTimeToLive2: unlocking an inner hold restores exactly the lease that was requested. Ours may
// round the lease up by a few per cent when one renewal serves several holds.
func TestPartialUnlockKeepsTheLease(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		m := mutex(AnyServer(t).Open(lockwheel.Options{}), "n")
		me := lockwheel.WithOwner(t.Context())
		var holds []*lockwheel.Hold
		for range 3 {
			holds = append(holds, LockWith(t, me, m, lockwheel.Lease(10*time.Second)))
		}
		Unlock(t, holds[2])
		Unlock(t, holds[1])
		RequireTTL(t, m, 5*time.Second, 11*time.Second)
		require.NoError(t, holds[0].Err())
		Unlock(t, holds[0])
	})
}

// Unlock of a partial hold through another handle keeps the lease.
func TestPartialUnlockThroughAnotherHandleKeepsTheLease(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		e := AnyServer(t).Open(lockwheel.Options{})
		me := lockwheel.WithOwner(t.Context())
		outer := LockWith(t, me, mutex(e, "n"), lockwheel.Lease(time.Hour))
		inner := LockWith(t, me, mutex(e, "n"))
		Unlock(t, inner)
		RequireTTL(t, mutex(e, "n"), 50*time.Minute, 61*time.Minute)

		inner = LockWith(t, me, mutex(e, "n"), lockwheel.Lease(2*time.Hour))
		RequireTTL(t, mutex(e, "n"), 110*time.Minute, 125*time.Minute)
		Unlock(t, inner)
		Eventually(t, "the lease of the outer hold", func() bool {
			ttl, err := mutex(e, "n").TTL(t.Context())
			return err == nil && ttl > 50*time.Minute && ttl <= 61*time.Minute
		})
		Unlock(t, outer)
	})
}

// Redisson's testExpire, with a shorter lease
func TestALeaseThatIsOverLetsTheNextOneIn(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		s := AnyServer(t)
		here, elsewhere := mutex(s.Open(lockwheel.Options{}), "n"), mutex(s.Open(lockwheel.Options{}), "n")
		const lease = 700 * time.Millisecond
		before := time.Now()
		first := Lock(t, here, lockwheel.Lease(lease))
		next := Lock(t, elsewhere)
		require.GreaterOrEqual(t, time.Since(before), lease-Skew)
		require.ErrorIs(t, first.Err(), lockwheel.ErrLost, "known before the next grant")
		require.ErrorIs(t, first.Unlock(t.Context()), lockwheel.ErrLost)
		require.Equal(t, map[string]string{next.ID(): "1"}, s.Hash("n"))
		Unlock(t, next)
	})
}

// Redisson's testTryLockWait
func TestTryLockWaitsAsLongAsItWasTold(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		s := AnyServer(t)
		s.HoldAsOther("n", time.Hour)
		m := mutex(s.Open(lockwheel.Options{}), "n")
		const wait = time.Second // long enough for the reply that the lock is held
		for _, call := range []func(context.Context, ...lockwheel.Option) (*lockwheel.Hold, error){m.TryLock, m.Lock} {
			before := time.Now()
			_, err := call(t.Context(), lockwheel.Wait(wait))
			require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
			require.NotErrorIs(t, err, lockwheel.ErrUnavailable)
			require.GreaterOrEqual(t, time.Since(before), wait)
			require.Less(t, time.Since(before), TestDeadline)
		}
	})
}

// redislock#28, #74: a wait is not limited to the lease.
func TestAWaitMayBeLongerThanTheLease(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		s := AnyServer(t)
		s.HoldAsOther("n", 1500*time.Millisecond)
		m := mutex(s.Open(lockwheel.Options{}), "n")
		hold, err := m.Lock(t.Context(), lockwheel.Wait(time.Minute), lockwheel.Lease(700*time.Millisecond))
		require.NoError(t, err)
		require.LessOrEqual(t, s.PTTL("n"), 700*time.Millisecond)
		Receive(t, hold.Done())
	})
}

// Redisson's testRedisFailed
func TestTryLockOnADeadServerSaysSo(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		s := RealServer(t)
		m := mutex(s.Open(lockwheel.Options{}), "n")
		require.NoError(t, s.Real.Kill())
		_, err := m.TryLock(t.Context(), lockwheel.Wait(300*time.Millisecond), lockwheel.Lease(10*time.Second))
		require.ErrorIs(t, err, lockwheel.ErrUnavailable)
		require.NotErrorIs(t, err, lockwheel.ErrNotAcquired)
	})
}

// Redisson's testLockIsNotRenewedAfterInterruptedTryLock
// redisson#2714, #4368, curator#600: an interrupted acquire left a lock that was renewed for ever.
func TestAnInterruptedTryLockLeavesNoLock(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		s := RealServer(t)
		p := proxy.Start(t, s.Addr)
		e := s.OpenAt(p.Addr(), lockwheel.Options{})
		m := mutex(e, "n")
		Unlock(t, Lock(t, m)) // before its first reply an engine does not know the server's clock, and a fair acquire has no effect
		for _, opts := range [][]lockwheel.Option{nil, {lockwheel.Wait(time.Minute)}} {
			p.Set(proxy.Replies, proxy.Hold)
			ctx, interrupt := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := m.TryLock(ctx, opts...)
				done <- err
			}()
			Eventually(t, "the lock taken", func() bool { return s.Exists("n") })
			interrupt()
			err := Receive(t, done)
			require.ErrorIs(t, err, lockwheel.ErrUnavailable, "it never had an answer")
			require.ErrorIs(t, err, context.Canceled)

			falls := s.PTTL("n")
			Always(t, 200*time.Millisecond, "a TTL that only falls", func() bool {
				before := falls
				falls = s.PTTL("n")
				return falls <= before
			})
			p.Set(proxy.Replies, proxy.Pass)
			Eventually(t, "the lock given back", func() bool { return !s.Exists("n") })
			RequireIdle(t, e)
		}
	})
}
