package lockwheel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// A TTL that is shortened is reported to waiters that sleep for the previous one.

// shortened is the lease that replaces one of an hour in these tests.
const shortened = time.Second

// requireSoon requires that a waiter acquires the lock soon after the shortened lease.
func requireSoon(t *testing.T, waiting <-chan outcome) {
	t.Helper()
	unlock(t, granted(t, waiting)) // within patience, which is far shorter than an hour
}

// The holder gives its lock a shorter lease, and dies.
func TestWhoWaitsLearnsOfALeaseThatWasMadeShorter(t *testing.T) {
	t.Parallel()
	onEveryKind(t, func(t *testing.T, mutex, other kindOfLock) {
		s := RealServer(t)
		p := proxy.Start(t, s.addr)
		dying, waiter := s.openAt(p.Addr(), lockwheel.Options{}), s.open(lockwheel.Options{})
		hold := lock(t, mutex(dying, "n"), lockwheel.Lease(time.Hour))
		waiting := locking(t.Context(), other(waiter, "n"))
		requireWaiting(t, waiter, 1, 1)
		require.NoError(t, hold.Extend(t.Context(), shortened))
		p.Set(proxy.Both, proxy.Drop)
		requireSoon(t, waiting)
	})
}

// The reader with the longest lease unlocks, and another one dies.
func TestAWriterLearnsThatTheLongestOfItsReadersLeft(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	p := proxy.Start(t, s.addr)
	dying, leaving, waiter := s.openAt(p.Addr(), lockwheel.Options{}), s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
	hold := lock(t, leaving.RWMutex("n").RLocker(), lockwheel.Lease(time.Hour))
	lock(t, dying.RWMutex("n").RLocker(), lockwheel.Lease(2*shortened))
	waiting := locking(t.Context(), waiter.RWMutex("n").Writer())
	requireWaiting(t, waiter, 1, 1)
	p.Set(proxy.Both, proxy.Drop)
	unlock(t, hold)
	requireSoon(t, waiting)
}

// Other callers of the same engine sleep because of an earlier reply. TryLock is not rejected for that reason: the
// first waiter is granted the lock, and only then is the call without a wait rejected.
func TestTryLockAsksTheServerThoughOthersWaitInItsEngine(t *testing.T) {
	t.Parallel()
	for name, mutex := range grantable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := AnyServer(t)
			e := s.open(lockwheel.Options{})
			if name == "reader" || name == "writer" {
				s.abandonWriter("n", time.Hour)
			} else {
				s.HoldAsOther("n", time.Hour)
			}
			waiting := locking(t.Context(), mutex(e, "n"))
			requireWaiting(t, e, 1, 1)
			stateFailed(t, mutex(e, "n"))
			s.do("DEL", "n") // without a message
			hold, err := mutex(e, "n").TryLock(t.Context())
			if name == "reader" {
				require.NoError(t, err, "they read together")
				unlock(t, hold)
				return
			}
			require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
			if name != "fair" { // it does not wake waiters out of turn
				unlock(t, granted(t, waiting))
			}
		})
	}
}
