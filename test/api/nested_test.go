package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// A lease of ten minutes inside a watched hold must not delay the notice of a loss by ten minutes.
func TestWatchedHold_LongerInner_Confirmed(t *testing.T) {
	t.Parallel()
	locktest.OnEveryKind(t, func(t *testing.T, mutex, _ locktest.KindOfLock) {
		for _, left := range []bool{false, true} {
			t.Run(fmt.Sprintf("the inner one unlocked %v", left), func(t *testing.T) {
				s := locktest.RealServer(t)
				m := mutex(s.Open(locktest.ShortLeaseOptions), "n")
				outer := locktest.Lock(t, m)
				inner := locktest.LockWith(t, outer.Context(), m, lockwheel.Lease(locktest.Longer))
				if left {
					locktest.Unlock(t, inner)
				}
				s.Do("DEL", "n")
				locktest.Receive(t, outer.Done())
				require.ErrorIs(t, outer.Err(), lockwheel.ErrLost)
				require.Error(t, inner.Err())
			})
		}
	})
}

// A process that dies blocks other callers for the lease of its remaining holds, and not for that of an ended one.
func TestTTL_LongestLeaseUnlocked_Lowered(t *testing.T) {
	t.Parallel()
	outers := map[string][]lockwheel.Option{"watched": nil, "with a lease": {lockwheel.Lease(30 * time.Second)}}
	locktest.OnEveryKind(t, func(t *testing.T, mutex, _ locktest.KindOfLock) {
		for name, opts := range outers {
			s := locktest.RealServer(t)
			m := mutex(s.Open(lockwheel.Options{}), "n")
			outer := locktest.Lock(t, m, opts...)
			inner := locktest.LockWith(t, outer.Context(), m, lockwheel.Lease(locktest.Longer))
			require.Greater(t, s.PTTL("n"), locktest.Longer/2, name)
			locktest.Unlock(t, inner)
			locktest.Eventually(t, "a TTL for "+name, func() bool { ttl := s.PTTL("n"); return ttl > 0 && ttl <= 31*time.Second })
			require.NoError(t, outer.Err())
			require.LessOrEqual(t, time.Until(outer.Deadline()), 30*time.Second)
			locktest.Unlock(t, outer)
			require.False(t, s.Exists("n"))
		}
	})
}

// The caller leaves while the renewal that would raise its lease is in flight.
func TestTTL_LongerReentryCanceled_Lowered(t *testing.T) {
	t.Parallel()
	outers := map[string][]lockwheel.Option{"watched": nil, "with a lease": {lockwheel.Lease(30 * time.Second)}}
	locktest.OnEveryKind(t, func(t *testing.T, mutex, _ locktest.KindOfLock) {
		for name, opts := range outers {
			s := locktest.RealServer(t)
			m := mutex(s.Open(lockwheel.Options{CallTimeout: 3 * time.Second}), "n")
			outer := locktest.Lock(t, m, opts...)
			s.Do("CLIENT", "PAUSE", locktest.TestDeadline.Milliseconds(), "WRITE")
			_, err := m.Lock(outer.Context(), lockwheel.Lease(locktest.Longer), lockwheel.Wait(100*time.Millisecond))
			require.ErrorIs(t, err, lockwheel.ErrUnavailable)
			s.Do("CLIENT", "UNPAUSE")
			locktest.Eventually(t, "a TTL for "+name, func() bool {
				scripts := s.Scripts() // PEXPIRE of the canceled re-entry, and of what follows
				ttl := s.PTTL("n")
				return scripts >= 3 && ttl > 0 && ttl <= 31*time.Second
			})
			require.NoError(t, outer.Err())
			locktest.Unlock(t, outer)
			require.False(t, s.Exists("n"))
		}
	})
}
