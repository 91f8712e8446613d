package redisson_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// Redisson's testLockUnlock
func TestLock_AfterUnlock_AgainGranted(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s := locktest.AnyServer(t)
		e := s.Open(lockwheel.Options{})
		m := mutex(e, "n")
		for range 2 {
			hold := locktest.Lock(t, m)
			require.Equal(t, map[string]string{hold.ID(): "1"}, s.Hash("n"))
			locktest.Unlock(t, hold)
			require.False(t, s.Exists("n"))
		}
		locktest.RequireIdle(t, e)
	})
}

// Redisson's testIsLocked
func TestIsLocked_Held_True(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		m := mutex(locktest.AnyServer(t).Open(lockwheel.Options{}), "n")
		locktest.RequireLocked(t, m, false)
		hold := locktest.Lock(t, m)
		locktest.RequireLocked(t, m, true)
		locktest.Unlock(t, hold)
		locktest.RequireLocked(t, m, false)
	})
}

// Redisson's testIsLockedOtherThread
func TestIsLocked_HeldElsewhere_True(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s := locktest.AnyServer(t)
		here, elsewhere := mutex(s.Open(lockwheel.Options{}), "n"), mutex(s.Open(lockwheel.Options{}), "n")
		hold := locktest.Lock(t, here)
		locktest.RequireLocked(t, elsewhere, true)
		state, err := elsewhere.State(t.Context())
		require.NoError(t, err)
		require.Equal(t, hold.ID(), state.Owner)
		require.Equal(t, 1, state.Count)
		locktest.Unlock(t, hold)
		locktest.RequireLocked(t, elsewhere, false)
		state, err = elsewhere.State(t.Context())
		require.NoError(t, err)
		require.Zero(t, state)
	})
}

// Redisson's testGetHoldCount
func TestHoldCount_EachHold_Counted(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s := locktest.AnyServer(t)
		m := mutex(s.Open(lockwheel.Options{}), "n")
		me := lockwheel.WithOwner(t.Context())

		locktest.RequireCount(t, me, m, 0)
		hold := locktest.LockWith(t, me, m)
		locktest.RequireCount(t, me, m, 1)
		locktest.Unlock(t, hold)
		locktest.RequireCount(t, me, m, 0)

		outer, inner := locktest.LockWith(t, me, m), locktest.LockWith(t, me, m)
		locktest.RequireCount(t, me, m, 2)
		locktest.Eventually(t, "the count in Redis", func() bool { return s.Hash("n")[outer.ID()] == "2" })
		locktest.Unlock(t, inner)
		locktest.RequireCount(t, me, m, 1)
		locktest.Eventually(t, "the count in Redis", func() bool { return s.Hash("n")[outer.ID()] == "1" })
		locktest.Unlock(t, outer)
		locktest.RequireCount(t, me, m, 0)
		require.False(t, s.Exists("n"))
	})
}

// Redisson's testIsHeldByCurrentThread
func TestHoldCount_Owner_Holds(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		m := mutex(locktest.AnyServer(t).Open(lockwheel.Options{}), "n")
		locktest.RequireCount(t, t.Context(), m, 0)
		hold := locktest.Lock(t, m)
		owner := context.WithoutCancel(hold.Context())
		locktest.RequireCount(t, owner, m, 1)
		locktest.Unlock(t, hold)
		locktest.RequireCount(t, owner, m, 0)
	})
}

// Redisson's testIsHeldByCurrentThreadOtherThread
func TestHoldCount_NonOwner_Zero(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s := locktest.AnyServer(t)
		e := s.Open(lockwheel.Options{})
		m, other := mutex(e, "n"), lockwheel.WithOwner(t.Context())
		locktest.RequireCount(t, other, m, 0)
		hold := locktest.Lock(t, m)
		locktest.RequireCount(t, other, m, 0)
		locktest.RequireCount(t, hold.Context(), mutex(e, "another name"), 0)
		locktest.RequireCount(t, hold.Context(), mutex(s.Open(lockwheel.Options{}), "n"), 0)
		locktest.RequireCount(t, lockwheel.WithoutOwner(hold.Context()), m, 0)
		locktest.Unlock(t, hold)
		locktest.RequireCount(t, other, m, 0)
	})
}

// Redisson's testReentrancy
func TestReentry_OwnerOnly(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s := locktest.AnyServer(t)
		m, elsewhere := mutex(s.Open(lockwheel.Options{}), "n"), mutex(s.Open(lockwheel.Options{}), "n")
		outer, err := m.TryLock(t.Context())
		require.NoError(t, err)
		inner, err := m.TryLock(outer.Context())
		require.NoError(t, err)
		locktest.Unlock(t, inner)
		locktest.StateFailed(t, m)
		locktest.StateFailed(t, elsewhere)
		locktest.Unlock(t, outer)
		locktest.Unlock(t, locktest.Lock(t, elsewhere))
	})
}

// Redisson's testUnlockFail. Here a stranger has no hold to unlock, except one that has ended.
func TestUnlock_EndedHold_NextHolderKeepsLock(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s := locktest.AnyServer(t)
		e := s.Open(lockwheel.Options{})
		m := mutex(e, "n")
		first := locktest.Lock(t, m)
		locktest.Unlock(t, first)
		next := locktest.Lock(t, m)
		require.ErrorIs(t, first.Unlock(t.Context()), lockwheel.ErrNotHeld)

		require.NoError(t, next.Err())
		locktest.StateFailed(t, m)
		require.Equal(t, map[string]string{next.ID(): "1"}, s.Hash("n"))
		locktest.Unlock(t, next)
	})
}

// Redisson's testForceUnlock
func TestForceUnlock_AnyHandle_Free(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s := locktest.AnyServer(t)
		here, elsewhere := mutex(s.Open(lockwheel.Options{}), "n"), mutex(s.Open(lockwheel.Options{}), "n")
		hold := locktest.Lock(t, here)
		was, err := elsewhere.ForceUnlock(t.Context())
		require.NoError(t, err)
		require.True(t, was)
		locktest.RequireLocked(t, here, false)
		locktest.RequireLocked(t, elsewhere, false)
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)

		hold = locktest.Lock(t, here)
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
func TestLock_OtherContextEnds_WaitGoesOn(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		e := locktest.AnyServer(t).Open(lockwheel.Options{})
		m := mutex(e, "n")
		hold := locktest.Lock(t, m)
		ctx, interrupt := context.WithCancelCause(t.Context())
		pubsubdown := locktest.Locking(context.WithoutCancel(ctx), m)
		keen := locktest.Locking(ctx, m)
		locktest.BothWait(t, e, strings.HasSuffix(t.Name(), "/fair")) // and know that it is taken
		reason := errors.New("enough")
		interrupt(reason)
		left := locktest.Receive(t, keen)
		require.ErrorIs(t, left.Err, lockwheel.ErrNotAcquired)
		require.ErrorIs(t, left.Err, reason)
		locktest.RequireNoReply(t, pubsubdown, 50*time.Millisecond)
		locktest.Unlock(t, hold)
		locktest.Unlock(t, locktest.Granted(t, pubsubdown))
	})
}
