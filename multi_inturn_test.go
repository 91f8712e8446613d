package lockwheel_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// lockSequential returns a Multi of two locks that no script acquires together.
func inTurn(e *lockwheel.Engine) lockwheel.Multi {
	return e.Multi(e.Mutex("b"), e.FencedMutex("a"))
}

// Locks are acquired in the order of their names, not in the order given: callers of the same locks do not deadlock.
func TestNoLaterPartIsKeptWhileAnEarlierOneIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	hold := Lock(t, other.FencedMutex("a"))
	for _, m := range []lockwheel.Multi{e.Multi(e.FencedMutex("a"), e.FencedMutex("b")), e.Multi(e.FencedMutex("b"), e.FencedMutex("a"))} {
		ctx, leave := context.WithCancel(t.Context())
		waiting := LockingAll(ctx, m)
		Eventually(t, "it to wait", func() bool { return Listens(e) })
		Always(t, 50*time.Millisecond, "b to be free", func() bool { return !s.Exists("b") })
		leave()
		require.Error(t, Receive(t, waiting).Err)
		RequireIdle(t, e)
	}
	Unlock(t, hold)
}

// The owner of one part waits for an earlier part that a Multi holds, and the Multi waits for that owner. If the
// Multi held its part for ever, both would deadlock.
func TestAnOwnerOfOnePartIsNotKeptFromTheOthers(t *testing.T) {
	t.Parallel()
	t.Run("in turn", func(t *testing.T) {
		t.Parallel()
		s := RealServer(t)
		e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
		for _, owner := range []*lockwheel.Engine{e, other} {
			b := Lock(t, owner.Mutex("b"))
			waiting := LockingAll(t.Context(), inTurn(e))
			Eventually(t, "the first to be kept", func() bool { return s.Exists("a") })
			a := Lock(t, owner.FencedMutex("a"))
			Unlock(t, a)
			Unlock(t, b)
			Unlock(t, Granted(t, waiting))
		}
		RequireIdle(t, e)
	})
	t.Run("together", func(t *testing.T) {
		t.Parallel()
		s := RealServer(t)
		e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
		ctx, stop := context.WithTimeout(t.Context(), 4*TestDeadline)
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
			again(ctx, t, func() (*lockwheel.Hold, error) { return Multi(e, "a", "b", "c").Lock(ctx) }, &had)
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
func TestAPartThatIsLostBeforeAllAreHadIsNoLoss(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	for _, opts := range [][]lockwheel.Option{nil, {lockwheel.Lease(time.Minute)}} {
		for range 3 {
			b := Lock(t, other.Mutex("b"))
			waiting := LockingAll(t.Context(), inTurn(e), opts...)
			Eventually(t, "the first to be taken", func() bool {
				was, err := e.FencedMutex("a").ForceUnlock(t.Context())
				return err == nil && was
			})
			Unlock(t, b)
			Unlock(t, Granted(t, waiting))
		}
	}

	RequireIdle(t, e)

	// It is no loss even if Lock reports one for a part, because its owner has reached MaxHold.
	short := s.Open(lockwheel.Options{MaxHold: 20 * time.Millisecond})
	hold := Lock(t, short.Mutex("b"), lockwheel.Lease(time.Minute))
	Eventually(t, "MaxHold to be over", func() bool {
		inner, err := short.Mutex("b").TryLock(hold.Context())
		if err == nil {
			_ = inner.Unlock(t.Context()) // it may have ended by now
		}
		return errors.Is(err, lockwheel.ErrLost)
	})
	for _, wait := range []time.Duration{0, time.Second} {
		_, err := inTurn(short).Lock(hold.Context(), lockwheel.Wait(wait))
		require.ErrorIs(t, err, lockwheel.ErrUnavailable)
		require.NotErrorIs(t, err, lockwheel.ErrLost)
		require.ErrorContains(t, err, "MaxHold")
	}
	Unlock(t, hold)
}

// The context ends between the last grant and the lease that all locks should have.
func TestAMultiInTurnWhoseCallerLeavesAtTheLeaseLeavesNothing(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	p := proxy.Start(t, s.Addr)
	e := s.OpenAt(p.Addr(), lockwheel.Options{})
	Unlock(t, LockAll(t, inTurn(e)))
	left := 0
	for range 5 {
		p.Set(proxy.Commands, proxy.Delay(50*time.Millisecond))
		ctx, leave := context.WithCancel(t.Context())
		waiting := LockingAll(ctx, inTurn(e), lockwheel.Lease(time.Minute))
		Eventually(t, "the last grant", func() bool { return s.Exists("b") })
		Eventually(t, "the engine to know", func() bool { return e.Stats().Held == 2 })
		leave()
		if got := Receive(t, waiting); got.Err == nil {
			Unlock(t, got.Hold)
		} else {
			left++
		}
		require.NoError(t, p.Heal())
		Eventually(t, "nothing left", func() bool { return !s.Exists("a") && !s.Exists("b") })
	}
	require.NotZero(t, left)
	RequireIdle(t, e)
}

// However close the result and the end of the context are, what Lock returns is held.
func TestAMultiThatIsReturnedWasNotGivenUp(t *testing.T) {
	t.Parallel()
	returnsWhatIsHeld(t, func(e *lockwheel.Engine) lockable { return Multi(e, "a", "b") })
}

func TestALockThatIsReturnedWasNotGivenUp(t *testing.T) {
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
	s := AnyServer(t)
	e := s.Open(lockwheel.Options{})
	given, returned, after := 0, 0, 100*time.Microsecond
	for deadline := time.Now().Add(TestDeadline); given+returned < 100 || given == 0 || returned == 0; {
		require.Less(t, time.Now(), deadline, "given up %d times, returned %d times", given, returned)
		ctx, leave := context.WithCancel(t.Context())
		timer := time.AfterFunc(after, leave)
		if hold, err := of(e).Lock(ctx); err == nil {
			returned++
			after = after * 9 / 10
			e.Stats() // after the messages that the loop received before
			require.NoError(t, hold.Err())
			Unlock(t, hold)
		} else {
			require.ErrorIs(t, err, context.Canceled)
			given++
			after = after*11/10 + time.Microsecond
		}
		timer.Stop()
		leave()
		Eventually(t, "nothing left", func() bool { return s.Do("DBSIZE") == int64(0) })
	}
	RequireIdle(t, e)
}
