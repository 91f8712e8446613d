package kinds_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// inTurn returns a Multi of two locks that no script acquires together.
func inTurn(e *lockwheel.Engine) lockwheel.Multi {
	return e.Multi(e.Mutex("b"), e.FencedMutex("a"))
}

// Locks are acquired in the order of their names, not in the order given: callers of the same locks do not deadlock.
func TestMulti_Waiting_NoLaterMemberKept(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	hold := locktest.Lock(t, other.FencedMutex("a"))
	for _, m := range []lockwheel.Multi{e.Multi(e.FencedMutex("a"), e.FencedMutex("b")), e.Multi(e.FencedMutex("b"), e.FencedMutex("a"))} {
		ctx, leave := context.WithCancel(t.Context())
		waiting := locktest.Locking(ctx, m)
		locktest.Eventually(t, "it to wait", func() bool { return locktest.Listens(e) })
		locktest.Always(t, 50*time.Millisecond, "b to be free", func() bool { return !s.Exists("b") })
		leave()
		require.Error(t, locktest.Receive(t, waiting).Err)
		locktest.RequireIdle(t, e)
	}
	locktest.Unlock(t, hold)
}

// The owner of one part waits for an earlier part that a Multi holds, and the Multi waits for that owner. If the
// Multi held its part for ever, both would deadlock.
func TestMulti_OwnerOfMemberWaits_NoDeadlock(t *testing.T) {
	t.Parallel()
	t.Run("in turn", func(t *testing.T) {
		t.Parallel()
		s := locktest.RealServer(t)
		e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
		for _, owner := range []*lockwheel.Engine{e, other} {
			b := locktest.Lock(t, owner.Mutex("b"))
			granted := s.Do("GET", locktest.TokenKeys+"{a}")
			waiting := locktest.Locking(t.Context(), inTurn(e))
			// The token remains; the first is kept for a quarter of a second, in which a busy machine may not look.
			locktest.Eventually(t, "the first to be granted", func() bool { return s.Do("GET", locktest.TokenKeys+"{a}") != granted })
			a := locktest.Lock(t, owner.FencedMutex("a"))
			locktest.Unlock(t, a)
			locktest.Unlock(t, b)
			locktest.Unlock(t, locktest.Granted(t, waiting))
		}
		locktest.RequireIdle(t, e)
	})
	t.Run("together", func(t *testing.T) {
		t.Parallel()
		s := locktest.RealServer(t)
		e, other := s.Open(locktest.SlowTimeouts), s.Open(locktest.SlowTimeouts)
		ctx, stop := context.WithTimeout(t.Context(), 4*locktest.TestDeadline)
		defer stop()
		var all sync.WaitGroup
		// In a deadlock they would reach the first or the second round at most.
		const few = 4
		var had, nested, singles atomic.Int64
		for i := range 4 {
			part := []*lockwheel.Engine{e, other}[i%2].Mutex([]string{"a", "b"}[i/2])
			all.Go(func() {
				again(ctx, t, func() (*lockwheel.Hold, error) { return part.Lock(ctx) }, &singles)
			})
		}
		for _, owner := range []*lockwheel.Engine{e, other} {
			all.Go(func() {
				again(ctx, t, func() (*lockwheel.Hold, error) {
					c, err := owner.Mutex("c").Lock(ctx)
					if err != nil {
						return nil, err
					}
					defer c.Unlock(context.WithoutCancel(ctx))
					return owner.Mutex("a").Lock(ctx)
				}, &nested)
			})
		}
		all.Go(func() {
			again(ctx, t, func() (*lockwheel.Hold, error) { return locktest.Multi(e, "a", "b", "c").Lock(ctx) }, &had)
		})
		for (had.Load() < few || nested.Load() < few) && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		require.NoError(t, ctx.Err(), "the Multi had all %d times, and the owners of c had a %d times", had.Load(), nested.Load())
		stop()
		all.Wait()
	})
}

// The caller held nothing yet, so it has lost nothing.
func TestMulti_MemberLostEarly_NoLoss(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	for _, opts := range [][]lockwheel.Option{nil, {lockwheel.Lease(time.Minute)}} {
		for range 3 {
			b := locktest.Lock(t, other.Mutex("b"))
			waiting := lockingLosesFirst(t, e, opts)
			locktest.Unlock(t, b)
			locktest.Unlock(t, locktest.Granted(t, waiting))
		}
	}

	locktest.RequireIdle(t, e)

}

