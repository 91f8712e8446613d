package lockwheel_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// ForceUnlock by this engine, by another one and by a Redisson client: all holders and waiters learn of it.

// While an engine holds a lock itself, its own callers queue locally, and none of them asks Redis.
func TestAForcedUnlockWakesWaitersThatQueueBehindALocalHolder(t *testing.T) {
	t.Parallel()
	for name, force := range map[string]func(t *testing.T, s *Server, here *lockwheel.Engine){
		"here": func(t *testing.T, _ *Server, here *lockwheel.Engine) { ForceUnlock(t, here.Mutex("n")) },
		"elsewhere": func(t *testing.T, s *Server, _ *lockwheel.Engine) {
			ForceUnlock(t, s.Open(lockwheel.Options{}).Mutex("n"))
		},
		"as Redisson does": func(t *testing.T, s *Server, _ *lockwheel.Engine) {
			require.Equal(t, int64(1), s.Do("DEL", "n"))
			require.Equal(t, int64(1), s.Do("PUBLISH", "redisson_lock__channel:{n}", 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := AnyServer(t)
			here := s.Open(lockwheel.Options{})
			hold := Lock(t, here.Mutex("n"))
			first := Locking(t.Context(), here.Mutex("n"))
			Queued(t, here, 1)
			second := Locking(t.Context(), here.Mutex("n"))
			RequireWaiting(t, here, 2, 1)
			force(t, s, here)

			next := Granted(t, first) // within patience: not at the next renewal, nor at the end of the lease
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
			Receive(t, hold.Done())
			require.NotEqual(t, hold.ID(), next.ID())
			require.Equal(t, map[string]string{next.ID(): "1"}, s.Hash("n"))
			RequireNoReply(t, second, 50*time.Millisecond)
			require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
			Unlock(t, next)
			Unlock(t, Granted(t, second))
		})
	}
}

func ForceUnlock(t *testing.T, m lockwheel.Mutex) {
	t.Helper()
	was, err := m.ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, was)
}

func TestAForcedUnlockWakesWaitersElsewhere(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	holder, waiter, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	hold := Lock(t, holder.Mutex("n"))
	waiting := Locking(t.Context(), waiter.Mutex("n"))
	RequireWaiting(t, waiter, 1, 1)
	ForceUnlock(t, other.Mutex("n"))
	next := Granted(t, waiting)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	require.Equal(t, map[string]string{next.ID(): "1"}, s.Hash("n"))
	Unlock(t, next)
}

// Many calls on a busy lock: each ForceUnlock takes the lock from at most one holder, and each loss is reported.
func TestForcedUnlocksAmongManyHolders(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	engines := []*lockwheel.Engine{s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})}
	Crowd(t, 12, func(i int) error {
		m := engines[i%2].Mutex("n")
		for range 20 {
			if i < 2 {
				if _, err := m.ForceUnlock(t.Context()); err != nil {
					return err
				}
				ShortRun()
				continue
			}
			hold, err := m.Lock(t.Context())
			if err != nil {
				return err
			}
			ShortRun()
			_ = hold.Unlock(t.Context()) // nil, or ErrLost after a ForceUnlock
		}
		return nil
	})
	require.False(t, s.Exists("n"))
	for _, e := range engines {
		RequireIdle(t, e)
		stats := e.Stats()
		require.Equal(t, stats.Acquired, stats.Released+stats.Lost)
	}
}

// ForceUnlock itself ends the holder's context, and does not take that as the end of its wait.
func TestAHolderCanForceItsOwnLockWithItsContext(t *testing.T) {
	t.Parallel()
	for what, within := range map[string]func(t *testing.T, m lockwheel.Mutex, h *lockwheel.Hold) context.Context{
		"its context": func(_ *testing.T, _ lockwheel.Mutex, h *lockwheel.Hold) context.Context { return h.Context() },
		"that of a re-entry": func(t *testing.T, m lockwheel.Mutex, h *lockwheel.Hold) context.Context {
			return LockWith(t, h.Context(), m).Context()
		},
		"one without its owner": func(_ *testing.T, _ lockwheel.Mutex, h *lockwheel.Hold) context.Context {
			return lockwheel.WithoutOwner(h.Context())
		},
		"one with a deadline": func(t *testing.T, _ lockwheel.Mutex, h *lockwheel.Hold) context.Context {
			ctx, cancel := context.WithTimeout(h.Context(), time.Minute)
			t.Cleanup(cancel)
			return ctx
		},
	} {
		for kind, of := range map[string]func(e *lockwheel.Engine) lockwheel.Mutex{
			"plain": func(e *lockwheel.Engine) lockwheel.Mutex { return e.Mutex("n") },
			"fair":  func(e *lockwheel.Engine) lockwheel.Mutex { return e.FairMutex("n") },
			"write": func(e *lockwheel.Engine) lockwheel.Mutex { return e.RWMutex("n").Writer() },
			"read":  func(e *lockwheel.Engine) lockwheel.Mutex { return e.RWMutex("n").RLocker() },
		} {
			t.Run(what+", "+kind, func(t *testing.T) {
				t.Parallel()
				s := AnyServer(t)
				m := of(s.Open(lockwheel.Options{}))
				hold := Lock(t, m)
				was, err := m.ForceUnlock(within(t, m, hold))
				require.NoError(t, err)
				require.True(t, was)
				require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
			})
		}
	}
}

func TestAHolderOfSeveralCanForceOneOfThemWithItsContext(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.Open(lockwheel.Options{})
	hold := LockAll(t, e.Multi(e.Mutex("a"), e.Mutex("b")))
	was, err := e.Mutex("b").ForceUnlock(hold.Context())
	require.NoError(t, err)
	require.True(t, was)
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
}

// The context that the hold was locked with and a deadline still end the wait.
func TestAHolderWhoForcesItsLockWaitsNoLongerThanItsCallerDoes(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(t *testing.T, e *lockwheel.Engine, m lockwheel.Mutex) (ctx context.Context, leave func()){
		"the context of the Lock": func(t *testing.T, e *lockwheel.Engine, m lockwheel.Mutex) (context.Context, func()) {
			ctx, cancel := context.WithCancel(t.Context())
			t.Cleanup(cancel)
			return LockWith(t, ctx, m).Context(), cancel
		},
		"a deadline": func(t *testing.T, e *lockwheel.Engine, m lockwheel.Mutex) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(Lock(t, m).Context(), 200*time.Millisecond)
			t.Cleanup(cancel)
			return ctx, func() {}
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := RealServer(t)
			e := s.Open(lockwheel.Options{Lease: time.Hour, CallTimeout: 10 * time.Minute})
			m := e.Mutex("n")
			ctx, leave := end(t, e, m)
			require.NoError(t, s.Real.Pause())
			forced := make(chan error, 1)
			go func() { _, err := m.ForceUnlock(ctx); forced <- err }()
			<-ctx.Done()
			leave()
			require.ErrorIs(t, Receive(t, forced), lockwheel.ErrUnavailable)
			require.NoError(t, s.Real.Continue())
		})
	}
}
