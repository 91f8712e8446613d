package interop

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redisson"
)

// waiters is how many of each side wait in the fair lock's queue.
const waiters = 5

// Each of them waits in the server's queue before the next one comes, so there is one order, and both sides keep
// it.
func TestFairQueue_BothSides_ArrivalOrder(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		s := start(t)
		c, e := s.redisson(nil), s.engine(lockwheel.Options{})
		elsewhere := s.engine(lockwheel.Options{})
		first := c.owner("first")
		first.lock(fair, "n")
		got := make(chan string, 3*waiters)
		var want []string
		arrived := func(name string) {
			want = append(want, name)
			eventually(t, name+" in the queue", func() bool { return s.do("n", "LLEN", "redisson_lock_queue:{n}") == int64(len(want)) })
		}
		for i := range waiters {
			o, name := c.owner(fmt.Sprint(i)), fmt.Sprint("java ", i)
			waiting := o.lockAsync(fair, "n")
			go func() {
				<-waiting
				got <- name
				<-o.send("unlock", fair, "n", nil)
			}()
			arrived(name)
			for what, from := range map[string]*lockwheel.Engine{"go": e, "elsewhere": elsewhere} {
				name := fmt.Sprint(what, " ", i)
				waiting := locktest.Locking(t.Context(), from.FairMutex("n"))
				go func() {
					if o := <-waiting; o.Err == nil {
						got <- name
						_ = o.Hold.Unlock(t.Context())
					}
				}()
				arrived(name)
			}
		}
		first.unlock(fair, "n")
		for _, name := range want {
			require.Equal(t, name, receive(t, got))
		}
		requireNoKeys(t, s, "n")
	})
}

// A waiter that gives up leaves the queue, and those behind it do not wait for it.
func TestFairQueue_WaiterLeaves_OthersGranted(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		s := start(t)
		c, e := s.redisson(nil), s.engine(lockwheel.Options{})
		length := func(n int64) {
			eventually(t, fmt.Sprint(n, " in the queue"), func() bool { return s.do("n", "LLEN", "redisson_lock_queue:{n}") == n })
		}
		const wait = 4 * time.Second // until all three are in the queue
		holder, short, last := c.owner("holder"), c.owner("short"), c.owner("last")
		holder.lock(fair, "n")
		theirs := short.send("tryLock", fair, "n", map[string]string{"wait": milliseconds(wait)})
		length(1)
		ours := locktest.Locking(t.Context(), e.FairMutex("n"), lockwheel.Wait(wait))
		length(2)
		waiting := last.lockAsync(fair, "n")
		length(3)
		require.Equal(t, "false", receive(t, theirs).Fields["got"])
		require.ErrorIs(t, receive(t, ours).Err, lockwheel.ErrNotAcquired)
		length(1)
		holder.unlock(fair, "n")
		requireSuccess(t, waiting)
		last.unlock(fair, "n")
		requireNoKeys(t, s, "n")
	})
}

// The keys of a queue of our side have a TTL, which Redisson does not know. With a waiter of Redisson in it the
// queue has none, and that waiter gets the lock when all of ours are dead.
func TestFairQueue_OursDead_JavaWaiterGranted(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		s := start(t)
		shortLease := lockwheel.Options{Lease: 2 * time.Second} // Redisson sleeps for as long as holder and place may live
		c, lives := s.redisson(nil), s.engine(shortLease)
		dies, die := s.mortalEngine(shortLease)
		hold := requireGranted(t, locktest.Locking(t.Context(), lives.FairMutex("n")))
		waiting := locktest.Locking(t.Context(), dies.FairMutex("n"))
		ends := func() bool { return s.pttl("redisson_lock_queue:{n}") > 0 && s.pttl("redisson_lock_timeout:{n}") > 0 }
		eventually(t, "a queue that ends", ends)
		theirs := c.owner("theirs")
		theirsWaits := theirs.lockAsync(fair, "n")
		eventually(t, "both in the queue", func() bool { return s.do("n", "LLEN", "redisson_lock_queue:{n}") == int64(2) })
		eventually(t, "a queue that stays, when ours has asked again", func() bool {
			return s.pttl("redisson_lock_queue:{n}") == -1 && s.pttl("redisson_lock_timeout:{n}") == -1
		})
		die()
		locktest.Unlock(t, hold)
		requireSuccess(t, theirsWaits)
		require.NoError(t, dies.Close())
		require.ErrorIs(t, receive(t, waiting).Err, lockwheel.ErrClosed)
		theirs.unlock(fair, "n")
		require.Equal(t, []string{"redisson_lock_places:{n}"}, s.keysLeft("n"), "what Redisson knows nothing of")
		require.Positive(t, s.pttl("redisson_lock_places:{n}"))
	})
}

// A waiter that came when all of ours were dead may lose its queue. It loses its turn, and nothing else: it asks
// again and gets a place.
func TestFairQueue_QueueGone_JavaPlaceAgain(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		s := start(t)
		c := s.redisson(redisson.Fields{"watchdog": "3000"}) // it asks again when that time is over
		holder, waiter := c.owner("holder"), c.owner("waiter")
		holder.lock(fair, "n")
		waiting := waiter.lockAsync(fair, "n")
		length := func() bool { return s.do("n", "LLEN", "redisson_lock_queue:{n}") == int64(1) }
		eventually(t, "it in the queue", length)
		require.Equal(t, int64(1), s.do("n", "PEXPIRE", "redisson_lock_queue:{n}", 1))
		require.Equal(t, int64(1), s.do("n", "PEXPIRE", "redisson_lock_timeout:{n}", 1))
		// It may be gone for a moment only. A queue without a TTL is a new one.
		eventually(t, "it in another queue", func() bool { return length() && s.pttl("redisson_lock_queue:{n}") == -1 })
		holder.unlock(fair, "n")
		requireSuccess(t, waiting)
		waiter.unlock(fair, "n")
		requireNoKeys(t, s, "n")
	})
}