// A hold that has reached MaxHold is re-entered by a Multi with a lease of its own only, as by a single lock.
func TestMulti_ReentryAfterMaxHold_LeaseOnly(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	// Long enough for a call after one that has failed: until the other part is released, its lease ends with MaxHold.
	short := s.Open(lockwheel.Options{MaxHold: 500 * time.Millisecond, Lease: time.Minute, CallTimeout: 10 * time.Second})
	hold := locktest.Lock(t, short.Mutex("b"), lockwheel.Lease(time.Minute))
	locktest.Eventually(t, "MaxHold to be over", func() bool {
		inner, err := short.Mutex("b").TryLock(hold.Context())
		if err == nil {
			_ = inner.Unlock(t.Context()) // it may have ended by now
		}
		return errors.Is(err, lockwheel.ErrLost)
	})
	for _, wait := range []time.Duration{0, time.Second} {
		for _, all := range []lockwheel.Multi{inTurn(short), locktest.Multi(short, "a", "b")} {
			_, err := all.Lock(hold.Context(), lockwheel.Wait(wait))
			require.ErrorIs(t, err, lockwheel.ErrLost)
			require.NotErrorIs(t, err, lockwheel.ErrUnavailable)
			require.ErrorContains(t, err, "MaxHold")
			again, err := all.Lock(hold.Context(), lockwheel.Wait(wait), lockwheel.Lease(time.Minute))
			require.NoError(t, err)
			locktest.Unlock(t, again)
		}
	}
	locktest.Unlock(t, hold)
	locktest.RequireIdle(t, short)
}

// lockingLosesFirst begins to lock all, and takes the first one away before all are had. The first one is kept for a
// bounded time only, so on a busy machine that may need more than one try.
func lockingLosesFirst(t *testing.T, e *lockwheel.Engine, opts []lockwheel.Option) <-chan locktest.Outcome {
	t.Helper()
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		waiting := locktest.Locking(ctx, inTurn(e), opts...)
		for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); {
			if now := e.Stats(); now.Held == 0 || now.Waiting == 0 {
				time.Sleep(time.Millisecond) // it does not wait for the next one yet
				continue
			}
			was, err := e.FencedMutex("a").ForceUnlock(t.Context())
			require.NoError(t, err)
			if was {
				return waiting
			}
		}
		cancel()
		require.Error(t, locktest.Receive(t, waiting).Err)
	}
	require.FailNow(t, "the first one was never taken")
	return nil
}

// The context ends between the last grant and the lease that all locks should have.
func TestMulti_CanceledAtLease_LeavesNothing(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	e := s.OpenAt(p.Addr(), lockwheel.Options{})
	locktest.Unlock(t, locktest.LockAll(t, inTurn(e)))
	left := 0
	for try := 0; left < 5 && try < 20; try++ { // a busy machine may be too late to leave in that time
		p.Set(proxy.Commands, proxy.Delay(100*time.Millisecond))
		ctx, leave := context.WithCancel(t.Context())
		waiting := locktest.Locking(ctx, inTurn(e), lockwheel.Lease(time.Minute))
		locktest.Eventually(t, "the last grant", func() bool { return s.Exists("b") })
		locktest.Eventually(t, "the engine to know", func() bool { return e.Stats().Held == 2 })
		leave()
		if got := locktest.Receive(t, waiting); got.Err == nil {
			locktest.Unlock(t, got.Hold)
		} else {
			left++
		}
		require.NoError(t, p.Heal())
		locktest.Eventually(t, "nothing left", func() bool { return !s.Exists("a") && !s.Exists("b") })
	}
	require.NotZero(t, left)
	locktest.RequireIdle(t, e)
}

// However close the result and the end of the context are, what Lock returns is held.
func TestMulti_ReturnedAtCancel_Held(t *testing.T) {
	t.Parallel()
	returnsWhatIsHeld(t, func(e *lockwheel.Engine) lockable { return locktest.Multi(e, "a", "b") })
}

// A lock that Lock returns is held, however close the end of the context is.
func TestLock_ReturnedAtCancel_Held(t *testing.T) {
	t.Parallel()
	returnsWhatIsHeld(t, func(e *lockwheel.Engine) lockable { return e.Mutex("a") })
}

// lockable is the common part of Mutex and Multi.
type lockable interface {
	Lock(ctx context.Context, opts ...lockwheel.Option) (*lockwheel.Hold, error)
}

// returnsWhatIsHeld ends a caller's context close to its grant: later after a canceled try, sooner after a successful
// one.
func returnsWhatIsHeld(t *testing.T, of func(*lockwheel.Engine) lockable) {
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	given, returned, after := 0, 0, 100*time.Microsecond
	enough := time.Now().Add(locktest.TestDeadline) // on a busy machine fewer than 100 tries will do
	for given == 0 || returned == 0 || given+returned < 100 && time.Now().Before(enough) {
		late := enough.Add(locktest.TestDeadline)
		require.Less(t, time.Now(), late, "given up %d times, returned %d times", given, returned)
		ctx, leave := context.WithCancel(t.Context())
		timer := time.AfterFunc(after, leave)
		if hold, err := of(e).Lock(ctx); err == nil {
			returned++
			after = after * 9 / 10
			e.Stats() // after the messages that the loop received before
			require.NoError(t, hold.Err())
			locktest.Unlock(t, hold)
		} else {
			require.ErrorIs(t, err, context.Canceled)
			given++
			after = after*11/10 + time.Microsecond
		}
		timer.Stop()
		leave()
		locktest.Eventually(t, "nothing left", func() bool { return s.Do("DBSIZE") == int64(0) })
	}
	locktest.RequireIdle(t, e)
}
