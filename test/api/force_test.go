package api_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// While an engine holds a lock itself, its own callers queue locally, and none of them asks Redis.
func TestForceUnlock_LocalHolder_WaitersWoken(t *testing.T) {
	t.Parallel()
	for name, force := range map[string]func(t *testing.T, s *locktest.Server, here *lockwheel.Engine){
		"here": func(t *testing.T, _ *locktest.Server, here *lockwheel.Engine) {
			locktest.ForceUnlock(t, here.Mutex("n"))
		},
		"elsewhere": func(t *testing.T, s *locktest.Server, _ *lockwheel.Engine) {
			locktest.ForceUnlock(t, s.Open(lockwheel.Options{}).Mutex("n"))
		},
		"as Redisson does": func(t *testing.T, s *locktest.Server, _ *lockwheel.Engine) {
			require.Equal(t, int64(1), s.Do("DEL", "n"))
			require.Equal(t, int64(1), s.Do("PUBLISH", "redisson_lock__channel:{n}", 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.AnyServer(t)
			here := s.Open(lockwheel.Options{})
			hold := locktest.Lock(t, here.Mutex("n"))
			first := locktest.Locking(t.Context(), here.Mutex("n"))
			locktest.Queued(t, here, 1)
			second := locktest.Locking(t.Context(), here.Mutex("n"))
			locktest.RequireWaiting(t, here, 2, 1)
			force(t, s, here)

			next := locktest.Granted(t, first) // within patience: not at the next renewal, nor at the end of the lease
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
			locktest.Receive(t, hold.Done())
			require.NotEqual(t, hold.ID(), next.ID())
			require.Equal(t, map[string]string{next.ID(): "1"}, s.Hash("n"))
			locktest.RequireNoReply(t, second, 50*time.Millisecond)
			require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
			locktest.Unlock(t, next)
			locktest.Unlock(t, locktest.Granted(t, second))
		})
	}
}

// ForceUnlock wakes a waiter of another engine, and the former holder's Unlock reports the loss.
func TestForceUnlock_OtherEngine_WaiterWoken(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	holder, waiter, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	hold := locktest.Lock(t, holder.Mutex("n"))
	waiting := locktest.Locking(t.Context(), waiter.Mutex("n"))
	locktest.RequireWaiting(t, waiter, 1, 1)
	locktest.ForceUnlock(t, other.Mutex("n"))
	next := locktest.Granted(t, waiting)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	require.Equal(t, map[string]string{next.ID(): "1"}, s.Hash("n"))
	locktest.Unlock(t, next)
}

// Many calls on a busy lock: each ForceUnlock takes the lock from at most one holder, and each loss is reported.
func TestForceUnlock_ManyHolders_OneLossEach(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	engines := []*lockwheel.Engine{s.Open(locktest.SlowTimeouts), s.Open(locktest.SlowTimeouts)}
	locktest.Crowd(t, 12, func(i int) error {
		m := engines[i%2].Mutex("n")
		for range 20 {
			if i < 2 {
				if _, err := m.ForceUnlock(t.Context()); err != nil {
					return err
				}
				locktest.ShortRun()
				continue
			}
			hold, err := m.Lock(t.Context())
			if err != nil {
				return err
			}
			locktest.ShortRun()
			_ = hold.Unlock(t.Context()) // nil, or ErrLost after a ForceUnlock
		}
		return nil
	})
	require.False(t, s.Exists("n"))
	for _, e := range engines {
		locktest.RequireIdle(t, e)
		stats := e.Stats()
		require.Equal(t, stats.Acquired, stats.Released+stats.Lost)
	}
}

// ForceUnlock itself ends the holder's context, and does not take that as the end of its wait.
func TestForceUnlock_OwnContext_Succeeds(t *testing.T) {
	t.Parallel()
	for what, within := range map[string]func(t *testing.T, m lockwheel.Mutex, h *lockwheel.Hold) context.Context{
		"its context": func(_ *testing.T, _ lockwheel.Mutex, h *lockwheel.Hold) context.Context { return h.Context() },
		"that of a re-entry": func(t *testing.T, m lockwheel.Mutex, h *lockwheel.Hold) context.Context {
			return locktest.LockWith(t, h.Context(), m).Context()
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
				s := locktest.AnyServer(t)
				m := of(s.Open(lockwheel.Options{}))
				hold := locktest.Lock(t, m)
				was, err := m.ForceUnlock(within(t, m, hold))
				require.NoError(t, err)
				require.True(t, was)
				require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
			})
		}
	}
}

// A holder of a Multi can force one of its locks with the context of its hold, and loses the Multi.
func TestForceUnlock_MemberOfMulti_OwnContext(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	hold := locktest.LockAll(t, e.Multi(e.Mutex("a"), e.Mutex("b")))
	was, err := e.Mutex("b").ForceUnlock(hold.Context())
	require.NoError(t, err)
	require.True(t, was)
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
}

// The context that the hold was locked with and a deadline still end the wait.
func TestForceUnlock_OwnContext_WaitStillEnds(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(t *testing.T, e *lockwheel.Engine, m lockwheel.Mutex) (ctx context.Context, leave func()){
		"the context of the Lock": func(t *testing.T, e *lockwheel.Engine, m lockwheel.Mutex) (context.Context, func()) {
			ctx, cancel := context.WithCancel(t.Context())
			t.Cleanup(cancel)
			return locktest.LockWith(t, ctx, m).Context(), cancel
		},
		"a deadline": func(t *testing.T, e *lockwheel.Engine, m lockwheel.Mutex) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(locktest.Lock(t, m).Context(), 200*time.Millisecond)
			t.Cleanup(cancel)
			return ctx, func() {}
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			e := s.Open(lockwheel.Options{Lease: time.Hour, CallTimeout: 10 * time.Minute})
			m := e.Mutex("n")
			ctx, leave := end(t, e, m)
			require.NoError(t, s.Real.Pause())
			forced := make(chan error, 1)
			go func() { _, err := m.ForceUnlock(ctx); forced <- err }()
			<-ctx.Done()
			leave()
			require.ErrorIs(t, locktest.Receive(t, forced), lockwheel.ErrUnavailable)
			require.NoError(t, s.Real.Continue())
		})
	}
}
