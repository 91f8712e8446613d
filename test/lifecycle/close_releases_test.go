package lifecycle_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// A program ends after its context was canceled: Unlock gives up its wait at once, and then Close stops the engine. The
// lock that was unlocked is free when Close returns, and not only when its lease ends.
func TestClose_AfterUnlock_LockIsFree(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	for name, unlock := range map[string]func(*lockwheel.Hold, context.Context){
		"unlock with an ended context": func(h *lockwheel.Hold, ctx context.Context) { h.Unlock(ctx) },
		"unlock without waiting":       func(h *lockwheel.Hold, _ context.Context) { h.UnlockAsync() },
	} {
		for range 30 {
			e := s.Open(lockwheel.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			one := locktest.LockWith(t, ctx, e.Mutex("n"))
			several, err := e.Multi(e.Mutex("a"), e.Mutex("b")).Lock(ctx)
			require.NoError(t, err)
			cancel()
			unlock(several, ctx)
			unlock(one, ctx)
			require.NoError(t, e.Close())
			require.False(t, s.Exists("n"), name)
			require.False(t, s.Exists("a") || s.Exists("b"), "several: "+name)
		}
	}
}

// An inner hold with a long lease was unlocked. When Close returns, the key has at most the lease that the outer hold
// needs, so that others wait no longer.
func TestClose_InnerHoldUnlocked_OuterLeaseKept(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	const lease = 30 * time.Second // on a busy machine a round takes seconds, and the outer lease must not end
	for name, unlock := range map[string]func(*lockwheel.Hold){
		"unlock":                 func(h *lockwheel.Hold) { locktest.Unlock(t, h) },
		"unlock without waiting": func(h *lockwheel.Hold) { h.UnlockAsync() },
	} {
		for _, opts := range [][]lockwheel.Option{nil, {lockwheel.Lease(lease / 2)}} {
			for range 10 {
				e := s.Open(lockwheel.Options{Lease: lease})
				outer := locktest.Lock(t, e.Mutex("n"), opts...)
				unlock(locktest.LockWith(t, context.WithoutCancel(outer.Context()), e.Mutex("n"), lockwheel.Lease(locktest.Longer)))
				require.NoError(t, e.Close())
				require.True(t, s.Exists("n"), name)
				require.LessOrEqual(t, s.PTTL("n"), lease+time.Second, name)
				s.Do("DEL", "n")
			}
		}
	}
}

// Very many locks are released one part after the other. Close waits for all parts, also if no caller waits for them.
func TestClose_ManyUnlockedAsync_NoneLeft(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	for range 5 {
		e := s.Open(lockwheel.Options{})
		locks := make([]lockwheel.Mutex, 3000)
		for i := range locks {
			locks[i] = e.Mutex(fmt.Sprintf("n%04d", i))
		}
		hold, err := e.Multi(locks...).Lock(t.Context())
		require.NoError(t, err)
		hold.UnlockAsync()
		require.NoError(t, e.Close())
		for _, m := range locks {
			require.False(t, s.Exists(m.Name()))
		}
	}
}

// A grant of LockAsync that was canceled before the close is given back.
func TestClose_AfterCancel_GrantReleased(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	pending := e.Mutex("n").LockAsync(t.Context())
	locktest.Receive(t, pending.Done())
	pending.Cancel()
	require.NoError(t, e.Close())
	require.False(t, s.Exists("n"))
}

// A lock that is granted after its caller gave up is free when Close returns. The close waits for the reply, and for
// that of the release.
func TestClose_CallerGaveUp_GrantReleased(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]func(context.Context, *lockwheel.Engine) error{
		"plain":  func(ctx context.Context, e *lockwheel.Engine) error { return give(e.Mutex("n").Lock(ctx)) },
		"fenced": func(ctx context.Context, e *lockwheel.Engine) error { return give(e.FencedMutex("n").Lock(ctx)) },
		"fair":   func(ctx context.Context, e *lockwheel.Engine) error { return give(e.FairMutex("n").Lock(ctx)) },
		"writer": func(ctx context.Context, e *lockwheel.Engine) error { return give(e.RWMutex("n").Lock(ctx)) },
		"reader": func(ctx context.Context, e *lockwheel.Engine) error { return give(e.RWMutex("n").RLocker().Lock(ctx)) },
		"several": func(ctx context.Context, e *lockwheel.Engine) error {
			return give(e.Multi(e.Mutex("n"), e.Mutex("{n}")).Lock(ctx))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.AnyServer(t)
			p := proxy.Start(t, s.Addr)
			e := s.OpenAt(p.Addr(), lockwheel.Options{CallTimeout: 10 * time.Second})
			require.NoError(t, lock(t.Context(), e)) // the scripts are known, and there are connections
			p.Set(proxy.Replies, proxy.Hold)
			ctx, cancel := context.WithCancel(t.Context())
			asked := make(chan error, 1)
			go func() { asked <- lock(ctx, e) }()
			locktest.Eventually(t, "the lock in the server", func() bool { return s.Exists("n") })
			cancel()
			require.ErrorIs(t, locktest.Receive(t, asked), context.Canceled)
			closed := make(chan error, 1)
			go func() { closed <- e.Close() }()
			locktest.RequireNoReply(t, closed, 50*time.Millisecond)
			p.Set(proxy.Replies, proxy.Pass)
			require.NoError(t, locktest.Receive(t, closed))
			s.Do("DEL", "redisson_lock_token:{n}") // that of a fenced lock stays by design
			require.EqualValues(t, 0, s.Do("DBSIZE"))
		})
	}
}

