package kinds_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// Redisson's testTokenIncrease: each grant has the next token, for any caller and any method.
func TestToken_EachGrant_Increases(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	m := e.FencedMutex("n")
	for token := uint64(1); token <= 6; token++ {
		var hold *lockwheel.Hold
		switch token % 3 {
		case 0:
			hold = locktest.Lock(t, m)
		case 1:
			hold = locktest.Lock(t, m, lockwheel.Lease(10*time.Second))
		case 2:
			var err error
			hold, err = other.FencedMutex("n").TryLock(t.Context())
			require.NoError(t, err)
		}
		require.Equal(t, token, hold.Token())
		locktest.Unlock(t, hold)
	}
	require.Equal(t, "6", s.Do("GET", "redisson_lock_token:{n}"))
	require.Equal(t, int64(-1), s.Do("PTTL", "redisson_lock_token:{n}"))
	plain := locktest.Lock(t, e.Mutex("another"))
	require.Zero(t, plain.Token())
	locktest.Unlock(t, plain)
}

// An inner hold has the token of the outer one.
func TestToken_Reentry_Same(t *testing.T) {
	t.Parallel()
	m := locktest.AnyServer(t).Open(lockwheel.Options{}).FencedMutex("n")
	outer := locktest.Lock(t, m)
	inner := locktest.LockWith(t, outer.Context(), m)
	longer := locktest.LockWith(t, inner.Context(), m, lockwheel.Lease(time.Hour))
	require.Equal(t, []uint64{1, 1, 1}, []uint64{outer.Token(), inner.Token(), longer.Token()})
	count, err := m.HoldCount(longer.Context())
	require.NoError(t, err)
	require.Equal(t, 3, count)
	for _, hold := range []*lockwheel.Hold{longer, inner, outer} {
		locktest.Unlock(t, hold)
	}
}

// The token increases after a forced unlock, after the end of a lease and after a restart that keeps the data.
func TestToken_ForceExpiryRestart_Increases(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(locktest.ShortLeaseOptions) // no lease ends before the test ends it, however long the restart takes
	m := e.FencedMutex("n")
	first := locktest.Lock(t, m)
	was, err := m.ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, was)
	require.ErrorIs(t, first.Err(), lockwheel.ErrLost)

	second := locktest.Lock(t, m, lockwheel.Lease(locktest.ShortLease/2))
	locktest.Eventually(t, "the end of the lease", func() bool { return !s.Exists("n") })
	third := locktest.Lock(t, m)
	require.NoError(t, s.Real.Restart())
	require.Equal(t, int64(1), s.Do("DEL", "n"))
	locktest.Eventually(t, "a loss", func() bool { return third.Err() != nil })
	fourth := locktest.Lock(t, m)
	// Not 1, 2, 3: a grant that arrives after its lease has ended is asked for again, and that token is left out.
	require.IsIncreasing(t, []uint64{first.Token(), second.Token(), third.Token(), fourth.Token()})
	locktest.Unlock(t, fourth)
}

// Callers of several engines contend, and each engine hands the lock off to its own callers. The tokens increase in
// the order of the holds.
func TestToken_EnginesAndHandoff_Increases(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	engines := []*lockwheel.Engine{s.Open(locktest.SlowTimeouts), s.Open(locktest.SlowTimeouts)}
	var tokens []uint64 // of the lock
	var guard sync.Mutex
	locktest.Crowd(t, 12, func(i int) error {
		for range 10 {
			hold, err := engines[i%2].FencedMutex("n").Lock(t.Context())
			if err != nil {
				return err
			}
			guard.Lock()
			tokens = append(tokens, hold.Token())
			guard.Unlock()
			if err := hold.Unlock(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	require.Len(t, tokens, 120)
	require.True(t, slices.IsSorted(tokens))
	require.Len(t, slices.Compact(tokens), 120, "no token twice")
	require.NotZero(t, engines[0].Stats().HandedOff+engines[1].Stats().HandedOff)
}

// The hold of a Pending of a fenced lock has its token.
func TestToken_PendingHold_Present(t *testing.T) {
	t.Parallel()
	m := locktest.AnyServer(t).Open(lockwheel.Options{}).FencedMutex("n")
	p := m.LockAsync(t.Context())
	<-p.Done()
	hold, err := p.Hold()
	require.NoError(t, err)
	require.Equal(t, uint64(1), hold.Token())
	locktest.Unlock(t, hold)
}

// A fenced acquire that is sent again after a lost reply has the token of the first one.
func TestToken_SentAgain_Same(t *testing.T) {
	t.Parallel()
	s, p, e := locktest.Behind(t, lockwheel.Options{})
	m := e.FencedMutex("n")
	last := uint64(0)
	for range 20 {
		p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(rand.IntN(6)))
		hold := locktest.Lock(t, m)
		require.Equal(t, last+1, hold.Token(), "a copy counted once more")
		require.Equal(t, fmt.Sprint(hold.Token()), s.Do("GET", "redisson_lock_token:{n}"))
		last = hold.Token()
		locktest.Unlock(t, hold)
	}
	locktest.RequireIdle(t, e)
	require.NotZero(t, e.Stats().Retries)
}

// An operator may continue from a greater count: the time in nanoseconds exceeds the range in which a double is
// exact.
func TestToken_CountAboveDouble_Increases(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{}).FencedMutex("n")
	s.Do("SET", "redisson_lock_token:{n}", "1763800000000000000")
	for token := uint64(1763800000000000001); token <= 1763800000000000003; token++ {
		hold := locktest.Lock(t, m)
		require.Equal(t, token, hold.Token())
		locktest.Unlock(t, hold)
	}
}

// A token count that is negative, too large or no integer is rejected at once, and no lock is left.
func TestToken_InvalidCount_Rejected(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{}).FencedMutex("n")
	for _, count := range []string{"-7", "9223372036854775807", "1.5"} {
		s.Do("SET", "redisson_lock_token:{n}", count)
		_, err := m.Lock(t.Context())
		var refusal lockwheel.ServerError
		require.ErrorAs(t, err, &refusal, count)
		require.False(t, s.Exists("n"))
		require.Equal(t, count, s.Do("GET", "redisson_lock_token:{n}"))
	}
}
