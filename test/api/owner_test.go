package api_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// redisson#4467, #4956, aredis#119: they identify the owner by the thread.
func TestOwner_PerGoroutine_Exclude(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(locktest.SlowTimeouts)
	var r locktest.CriticalSection
	locktest.Crowd(t, 100, func(int) error {
		me := lockwheel.WithOwner(t.Context())
		outer, err := e.Mutex("n").Lock(me)
		if err != nil {
			return err
		}
		inner, err := e.Mutex("n").Lock(me)
		if err != nil {
			return err
		}
		r.Enter(locktest.ShortRun)
		if err := outer.Unlock(t.Context()); err != nil {
			return err
		}
		return inner.Unlock(t.Context())
	})
	r.Require(t, 100)
	require.False(t, s.Exists("n"))
}

// One owner in many goroutines is one owner, as documented, and its count is exact.
func TestOwner_ManyGoroutines_CountExact(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{}).Mutex("n")
	for name, ctx := range map[string]func(*lockwheel.Hold) context.Context{
		"of a thread": nil,
		"of a hold":   func(h *lockwheel.Hold) context.Context { return h.Context() },
	} {
		t.Run(name, func(t *testing.T) {
			me := lockwheel.WithOwner(t.Context())
			first := locktest.LockWith(t, me, m)
			if ctx != nil {
				me = ctx(first)
			}
			const n = 20
			holds := make([]*lockwheel.Hold, n)
			locktest.Crowd(t, n, func(i int) (err error) {
				holds[i], err = m.Lock(me)
				return err
			})
			locktest.RequireCount(t, me, m, n+1)
			locktest.Eventually(t, "the count in Redis", func() bool { return s.Hash("n")[first.ID()] == "21" })
			locktest.Crowd(t, n, func(i int) error { return holds[i].Unlock(t.Context()) })
			locktest.RequireCount(t, me, m, 1)
			locktest.StateFailed(t, m)
			locktest.Unlock(t, first)
			require.False(t, s.Exists("n"))
		})
	}
}

// The context of a hold re-enters the name that it holds, in its own engine, and no other.
func TestOwner_HoldContext_ReentersOwnName(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	a := locktest.Lock(t, e.Mutex("a"))
	_, err := other.Mutex("a").TryLock(a.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired, "another engine is another client")

	// Two goroutines with the same hold both want another lock: it must exclude them from each other.
	var r locktest.CriticalSection
	locktest.Crowd(t, 8, func(int) error { return locktest.EnterWith(a.Context(), e.Mutex("b"), &r) })
	r.Require(t, 8)

	// A context within a context still carries the outer name.
	b := locktest.LockWith(t, a.Context(), e.Mutex("b"))
	again := locktest.LockWith(t, b.Context(), e.Mutex("a"))
	locktest.RequireCount(t, b.Context(), e.Mutex("a"), 2)
	locktest.RequireCount(t, again.Context(), e.Mutex("b"), 1)
	locktest.RequireCount(t, a.Context(), e.Mutex("b"), 0)
	locktest.Unlock(t, again)
	locktest.Unlock(t, b)
	locktest.Unlock(t, a)
}

// A context of WithoutOwner does not re-enter, and WithOwner can be used again after it.
func TestWithoutOwner_Context_NoReentry(t *testing.T) {
	t.Parallel()
	m := locktest.AnyServer(t).Open(lockwheel.Options{}).Mutex("n")
	for _, ctx := range []context.Context{t.Context(), lockwheel.WithOwner(t.Context())} {
		hold := locktest.LockWith(t, ctx, m)
		for _, carried := range []context.Context{hold.Context(), ctx} {
			stranger := lockwheel.WithoutOwner(carried)
			locktest.RequireCount(t, stranger, m, 0)
			_, err := m.TryLock(stranger)
			require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		}
		// WithOwner can be used again after WithoutOwner.
		_, err := m.TryLock(lockwheel.WithOwner(lockwheel.WithoutOwner(hold.Context())))
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		inner := locktest.LockWith(t, hold.Context(), m)
		locktest.Unlock(t, inner)
		locktest.Unlock(t, hold)
	}
}

