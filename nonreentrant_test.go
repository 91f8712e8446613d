package lockwheel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// Without an owner in the context a lock is not re-entered: Redisson's non-reentrant lock is the default here.

// Redisson's testContendingThreadBlocksAndAcquiresOnRelease
func TestAContenderBlocksUntilTheRelease(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	for _, other := range []*lockwheel.Engine{nil, s.open(lockwheel.Options{})} {
		e := s.open(lockwheel.Options{})
		if other == nil {
			other = e
		}
		hold := lock(t, e.Mutex("n"))
		contender := locking(t.Context(), other.Mutex("n"))
		requireNoReply(t, contender, 300*time.Millisecond)
		unlock(t, hold)
		unlock(t, granted(t, contender))
		require.False(t, s.exists("n"))
	}
}

// Redisson's testSameThreadReacquireThrows
func TestTheHolderItselfIsAStrangerWithoutItsContext(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.open(lockwheel.Options{})
	m := e.Mutex("n")
	requireStranger(t, s, m, m)
}

// Redisson's testCrossInstanceSameThreadReentryThrows
func TestTheHolderIsAStrangerThroughAnotherHandle(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.open(lockwheel.Options{})
	requireStranger(t, s, e.Mutex("n"), e.Mutex("n"))
}

// requireStranger requires that one goroutine cannot acquire a lock twice, and that one unlock frees it.
func requireStranger(t *testing.T, s *Server, m, again lockwheel.Mutex) {
	t.Helper()
	hold := lock(t, m)
	stateFailed(t, again)
	for _, wait := range []time.Duration{-1, 0, 50 * time.Millisecond} {
		_, err := again.Lock(t.Context(), lockwheel.Wait(wait))
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		_, err = again.TryLock(t.Context(), lockwheel.Wait(wait))
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	}
	require.NoError(t, hold.Err())
	require.Equal(t, map[string]string{hold.ID(): "1"}, s.hash("n"))
	unlock(t, hold)
	require.False(t, s.exists("n"))
}
