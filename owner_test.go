package lockwheel_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// Re-entry: the context carries the owner, and the goroutine does not matter.

// redisson#4467, #4956, aredis#119: they identify the owner by the thread.
func TestOwnersOfGoroutinesExcludeEachOther(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.open(lockwheel.Options{})
	var r criticalSection
	crowd(t, 100, func(int) error {
		me := lockwheel.WithOwner(t.Context())
		outer, err := e.Mutex("n").Lock(me)
		if err != nil {
			return err
		}
		inner, err := e.Mutex("n").Lock(me)
		if err != nil {
			return err
		}
		r.enter(shortRun)
		if err := outer.Unlock(t.Context()); err != nil {
			return err
		}
		return inner.Unlock(t.Context())
	})
	r.require(t, 100)
	require.False(t, s.exists("n"))
}

// One owner in many goroutines is one owner, as documented, and its count is exact.
func TestOneOwnerInManyGoroutinesHoldsTogether(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.open(lockwheel.Options{}).Mutex("n")
	for name, ctx := range map[string]func(*lockwheel.Hold) context.Context{
		"of a thread": nil,
		"of a hold":   func(h *lockwheel.Hold) context.Context { return h.Context() },
	} {
		t.Run(name, func(t *testing.T) {
			me := lockwheel.WithOwner(t.Context())
			first := lockWith(t, me, m)
			if ctx != nil {
				me = ctx(first)
			}
			const n = 20
			holds := make([]*lockwheel.Hold, n)
			crowd(t, n, func(i int) (err error) {
				holds[i], err = m.Lock(me)
				return err
			})
			requireCount(t, me, m, n+1)
			eventually(t, "the count in Redis", func() bool { return s.hash("n")[first.ID()] == "21" })
			crowd(t, n, func(i int) error { return holds[i].Unlock(t.Context()) })
			requireCount(t, me, m, 1)
			stateFailed(t, m)
			unlock(t, first)
			require.False(t, s.exists("n"))
		})
	}
}

func TestTheContextOfAHoldReentersItsNameOnly(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e, other := s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
	a := lock(t, e.Mutex("a"))
	_, err := other.Mutex("a").TryLock(a.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired, "another engine is another client")

	// Two goroutines with the same hold both want another lock: it must exclude them from each other.
	var r criticalSection
	crowd(t, 8, func(int) error { return enterWith(a.Context(), e.Mutex("b"), &r) })
	r.require(t, 8)

	// A context within a context still carries the outer name.
	b := lockWith(t, a.Context(), e.Mutex("b"))
	again := lockWith(t, b.Context(), e.Mutex("a"))
	requireCount(t, b.Context(), e.Mutex("a"), 2)
	requireCount(t, again.Context(), e.Mutex("b"), 1)
	requireCount(t, a.Context(), e.Mutex("b"), 0)
	unlock(t, again)
	unlock(t, b)
	unlock(t, a)
}

func TestWithoutOwnerMakesAStranger(t *testing.T) {
	t.Parallel()
	m := AnyServer(t).open(lockwheel.Options{}).Mutex("n")
	for _, ctx := range []context.Context{t.Context(), lockwheel.WithOwner(t.Context())} {
		hold := lockWith(t, ctx, m)
		for _, carried := range []context.Context{hold.Context(), ctx} {
			stranger := lockwheel.WithoutOwner(carried)
			requireCount(t, stranger, m, 0)
			_, err := m.TryLock(stranger)
			require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		}
		// WithOwner can be used again after WithoutOwner.
		_, err := m.TryLock(lockwheel.WithOwner(lockwheel.WithoutOwner(hold.Context())))
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		inner := lockWith(t, hold.Context(), m)
		unlock(t, inner)
		unlock(t, hold)
	}
}

