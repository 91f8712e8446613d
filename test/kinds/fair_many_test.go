package kinds_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
)

// lockAsyncMany posts n callers of a fair lock, and waits until each has a place in the queue. The engine takes so many
// of them at a time that the queue to its server stays short, so it posts them in pieces.
func lockAsyncMany(t *testing.T, s *locktest.Server, m lockwheel.Mutex, n int) []*lockwheel.Pending {
	waiting := make([]*lockwheel.Pending, n)
	for i := range waiting {
		waiting[i] = m.LockAsync(t.Context())
	}
	locktest.CheckRange(t, time.Minute, "a place for each", func() bool { return s.Waiting(m.Name()) >= n })
	return waiting
}

// Many waiters of one engine keep their places and their order. All of them could not be renewed in time if their
// places lived for FairWaitTimeout only.
func TestFairQueue_ManyWaitersShortTimeout_OrderKept(t *testing.T) {
	s := locktest.RealServer(t)
	n := long.Pick(10_000, 100_000)
	if locktest.RaceEnabled { // 100 000 of them would leave the engine no time beside other tests
		n = 10_000
	}
	timeout := time.Duration(n) * 10 * time.Microsecond
	holder, e := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{FairWaitTimeout: timeout})
	hold := locktest.Lock(t, holder.FairMutex("n"))
	waiting := lockAsyncMany(t, s, e.FairMutex("n"), n)
	queue := s.Do("LRANGE", "redisson_lock_queue:{n}", 0, -1)
	locktest.Always(t, 20*timeout, "the queue as it is", func() bool {
		locktest.Pause(context.Background(), timeout)
		return reflect.DeepEqual(queue, s.Do("LRANGE", "redisson_lock_queue:{n}", 0, -1))
	})
	granted := make(chan *lockwheel.Hold, n)
	for _, p := range waiting {
		go func() {
			<-p.Done()
			if hold, err := p.Hold(); err == nil { // otherwise the test is over
				granted <- hold
			}
		}()
	}
	locktest.Unlock(t, hold)
	// While few waited, a busy machine may have made some of them lose their order. From then on it is that of the queue.
	for _, id := range queue.([]any)[:100] {
		first := locktest.ReceiveWithin(t, time.Minute, granted) // beside the renewals of so many, on a busy machine, seconds
		require.Equal(t, id, first.ID())
		locktest.Unlock(t, first)
	}
	require.NoError(t, e.Close())
}
