package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// Redisson's testContendingThreadBlocksAndAcquiresOnRelease
func TestLock_HeldByOther_WaitsForRelease(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	for _, other := range []*lockwheel.Engine{nil, s.Open(lockwheel.Options{})} {
		e := s.Open(lockwheel.Options{})
		if other == nil {
			other = e
		}
		hold := locktest.Lock(t, e.Mutex("n"))
		contender := locktest.Locking(t.Context(), other.Mutex("n"))
		locktest.RequireNoReply(t, contender, 300*time.Millisecond)
		locktest.Unlock(t, hold)
		locktest.Unlock(t, locktest.Granted(t, contender))
		require.False(t, s.Exists("n"))
	}
}

// Redisson's testSameThreadReacquireThrows
func TestLock_WithoutHoldContext_NoReentry(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	m := e.Mutex("n")
	requireStranger(t, s, m, m)
}

// Redisson's testCrossInstanceSameThreadReentryThrows
func TestLock_OtherHandleNoContext_NoReentry(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	requireStranger(t, s, e.Mutex("n"), e.Mutex("n"))
}

// requireStranger requires that one goroutine cannot acquire a lock twice, and that one unlock frees it.
func requireStranger(t *testing.T, s *locktest.Server, m, again lockwheel.Mutex) {
	t.Helper()
	hold := locktest.Lock(t, m)
	locktest.StateFailed(t, again)
	for _, wait := range []time.Duration{-1, 0, 50 * time.Millisecond} {
		_, err := again.Lock(t.Context(), lockwheel.Wait(wait))
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		_, err = again.TryLock(t.Context(), lockwheel.Wait(wait))
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	}
	require.NoError(t, hold.Err())
	require.Equal(t, map[string]string{hold.ID(): "1"}, s.Hash("n"))
	locktest.Unlock(t, hold)
	require.False(t, s.Exists("n"))
}
