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
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		s := AnyServer(t)
		e := s.Open(lockwheel.Options{})
		m := mutex(e, "n")
		for range 2 {
			hold := Lock(t, m)
			require.Equal(t, map[string]string{hold.ID(): "1"}, s.Hash("n"))
			Unlock(t, hold)
			require.False(t, s.Exists("n"))
		}
		RequireIdle(t, e)
	})
}

// Redisson's testIsLocked
func TestIsLockedWhileHeld(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		m := mutex(AnyServer(t).Open(lockwheel.Options{}), "n")
		RequireLocked(t, m, false)
		hold := Lock(t, m)
		RequireLocked(t, m, true)
		Unlock(t, hold)
		RequireLocked(t, m, false)
	})
}

// Redisson's testIsLockedOtherThread
func TestOthersSeeThatItIsLocked(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		s := AnyServer(t)
		here, elsewhere := mutex(s.Open(lockwheel.Options{}), "n"), mutex(s.Open(lockwheel.Options{}), "n")
		hold := Lock(t, here)
		RequireLocked(t, elsewhere, true)
		state, err := elsewhere.State(t.Context())
		require.NoError(t, err)
		require.Equal(t, hold.ID(), state.Owner)
		require.Equal(t, 1, state.Count)
		Unlock(t, hold)
		RequireLocked(t, elsewhere, false)
		state, err = elsewhere.State(t.Context())
		require.NoError(t, err)
		require.Zero(t, state)
	})
}

func RequireLocked(t *testing.T, m lockwheel.Mutex, want bool) {
	t.Helper()
	got, err := m.IsLocked(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// Redisson's testGetHoldCount
func TestHoldCountFollowsEveryHold(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		s := AnyServer(t)
		m := mutex(s.Open(lockwheel.Options{}), "n")
		me := lockwheel.WithOwner(t.Context())

		RequireCount(t, me, m, 0)
		hold := LockWith(t, me, m)
		RequireCount(t, me, m, 1)
		Unlock(t, hold)
		RequireCount(t, me, m, 0)

		outer, inner := LockWith(t, me, m), LockWith(t, me, m)
		RequireCount(t, me, m, 2)
		Eventually(t, "the count in Redis", func() bool { return s.Hash("n")[outer.ID()] == "2" })
		Unlock(t, inner)
		RequireCount(t, me, m, 1)
		Eventually(t, "the count in Redis", func() bool { return s.Hash("n")[outer.ID()] == "1" })
		Unlock(t, outer)
		RequireCount(t, me, m, 0)
		require.False(t, s.Exists("n"))
	})
}

func RequireCount(t *testing.T, ctx context.Context, m lockwheel.Mutex, want int) {
	t.Helper()
	got, err := m.HoldCount(ctx)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// Redisson's testIsHeldByCurrentThread
func TestItsOwnerHoldsIt(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		m := mutex(AnyServer(t).Open(lockwheel.Options{}), "n")
		RequireCount(t, t.Context(), m, 0)
		hold := Lock(t, m)
		owner := context.WithoutCancel(hold.Context())
		RequireCount(t, owner, m, 1)
		Unlock(t, hold)
		RequireCount(t, owner, m, 0)
	})
}

// Redisson's testIsHeldByCurrentThreadOtherThread
func TestNobodyElseHoldsIt(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		s := AnyServer(t)
		e := s.Open(lockwheel.Options{})
		m, other := mutex(e, "n"), lockwheel.WithOwner(t.Context())
		RequireCount(t, other, m, 0)
		hold := Lock(t, m)
		RequireCount(t, other, m, 0)
		RequireCount(t, hold.Context(), mutex(e, "another name"), 0)
		RequireCount(t, hold.Context(), mutex(s.Open(lockwheel.Options{}), "n"), 0)
		RequireCount(t, lockwheel.WithoutOwner(hold.Context()), m, 0)
		Unlock(t, hold)
		RequireCount(t, other, m, 0)
	})
}

// Redisson's testReentrancy
func TestItsOwnerReentersAndAStrangerDoesNot(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		s := AnyServer(t)
		m, elsewhere := mutex(s.Open(lockwheel.Options{}), "n"), mutex(s.Open(lockwheel.Options{}), "n")
		outer, err := m.TryLock(t.Context())
		require.NoError(t, err)
		inner, err := m.TryLock(outer.Context())
		require.NoError(t, err)
		Unlock(t, inner)
		StateFailed(t, m)
		StateFailed(t, elsewhere)
		Unlock(t, outer)
		Unlock(t, Lock(t, elsewhere))
	})
}

// Redisson's testUnlockFail. Here a stranger has no hold to unlock, except one that has ended.
func TestUnlockOfAHoldThatIsOverLeavesTheNextHolderAlone(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		s := AnyServer(t)
		e := s.Open(lockwheel.Options{})
		m := mutex(e, "n")
		first := Lock(t, m)
		Unlock(t, first)
		next := Lock(t, m)
		require.ErrorIs(t, first.Unlock(t.Context()), lockwheel.ErrNotHeld)

		require.NoError(t, next.Err())
		StateFailed(t, m)
		require.Equal(t, map[string]string{next.ID(): "1"}, s.Hash("n"))
		Unlock(t, next)
	})
}

// Redisson's testForceUnlock
func TestForceUnlockFreesItForEveryHandle(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		s := AnyServer(t)
		here, elsewhere := mutex(s.Open(lockwheel.Options{}), "n"), mutex(s.Open(lockwheel.Options{}), "n")
		hold := Lock(t, here)
		was, err := elsewhere.ForceUnlock(t.Context())
		require.NoError(t, err)
		require.True(t, was)
		RequireLocked(t, here, false)
		RequireLocked(t, elsewhere, false)
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)

		hold = Lock(t, here)
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
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		e := AnyServer(t).Open(lockwheel.Options{})
		m := mutex(e, "n")
		hold := Lock(t, m)
		ctx, interrupt := context.WithCancelCause(t.Context())
		deaf := Locking(context.WithoutCancel(ctx), m)
		keen := Locking(ctx, m)
		BothWait(t, e, strings.HasSuffix(t.Name(), "/fair")) // and know that it is taken
		reason := errors.New("enough")
		interrupt(reason)
		left := Receive(t, keen)
		require.ErrorIs(t, left.Err, lockwheel.ErrNotAcquired)
		require.ErrorIs(t, left.Err, reason)
		RequireNoReply(t, deaf, 50*time.Millisecond)
		Unlock(t, hold)
		Unlock(t, Granted(t, deaf))
	})
}