// For a name that the context holds, the hold has priority over the owner of WithOwner.
func TestOwner_HoldContext_BeforeWithOwner(t *testing.T) {
	t.Parallel()
	m := locktest.AnyServer(t).Open(lockwheel.Options{}).Mutex("n")
	hold := locktest.Lock(t, m)
	both := lockwheel.WithOwner(hold.Context())
	locktest.RequireCount(t, both, m, 1)
	locktest.Unlock(t, locktest.LockWith(t, both, m))
	locktest.Unlock(t, hold)
	locktest.RequireCount(t, context.WithoutCancel(both), m, 0)
}

// The context of an ended hold does not re-enter, even if the lock has other holders.
func TestOwner_HoldEnded_Queues(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	m := e.Mutex("n")
	first := locktest.Lock(t, m)
	stale := context.WithoutCancel(first.Context())
	locktest.Unlock(t, first)
	next := locktest.Lock(t, m)
	_, err := m.TryLock(stale)
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	waiting := locktest.Locking(stale, m)
	locktest.Queued(t, e, 1)
	locktest.RequireNoReply(t, waiting, 20*time.Millisecond)
	locktest.Unlock(t, next)
	again := locktest.Granted(t, waiting)
	locktest.RequireCount(t, stale, m, 0)
	locktest.RequireCount(t, again.Context(), m, 1)
	locktest.Unlock(t, again)
}

// Holds of one owner may end in any order; the lock is free with the last.
func TestOwner_HoldsEndInAnyOrder(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{}).Mutex("n")
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {1, 0, 2}} {
		me := lockwheel.WithOwner(t.Context())
		holds := []*lockwheel.Hold{locktest.LockWith(t, me, m), locktest.LockWith(t, me, m), locktest.LockWith(t, me, m)}
		for i, at := range order {
			require.True(t, s.Exists("n"))
			locktest.Unlock(t, holds[at])
			locktest.RequireCount(t, me, m, 2-i)
		}
		require.False(t, s.Exists("n"))
	}
}

// Re-entry is granted in the loop, without a round trip, while the lease covers it.
func TestReentry_CostsNoRoundTrip(t *testing.T) {
	t.Parallel()
	s, p, e := locktest.Behind(t, lockwheel.Options{})
	_ = p
	m := e.Mutex("n")
	outer := locktest.Lock(t, m)
	require.NoError(t, s.Real.Pause())
	inner := locktest.LockWith(t, outer.Context(), m)
	locktest.Unlock(t, inner)
	inner = locktest.LockWith(t, outer.Context(), m, lockwheel.Lease(10*time.Second))
	locktest.Unlock(t, inner)
	require.NoError(t, s.Real.Continue())
	locktest.Unlock(t, outer)
}

// A function that runs when a hold's context ends may call methods.
func TestHoldContext_AfterFunc_MayLock(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	m := e.Mutex("n")
	hold := locktest.Lock(t, m)
	var wg sync.WaitGroup
	var got atomic.Int32
	wg.Add(1)
	context.AfterFunc(hold.Context(), func() {
		defer wg.Done()
		next, err := m.Lock(t.Context())
		if err == nil && next.Unlock(t.Context()) == nil {
			got.Add(1)
		}
	})
	locktest.Unlock(t, hold)
	wg.Wait()
	require.EqualValues(t, 1, got.Load())
	locktest.RequireIdle(t, e)
}

// Each engine numbers its own owners, from 1 on. An owner's context of one engine does not re-enter in another,
// whatever the numbers. This matters for engines that use the same name on different servers, or with different
// prefixes.
func TestOwner_OtherEngine_NoReentry(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	for name, kindOf := range locktest.Grantable() {
		t.Run(name, func(t *testing.T) {
			var holds []*lockwheel.Hold
			var locks []lockwheel.Mutex
			for _, prefix := range []string{"a:", "b:"} {
				locks = append(locks, kindOf(s.Open(lockwheel.Options{Prefix: prefix}), "n"))
				holds = append(holds, locktest.Lock(t, locks[len(locks)-1]))
			}
			for i, m := range locks {
				carried := holds[1-i].Context()
				locktest.RequireCount(t, carried, m, 0)
				if name != "reader" { // readers share the lock
					_, err := m.TryLock(carried)
					require.ErrorIs(t, err, lockwheel.ErrNotAcquired, "the lock of engine %d with the context of the other", i)
				}
				locktest.RequireCount(t, holds[i].Context(), m, 1)
			}
			for _, hold := range holds {
				locktest.Unlock(t, hold)
			}
		})
	}
}