// give unlocks what was locked and returns the error of the lock.
func give(h *lockwheel.Hold, err error) error {
	if err == nil {
		err = h.Unlock(context.Background())
	}
	return err
}

// Callers that all give up at once, each at its own step, leave nothing when the engine is closed after them.
func TestClose_ManyGaveUp_NothingLeft(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{CallTimeout: 10 * time.Second})
	var all []*lockwheel.Pending
	for i := range 3000 {
		all = append(all, e.Mutex(fmt.Sprint("n", i)).LockAsync(t.Context()))
	}
	for _, p := range all {
		p.Cancel()
	}
	require.NoError(t, e.Close())
	require.EqualValues(t, 0, s.Do("DBSIZE"))
}

// A quorum is granted and unlocked by the quicker servers. What the slower one grants then is free as well when its
// engine is closed.
func TestClose_QuorumUnlocked_NothingLeft(t *testing.T) {
	t.Parallel()
	servers := locktest.NewServerSet(t, 3)
	slow := proxy.Start(t, servers[2].Addr)
	slow.Set(proxy.Replies, proxy.Delay(20*time.Millisecond))
	for range 10 {
		engines := servers[:2].Client(lockwheel.Options{})
		engines = append(engines, servers[2].OpenAt(slow.Addr(), lockwheel.Options{}))
		require.NoError(t, locktest.Quorum(engines, "n").Do(t.Context(), func(context.Context) error { return nil }))
		for _, e := range engines {
			require.NoError(t, e.Close())
		}
		require.Zero(t, servers.Holders("n"))
	}
}

// A call for several locks has some of them, and waits for the last. Close ends its wait, and what it had is free.
func TestClose_MultiWaits_PartsReleased(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	other := s.Open(lockwheel.Options{})
	last := locktest.Lock(t, other.Mutex("z"))
	for had, round := 0, 0; had < 10; round++ {
		require.Less(t, round, 100, "the call never has the first two")
		e := s.Open(lockwheel.Options{})
		m := e.Multi(e.FencedMutex("a"), e.FencedMutex("b"), e.Mutex("z"))
		waiting := make(chan error, 1)
		go func() {
			_, err := m.Lock(t.Context())
			waiting <- err
		}()
		// It gives them back after a part of a second, which a busy machine may sleep through: then once more.
		locktest.Eventually(t, "the first two, now or before", func() bool {
			if s.Exists("a") && s.Exists("b") {
				had++
				return true
			}
			return e.Stats().Released == 2
		})
		require.NoError(t, e.Close())
		require.ErrorIs(t, locktest.Receive(t, waiting), lockwheel.ErrClosed)
		require.False(t, s.Exists("a") || s.Exists("b"))
	}
	locktest.Unlock(t, last)
}

// A quorum has one server, and waits for the others. All its engines are closed at once: what it had is free.
func TestClose_QuorumWaits_PartsReleased(t *testing.T) {
	t.Parallel()
	servers := locktest.NewServerSet(t, 3)
	for round := range 10 {
		name := fmt.Sprint("n", round)
		engines := servers[:1].Client(lockwheel.Options{})
		for _, s := range servers[1:] {
			slow := proxy.Start(t, s.Addr)
			engines = append(engines, s.OpenAt(slow.Addr(), lockwheel.Options{}))
			slow.Set(proxy.Replies, proxy.Delay(50*time.Millisecond))
		}
		waiting := make(chan error, 1)
		go func() {
			_, err := locktest.Quorum(engines, name).Lock(t.Context())
			waiting <- err
		}()
		locktest.Eventually(t, "the first one", func() bool { return servers[0].Exists(name) })
		var all sync.WaitGroup
		for _, e := range engines {
			all.Go(func() { e.Close() })
		}
		all.Wait()
		if err := locktest.Receive(t, waiting); err != nil { // else the others had replied before
			require.Zero(t, servers.Holders(name))
		}
	}
}

// The connections were closed right before a lock was unlocked. The server is there, and so is the next connection.
func TestClose_ConnectionsCut_LockIsFree(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	p := proxy.Start(t, s.Addr)
	for range 10 {
		e := s.OpenAt(p.Addr(), lockwheel.Options{CallTimeout: 10 * time.Second})
		h := locktest.Lock(t, e.Mutex("n"))
		p.Cut()
		h.UnlockAsync()
		require.NoError(t, e.Close())
		require.False(t, s.Exists("n"))
	}
}

// A hand-off that was canceled at once leaves nothing when the engine is closed after it.
func TestClose_HandOffCanceled_NothingLeft(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	for range 30 {
		e := s.Open(lockwheel.Options{CallTimeout: 10 * time.Second})
		h := locktest.Lock(t, e.Mutex("n"))
		p := e.Mutex("n").LockAsync(t.Context())
		require.NoError(t, h.Unlock(t.Context()))
		p.Cancel()
		require.NoError(t, e.Close())
		require.EqualValues(t, 0, s.Do("DBSIZE"))
	}
}

// The context of a grant that was not taken ends right before the close. The lock is free when Close returns.
func TestClose_ContextEnds_GrantReleased(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	for range 100 {
		e := s.Open(lockwheel.Options{CallTimeout: 10 * time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		locktest.Receive(t, e.Mutex("n").LockAsync(ctx).Done())
		cancel()
		require.NoError(t, e.Close())
		require.EqualValues(t, 0, s.Do("DBSIZE"))
	}
}
