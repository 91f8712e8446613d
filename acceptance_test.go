package lockwheel_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// These tests assert what Redisson's own tests of the plain lock assert about its holder. docs/acceptance.md maps
// every row.

// Redisson's testLockUnlock
func TestALockCanBeTakenAgainAndAgain(t *testing.T) {
	t.Parallel()
	onEachKind(t, func(t *testing.T, mutex kindOfLock) {
		s := AnyServer(t)
		e := s.open(lockwheel.Options{})
		m := mutex(e, "n")
		for range 2 {
			hold := lock(t, m)
			require.Equal(t, map[string]string{hold.ID(): "1"}, s.hash("n"))
			unlock(t, hold)
			require.False(t, s.exists("n"))
		}
		requireIdle(t, e)
	})
}

// Redisson's testIsLocked
func TestIsLockedWhileHeld(t *testing.T) {
	t.Parallel()
	onEachKind(t, func(t *testing.T, mutex kindOfLock) {
		m := mutex(AnyServer(t).open(lockwheel.Options{}), "n")
		requireLocked(t, m, false)
		hold := lock(t, m)
		requireLocked(t, m, true)
		unlock(t, hold)
		requireLocked(t, m, false)
	})
}

// Redisson's testIsLockedOtherThread
func TestOthersSeeThatItIsLocked(t *testing.T) {
	t.Parallel()
	onEachKind(t, func(t *testing.T, mutex kindOfLock) {
		s := AnyServer(t)
		here, elsewhere := mutex(s.open(lockwheel.Options{}), "n"), mutex(s.open(lockwheel.Options{}), "n")
		hold := lock(t, here)
		requireLocked(t, elsewhere, true)
		state, err := elsewhere.State(t.Context())
		require.NoError(t, err)
		require.Equal(t, hold.ID(), state.Owner)
		require.Equal(t, 1, state.Count)
		unlock(t, hold)
		requireLocked(t, elsewhere, false)
		state, err = elsewhere.State(t.Context())
		require.NoError(t, err)
		require.Zero(t, state)
	})
}

