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
func requireSoon(t *testing.T, waiting <-chan Outcome) {
	t.Helper()
	Unlock(t, Granted(t, waiting)) // within patience, which is far shorter than an hour
}

// The holder gives its lock a shorter lease, and dies.
func TestWhoWaitsLearnsOfALeaseThatWasMadeShorter(t *testing.T) {
	t.Parallel()
	OnEveryKind(t, func(t *testing.T, mutex, other KindOfLock) {
		s := RealServer(t)
		p := proxy.Start(t, s.Addr)
		dying, waiter := s.OpenAt(p.Addr(), lockwheel.Options{}), s.Open(lockwheel.Options{})
		hold := Lock(t, mutex(dying, "n"), lockwheel.Lease(time.Hour))
		waiting := Locking(t.Context(), other(waiter, "n"))
		RequireWaiting(t, waiter, 1, 1)
		require.NoError(t, hold.Extend(t.Context(), shortened))
		p.Set(proxy.Both, proxy.Drop)
		requireSoon(t, waiting)
	})
}

// The reader with the longest lease unlocks, and another one dies.
func TestAWriterLearnsThatTheLongestOfItsReadersLeft(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	p := proxy.Start(t, s.Addr)
	dying, leaving, waiter := s.OpenAt(p.Addr(), lockwheel.Options{}), s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	hold := Lock(t, leaving.RWMutex("n").RLocker(), lockwheel.Lease(time.Hour))
	Lock(t, dying.RWMutex("n").RLocker(), lockwheel.Lease(2*shortened))
	waiting := Locking(t.Context(), waiter.RWMutex("n").Writer())
	RequireWaiting(t, waiter, 1, 1)
	p.Set(proxy.Both, proxy.Drop)
	Unlock(t, hold)
	requireSoon(t, waiting)
}

// Other callers of the same engine sleep because of an earlier reply. TryLock is not rejected for that reason: the
// first waiter is granted the lock, and only then is the call without a wait rejected.
func TestTryLockAsksTheServerThoughOthersWaitInItsEngine(t *testing.T) {
	t.Parallel()
	for name, mutex := range Grantable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := AnyServer(t)
			e := s.Open(lockwheel.Options{})
			if name == "reader" || name == "writer" {
				s.AbandonWriter("n", time.Hour)
			} else {
				s.HoldAsOther("n", time.Hour)
			}
			waiting := Locking(t.Context(), mutex(e, "n"))
			RequireWaiting(t, e, 1, 1)
			StateFailed(t, mutex(e, "n"))
			s.Do("DEL", "n") // without a message
			hold, err := mutex(e, "n").TryLock(t.Context())
			if name == "reader" {
				require.NoError(t, err, "they read together")
				Unlock(t, hold)
				return
			}
			require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
			if name != "fair" { // it does not wake waiters out of turn
				Unlock(t, Granted(t, waiting))
			}
		})
	}
}
