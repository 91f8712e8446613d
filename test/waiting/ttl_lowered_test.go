package waiting_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// shortened is the lease that replaces one of an hour in these tests.
const shortened = time.Second

// requireSoon requires that a waiter acquires the lock soon after the shortened lease.
func requireSoon(t *testing.T, waiting <-chan locktest.Outcome) {
	t.Helper()
	locktest.Unlock(t, locktest.Granted(t, waiting)) // within patience, which is far shorter than an hour
}

// The holder gives its lock a shorter lease, and dies.
func TestWaiter_LeaseShortened_Noticed(t *testing.T) {
	t.Parallel()
	locktest.OnEveryKind(t, func(t *testing.T, mutex, other locktest.KindOfLock) {
		s := locktest.RealServer(t)
		p := proxy.Start(t, s.Addr)
		dying, waiter := s.OpenAt(p.Addr(), lockwheel.Options{}), s.Open(lockwheel.Options{})
		hold := locktest.Lock(t, mutex(dying, "n"), lockwheel.Lease(time.Hour))
		waiting := locktest.Locking(t.Context(), other(waiter, "n"))
		locktest.RequireWaiting(t, waiter, 1, 1)
		if err := hold.Extend(t.Context(), shortened); err != nil { // a busy machine may learn of it when that lease has ended
			require.ErrorIs(t, err, lockwheel.ErrLost)
		}
		locktest.Eventually(t, "the shorter lease", func() bool { return s.PTTL("n") <= shortened })
		p.Set(proxy.Both, proxy.Drop)
		requireSoon(t, waiting)
	})
}

// The reader with the longest lease unlocks, and another one dies.
func TestWaiter_LongestReaderLeaves_Noticed(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	dying, leaving, waiter := s.OpenAt(p.Addr(), lockwheel.Options{}), s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	hold := locktest.Lock(t, leaving.RWMutex("n").RLocker(), lockwheel.Lease(time.Hour))
	locktest.LockBriefly(t, t.Context(), dying.RWMutex("n").RLocker(), lockwheel.Lease(2*shortened))
	waiting := locktest.Locking(t.Context(), waiter.RWMutex("n").Writer())
	locktest.RequireWaiting(t, waiter, 1, 1)
	p.Set(proxy.Both, proxy.Drop)
	locktest.Unlock(t, hold)
	requireSoon(t, waiting)
}

// The server's clock is set back by an hour, so the lease is as much longer. A waiter sees that before the next
// renewal, and then the holder dies: the lock is free when the lease of that renewal ends. A waiter of a fair lock asks
// again anyway.
func TestWaiter_TTLTooLong_GrantedWhenLeaseEnds(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"plain", "fenced", "writer", "reader"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			holder, waiter := s.Open(locktest.SteadyOptions), s.Open(lockwheel.Options{})
			name := "n/" + kind
			locktest.Lock(t, locktest.MutexOf(holder, name))
			require.Equal(t, int64(1), s.Do("PEXPIRE", name, time.Hour.Milliseconds()))
			waiting := locktest.Locking(t.Context(), locktest.RivalOf(waiter, name))
			locktest.RequireWaiting(t, waiter, 1, 1)
			locktest.RenewedTimes(t, holder, 1)
			require.NoError(t, holder.Close())
			locktest.Unlock(t, locktest.ReceiveWithin(t, locktest.LongDeadline, waiting).Hold)
		})
	}
}

// Other callers of the same engine sleep because of an earlier reply. TryLock is not rejected for that reason: the
// first waiter is granted the lock, and only then is the call without a wait rejected.
func TestTryLock_OthersWait_AsksServer(t *testing.T) {
	t.Parallel()
	for name, mutex := range locktest.Grantable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.AnyServer(t)
			e := s.Open(lockwheel.Options{})
			if name == "reader" || name == "writer" {
				s.AbandonWriter("n", time.Hour)
			} else {
				s.HoldAsOther("n", time.Hour)
			}
			waiting := locktest.Locking(t.Context(), mutex(e, "n"))
			locktest.RequireWaiting(t, e, 1, 1)
			locktest.StateFailed(t, mutex(e, "n"))
			s.Do("DEL", "n") // without a message
			hold, err := mutex(e, "n").TryLock(t.Context())
			if name == "reader" {
				require.NoError(t, err, "they read together")
				locktest.Unlock(t, hold)
				return
			}
			require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
			if name != "fair" { // it does not wake waiters out of turn
				locktest.Unlock(t, locktest.Granted(t, waiting))
			}
		})
	}
}