func requireLocked(t *testing.T, m lockwheel.Mutex, want bool) {
	t.Helper()
	got, err := m.IsLocked(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// Redisson's testGetHoldCount
func TestHoldCountFollowsEveryHold(t *testing.T) {
	t.Parallel()
	onEachKind(t, func(t *testing.T, mutex kindOfLock) {
		s := AnyServer(t)
		m := mutex(s.open(lockwheel.Options{}), "n")
		me := lockwheel.WithOwner(t.Context())

		requireCount(t, me, m, 0)
		hold := lockWith(t, me, m)
		requireCount(t, me, m, 1)
		unlock(t, hold)
		requireCount(t, me, m, 0)

		outer, inner := lockWith(t, me, m), lockWith(t, me, m)
		requireCount(t, me, m, 2)
		eventually(t, "the count in Redis", func() bool { return s.hash("n")[outer.ID()] == "2" })
		unlock(t, inner)
		requireCount(t, me, m, 1)
		eventually(t, "the count in Redis", func() bool { return s.hash("n")[outer.ID()] == "1" })
		unlock(t, outer)
		requireCount(t, me, m, 0)
		require.False(t, s.exists("n"))
	})
}

func requireCount(t *testing.T, ctx context.Context, m lockwheel.Mutex, want int) {
	t.Helper()
	got, err := m.HoldCount(ctx)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// Redisson's testIsHeldByCurrentThread
func TestItsOwnerHoldsIt(t *testing.T) {
	t.Parallel()
	onEachKind(t, func(t *testing.T, mutex kindOfLock) {
		m := mutex(AnyServer(t).open(lockwheel.Options{}), "n")
		requireCount(t, t.Context(), m, 0)
		hold := lock(t, m)
		owner := context.WithoutCancel(hold.Context())
		requireCount(t, owner, m, 1)
		unlock(t, hold)
		requireCount(t, owner, m, 0)
	})
}

// Redisson's testIsHeldByCurrentThreadOtherThread
func TestNobodyElseHoldsIt(t *testing.T) {
	t.Parallel()
	onEachKind(t, func(t *testing.T, mutex kindOfLock) {
		s := AnyServer(t)
		e := s.open(lockwheel.Options{})
		m, other := mutex(e, "n"), lockwheel.WithOwner(t.Context())
		requireCount(t, other, m, 0)
		hold := lock(t, m)
		requireCount(t, other, m, 0)
		requireCount(t, hold.Context(), mutex(e, "another name"), 0)
		requireCount(t, hold.Context(), mutex(s.open(lockwheel.Options{}), "n"), 0)
		requireCount(t, lockwheel.WithoutOwner(hold.Context()), m, 0)
		unlock(t, hold)
		requireCount(t, other, m, 0)
	})
}

// Redisson's testReentrancy
func TestItsOwnerReentersAndAStrangerDoesNot(t *testing.T) {
	t.Parallel()
	onEachKind(t, func(t *testing.T, mutex kindOfLock) {
		s := AnyServer(t)
		m, elsewhere := mutex(s.open(lockwheel.Options{}), "n"), mutex(s.open(lockwheel.Options{}), "n")
		outer, err := m.TryLock(t.Context())
		require.NoError(t, err)
		inner, err := m.TryLock(outer.Context())
		require.NoError(t, err)
		unlock(t, inner)
		stateFailed(t, m)
		stateFailed(t, elsewhere)
		unlock(t, outer)
		unlock(t, lock(t, elsewhere))
	})
}

// Redisson's testUnlockFail. Here a stranger has no hold to unlock, except one that has ended.
func TestUnlockOfAHoldThatIsOverLeavesTheNextHolderAlone(t *testing.T) {
	t.Parallel()
	onEachKind(t, func(t *testing.T, mutex kindOfLock) {
		s := AnyServer(t)
		e := s.open(lockwheel.Options{})
		m := mutex(e, "n")
		first := lock(t, m)
		unlock(t, first)
		next := lock(t, m)
		require.ErrorIs(t, first.Unlock(t.Context()), lockwheel.ErrNotHeld)

		require.NoError(t, next.Err())
		stateFailed(t, m)
		require.Equal(t, map[string]string{next.ID(): "1"}, s.hash("n"))
		unlock(t, next)
	})
}

// Redisson's testForceUnlock
func TestForceUnlockFreesItForEveryHandle(t *testing.T) {
	t.Parallel()
	onEachKind(t, func(t *testing.T, mutex kindOfLock) {
		s := AnyServer(t)
		here, elsewhere := mutex(s.open(lockwheel.Options{}), "n"), mutex(s.open(lockwheel.Options{}), "n")
		hold := lock(t, here)
		was, err := elsewhere.ForceUnlock(t.Context())
		require.NoError(t, err)
		require.True(t, was)
		requireLocked(t, here, false)
		requireLocked(t, elsewhere, false)
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)

		hold = lock(t, here)
		was, err = here.ForceUnlock(t.Context())
		require.NoError(t, err)
		require.True(t, was)
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost, "at once: it was done in this process")
		was, err = here.ForceUnlock(t.Context())
		require.NoError(t, err)
		require.False(t, was, "it had no holder any more")
	})
}

// Redisson's testLockUninterruptibly: an interrupt corresponds to a context that ends, and this Lock has another one.
func TestLockGoesOnWaitingWithoutTheContextThatEnded(t *testing.T) {
	t.Parallel()
	onEachKind(t, func(t *testing.T, mutex kindOfLock) {
		e := AnyServer(t).open(lockwheel.Options{})
		m := mutex(e, "n")
		hold := lock(t, m)
		ctx, interrupt := context.WithCancelCause(t.Context())
		deaf := locking(context.WithoutCancel(ctx), m)
		keen := locking(ctx, m)
		bothWait(t, e, strings.HasSuffix(t.Name(), "/fair")) // and know that it is taken
		reason := errors.New("enough")
		interrupt(reason)
		left := receive(t, keen)
		require.ErrorIs(t, left.err, lockwheel.ErrNotAcquired)
		require.ErrorIs(t, left.err, reason)
		requireNoReply(t, deaf, 50*time.Millisecond)
		unlock(t, hold)
		unlock(t, granted(t, deaf))
	})
}
