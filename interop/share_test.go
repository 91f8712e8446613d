package interop

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redisson"
)

// share is how the two sides shared a lock that both want all the time.
type share struct {
	java, ours int
	longest    time.Duration // longest wait of a thread of Java
	our        time.Duration // longest wait of ours
}

// shareLock has the given number of Java threads and of our goroutines take a lock in turns, each for a moment.
func (s *testEnv) shareLock(t *testing.T, k kind, opts lockwheel.Options, workers int, d time.Duration) (got share) {
	t.Helper()
	c, m := s.redisson(nil), s.engine(opts).Mutex("n")
	theirs := c.process.Send("turns", redisson.Fields{
		"client": c.name, "kind": k.java, "name": "n", "workers": strconv.Itoa(workers), "hold": "1", "ms": strconv.FormatInt(d.Milliseconds(), 10),
	})
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var wg sync.WaitGroup
	grants, waits := make([]int, workers), make([]time.Duration, workers)
	for i := range workers {
		wg.Go(func() {
			for {
				asked := time.Now()
				hold, err := m.Lock(ctx)
				waits[i] = max(waits[i], time.Since(asked))
				if err != nil {
					return
				}
				grants[i]++
				time.Sleep(time.Millisecond)
				_ = hold.Unlock(context.WithoutCancel(ctx))
			}
		})
	}
	wg.Wait()
	answer := locktest.ReceiveWithin(t, d+time.Minute, theirs)
	require.NoError(t, answer.Err)
	pairs, err := strconv.Atoi(answer.Fields["pairs"])
	require.NoError(t, err)
	longest, err := strconv.ParseInt(answer.Fields["longest"], 10, 64)
	require.NoError(t, err)
	got.java, got.longest = pairs, time.Duration(longest)
	for i := range workers {
		got.ours, got.our = got.ours+grants[i], max(got.our, waits[i])
	}
	t.Logf("Java %d grants, longest wait %v; ours %d, %v", got.java, got.longest, got.ours, got.our)
	return got
}

// Java's spin lock never listens, so its wait cannot be noticed. Not parallel: it keeps the processor busy all the
// time.
func TestSpinLock_BesideGoPollers_HasItsShare(t *testing.T) {
	got := standalone(t).shareLock(t, spin, lockwheel.Options{Notify: lockwheel.Poll}, 4, 15*time.Second)
	require.GreaterOrEqual(t, 3*got.java, got.ours, "a quarter")
	require.GreaterOrEqual(t, 9*got.ours, got.java, "a tenth")
	// A spinner needs luck among others of its kind. TestSpinners_BesidePolling_WaitBounded of package
	// actor asserts how long that takes, in simulated time. A machine that is busy with other work makes half of
	// the progress, or less.
	slow := max(1, 6000/float64(got.java+got.ours))
	require.Less(t, got.longest, time.Duration(slow*float64(5*time.Second)))
}

// Java's plain lock listens, as ours does.
func TestJavaLock_BesideGoWaiters_HasItsShare(t *testing.T) {
	got := standalone(t).shareLock(t, plain, lockwheel.Options{}, 4, 8*time.Second)
	require.GreaterOrEqual(t, 9*got.java, got.ours, "a tenth")
	require.GreaterOrEqual(t, 9*got.ours, got.java, "a tenth")
	require.Less(t, got.longest, 4*time.Second)
}
