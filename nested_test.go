package lockwheel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// Nested holds, each with its own lease or watched: the lease of one must not hide the loss of the others.

// longer is a lease that outlives every test.
const longer = 10 * time.Minute

// A lease of ten minutes inside a watched hold must not delay the notice of a loss by ten minutes.
func TestAWatchedHoldIsConfirmedBesideALongerLease(t *testing.T) {
	t.Parallel()
	onEveryKind(t, func(t *testing.T, mutex, _ kindOfLock) {
		for _, left := range []bool{false, true} {
			t.Run(fmt.Sprintf("the inner one unlocked %v", left), func(t *testing.T) {
				s := RealServer(t)
				m := mutex(s.open(shortLeaseOptions), "n")
				outer := lock(t, m)
				inner := lockWith(t, outer.Context(), m, lockwheel.Lease(longer))
				if left {
					unlock(t, inner)
				}
				s.do("DEL", "n")
				receive(t, outer.Done())
				require.ErrorIs(t, outer.Err(), lockwheel.ErrLost)
				require.Error(t, inner.Err())
			})
		}
	})
}

// A process that dies blocks other callers for the lease of its remaining holds, and not for that of an ended one.
func TestTheTTLFallsWhenTheLongestLeaseIsUnlocked(t *testing.T) {
	t.Parallel()
	outers := map[string][]lockwheel.Option{"watched": nil, "with a lease": {lockwheel.Lease(30 * time.Second)}}
	onEveryKind(t, func(t *testing.T, mutex, _ kindOfLock) {
		for name, opts := range outers {
			s := RealServer(t)
			m := mutex(s.open(lockwheel.Options{}), "n")
			outer := lock(t, m, opts...)
			inner := lockWith(t, outer.Context(), m, lockwheel.Lease(longer))
			require.Greater(t, s.pttl("n"), longer/2, name)
			unlock(t, inner)
			eventually(t, "a TTL for "+name, func() bool { ttl := s.pttl("n"); return ttl > 0 && ttl <= 31*time.Second })
			require.NoError(t, outer.Err())
			require.LessOrEqual(t, time.Until(outer.Deadline()), 30*time.Second)
			unlock(t, outer)
			require.False(t, s.exists("n"))
		}
	})
}

// The caller leaves while the renewal that would raise its lease is in flight.
func TestTheTTLFallsWhenAReentryWithALongerLeaseIsGivenUp(t *testing.T) {
	t.Parallel()
	outers := map[string][]lockwheel.Option{"watched": nil, "with a lease": {lockwheel.Lease(30 * time.Second)}}
	onEveryKind(t, func(t *testing.T, mutex, _ kindOfLock) {
		for name, opts := range outers {
			s := RealServer(t)
			m := mutex(s.open(lockwheel.Options{CallTimeout: 3 * time.Second}), "n")
			outer := lock(t, m, opts...)
			s.do("CLIENT", "PAUSE", testDeadline.Milliseconds(), "WRITE")
			_, err := m.Lock(outer.Context(), lockwheel.Lease(longer), lockwheel.Wait(100*time.Millisecond))
			require.ErrorIs(t, err, lockwheel.ErrUnavailable)
			s.do("CLIENT", "UNPAUSE")
			eventually(t, "a TTL for "+name, func() bool {
				scripts := s.scripts() // PEXPIRE of the canceled re-entry, and of what follows
				ttl := s.pttl("n")
				return scripts >= 3 && ttl > 0 && ttl <= 31*time.Second
			})
			require.NoError(t, outer.Err())
			unlock(t, outer)
			require.False(t, s.exists("n"))
		}
	})
}
