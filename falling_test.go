package lockwheel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// A TTL that falls is told to those who sleep for as long as it was.

// shortened is what a lease of an hour falls to in these tests.
const shortened = time.Second

// requireSoon makes sure that a waiter has the lock soon after the lease to which the TTL fell.
func requireSoon(t *testing.T, waiting <-chan outcome) {
	t.Helper()
	unlock(t, granted(t, waiting)) // within patience, which is far shorter than an hour
}

// The holder gives its lock a shorter lease, and dies.
func TestWhoWaitsLearnsOfALeaseThatWasMadeShorter(t *testing.T) {
	t.Parallel()
	onEveryKind(t, func(t *testing.T, mutex, other kindOfLock) {
		s := realSite(t)
		p := proxy.Start(t, s.addr)
		dying, waiter := s.openAt(p.Addr(), lockwheel.Options{}), s.open(lockwheel.Options{})
		hold := lock(t, mutex(dying, "n"), lockwheel.Lease(time.Hour))
		waiting := locking(t.Context(), other(waiter, "n"))
		asleep(t, waiter, 1, 1)
		require.NoError(t, hold.Extend(t.Context(), shortened))
		p.Set(proxy.Both, proxy.Drop)
		requireSoon(t, waiting)
	})
}

// The reader with the longest lease leaves, and another one dies.
func TestAWriterLearnsThatTheLongestOfItsReadersLeft(t *testing.T) {
	t.Parallel()
	s := realSite(t)
	p := proxy.Start(t, s.addr)
	dying, leaving, waiter := s.openAt(p.Addr(), lockwheel.Options{}), s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
	hold := lock(t, leaving.RWMutex("n").RLocker(), lockwheel.Lease(time.Hour))
	lock(t, dying.RWMutex("n").RLocker(), lockwheel.Lease(2*shortened))
	waiting := locking(t.Context(), waiter.RWMutex("n").Writer())
	asleep(t, waiter, 1, 1)
	p.Set(proxy.Both, proxy.Drop)
	unlock(t, hold)
	requireSoon(t, waiting)
}

// Others of the same engine sleep because of what they were told once. That is no reason to refuse: who was first is granted, and only
// then is who does not wait refused.
func TestTryLockAsksTheServerThoughOthersWaitInItsEngine(t *testing.T) {
	t.Parallel()
	for name, mutex := range grantable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := anySite(t)
			e := s.open(lockwheel.Options{})
			if name == "reader" || name == "writer" {
				s.abandonWriter("n", time.Hour)
			} else {
				s.occupy("n", time.Hour)
			}
			waiting := locking(t.Context(), mutex(e, "n"))
			asleep(t, e, 1, 1)
			refused(t, mutex(e, "n"))
			s.do("DEL", "n") // and nobody is told
			hold, err := mutex(e, "n").TryLock(t.Context())
			if name == "reader" {
				require.NoError(t, err, "they read together")
				unlock(t, hold)
				return
			}
			require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
			if name != "fair" { // it does not hurry those whose turn it is
				unlock(t, granted(t, waiting))
			}
		})
	}
}
