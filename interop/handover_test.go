package interop

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// One side holds, the other one waits, and the message of the release wakes it: leases are of 30s, patience is of
// 8s.

// A waiter of Go is woken by the message of Java's unlock.
func TestJavaHolds_GoWaits_WokenByMessage(t *testing.T) {
	t.Parallel()
	everyExclusion(t, func(t *testing.T, s *testEnv, x exclusion) {
		holder, e := s.redisson(nil).owner("holder"), s.engine(lockwheel.Options{})
		m := x.wanted.mutex(e, "n")
		holder.lock(x.held, "n")
		locktest.StateFailed(t, m)
		waiting := locktest.Locking(t.Context(), m)
		awaitWaiting(t, e)
		locktest.RequireNoReply(t, waiting, 50*time.Millisecond)
		require.Greater(t, s.pttl("n"), 2*testDeadline.Milliseconds())
		holder.unlock(x.held, "n")
		hold := requireGranted(t, waiting)
		require.False(t, holder.tryLock(x.held, "n", 0))
		locktest.Unlock(t, hold)
		require.True(t, holder.tryLock(x.held, "n", 0))
		holder.unlock(x.held, "n")
	})
}

// A waiter of Java is woken by the message of Go's unlock.
func TestGoHolds_JavaWaits_WokenByMessage(t *testing.T) {
	t.Parallel()
	everyExclusion(t, func(t *testing.T, s *testEnv, x exclusion) {
		waiter, e := s.redisson(nil).owner("waiter"), s.engine(lockwheel.Options{})
		m := x.held.mutex(e, "n")
		hold := locktest.Lock(t, m)
		require.False(t, waiter.tryLock(x.wanted, "n", 0))
		waiting := waiter.lockAsync(x.wanted, "n")
		awaitListening(t, s, "n", waiting)
		require.Greater(t, s.pttl("n"), 2*testDeadline.Milliseconds())
		locktest.Unlock(t, hold)
		requireSuccess(t, waiting)
		locktest.StateFailed(t, m)
		waiter.unlock(x.wanted, "n")
		locktest.Unlock(t, locktest.Lock(t, m))
	})
}

// Waiters of both sides, in every position: each release wakes a waiter.
func TestWaiters_BothSides_EachGranted(t *testing.T) {
	t.Parallel()
	everyExclusive(t, func(t *testing.T, s *testEnv, k kind) {
		c, e := s.redisson(nil), s.engine(lockwheel.Options{})
		first := c.owner("first")
		first.lock(k, "n")
		grants := make(chan string)
		for _, name := range []string{"a", "b", "c"} {
			o := c.owner(name)
			waiting, release := o.lockAsync(k, "n"), make(chan struct{})
			go func() {
				<-waiting
				grants <- name
				close(release)
			}()
			go func() {
				<-release
				<-o.send("unlock", k, "n", nil)
			}()
			ours := locktest.Locking(t.Context(), k.mutex(e, "n"))
			go func() {
				if got := <-ours; got.Err == nil {
					grants <- "go"
					_ = got.Hold.Unlock(t.Context())
				}
			}()
		}
		eventually(t, "three of ours waiting", func() bool { return e.Stats().Waiting == 3 })
		first.unlock(k, "n")
		stop := keepNotifying(t, k, e, "n")
		defer stop()
		count := map[string]int{}
		for range 6 {
			count[receive(t, grants)]++
		}
		require.Equal(t, map[string]int{"a": 1, "b": 1, "c": 1, "go": 3}, count)
		stop()
		eventually(t, "no holder left", func() bool { return len(s.hash("n")) == 0 })
	})
}

// A wait that ends is not granted the lock, and leaves no key and no channel, on either side.
func TestWait_EndsOnEitherSide_LeavesNothing(t *testing.T) {
	t.Parallel()
	everyExclusion(t, func(t *testing.T, s *testEnv, x exclusion) {
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{})
		held, wanted := x.held.mutex(e, "n"), x.wanted.mutex(e, "n")

		hold := locktest.Lock(t, held)
		require.False(t, o.tryLock(x.wanted, "n", 200*time.Millisecond))
		locktest.Unlock(t, hold)

		o.lock(x.held, "n")
		eventually(t, "an answer within the wait", func() bool {
			_, err := wanted.Lock(t.Context(), lockwheel.Wait(200*time.Millisecond))
			if !errors.Is(err, lockwheel.ErrUnavailable) {
				require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
			}
			return errors.Is(err, lockwheel.ErrNotAcquired)
		})
		o.unlock(x.held, "n")
		requireNoKeys(t, s, "n")
	})
}