// For a name that the context holds, the hold has priority over the owner of WithOwner.
func TestTheHoldOfAContextWinsOverItsThread(t *testing.T) {
	t.Parallel()
	m := AnyServer(t).open(lockwheel.Options{}).Mutex("n")
	hold := lock(t, m)
	both := lockwheel.WithOwner(hold.Context())
	requireCount(t, both, m, 1)
	unlock(t, lockWith(t, both, m))
	unlock(t, hold)
	requireCount(t, context.WithoutCancel(both), m, 0)
}

// The context of an ended hold does not re-enter, even if the lock has other holders.
func TestAContextOfAHoldThatIsOverQueues(t *testing.T) {
	t.Parallel()
	e := AnyServer(t).open(lockwheel.Options{})
	m := e.Mutex("n")
	first := lock(t, m)
	stale := context.WithoutCancel(first.Context())
	unlock(t, first)
	next := lock(t, m)
	_, err := m.TryLock(stale)
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	waiting := locking(stale, m)
	queued(t, e, 1)
	requireNoReply(t, waiting, 20*time.Millisecond)
	unlock(t, next)
	again := granted(t, waiting)
	requireCount(t, stale, m, 0)
	requireCount(t, again.Context(), m, 1)
	unlock(t, again)
}

// Holds of one owner may end in any order; the lock is free with the last.
func TestHoldsEndInAnyOrder(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.open(lockwheel.Options{}).Mutex("n")
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {1, 0, 2}} {
		me := lockwheel.WithOwner(t.Context())
		holds := []*lockwheel.Hold{lockWith(t, me, m), lockWith(t, me, m), lockWith(t, me, m)}
		for i, at := range order {
			require.True(t, s.exists("n"))
			unlock(t, holds[at])
			requireCount(t, me, m, 2-i)
		}
		require.False(t, s.exists("n"))
	}
}

// Re-entry is granted in the loop, without a round trip, while the lease covers it.
func TestReentryCostsNoRoundTrip(t *testing.T) {
	t.Parallel()
	s, p, e := behind(t, lockwheel.Options{})
	_ = p
	m := e.Mutex("n")
	outer := lock(t, m)
	require.NoError(t, s.real.Pause())
	inner := lockWith(t, outer.Context(), m)
	unlock(t, inner)
	inner = lockWith(t, outer.Context(), m, lockwheel.Lease(10*time.Second))
	unlock(t, inner)
	require.NoError(t, s.real.Continue())
	unlock(t, outer)
}

// A function that runs when a hold's context ends may call methods.
func TestWhatRunsAtTheEndOfAContextMayLock(t *testing.T) {
	t.Parallel()
	e := AnyServer(t).open(lockwheel.Options{})
	m := e.Mutex("n")
	hold := lock(t, m)
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
	unlock(t, hold)
	wg.Wait()
	require.EqualValues(t, 1, got.Load())
	requireIdle(t, e)
}

// Each engine numbers its own owners, from 1 on. An owner's context of one engine does not re-enter in another,
// whatever the numbers. This matters for engines that use the same name on different servers, or with different
// prefixes.
func TestTheContextOfAHoldIsAStrangersForAnotherEngine(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	for name, kindOf := range grantable() {
		t.Run(name, func(t *testing.T) {
			var holds []*lockwheel.Hold
			var locks []lockwheel.Mutex
			for _, prefix := range []string{"a:", "b:"} {
				locks = append(locks, kindOf(s.open(lockwheel.Options{Prefix: prefix}), "n"))
				holds = append(holds, lock(t, locks[len(locks)-1]))
			}
			for i, m := range locks {
				carried := holds[1-i].Context()
				requireCount(t, carried, m, 0)
				if name != "reader" { // readers share the lock
					_, err := m.TryLock(carried)
					require.ErrorIs(t, err, lockwheel.ErrNotAcquired, "the lock of engine %d with the context of the other", i)
				}
				requireCount(t, holds[i].Context(), m, 1)
			}
			for _, hold := range holds {
				unlock(t, hold)
			}
		})
	}
}
