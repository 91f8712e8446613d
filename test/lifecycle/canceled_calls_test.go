package lifecycle_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

var abandonedCalls = flag.Int("abandoned", 20_000, "how many calls are given up during each outage of TestOutage_CallsCanceled_MemoryFreed")

// abandonedHeap is the maximum number of bytes that they may leave: what was in flight when the server went, and spare
// capacity of queues. A queued command without a caller takes 144 bytes, and its lock and its place in the registry 200
// more. For 20 000 of them that was 7 MB.
const abandonedHeap = 3 << 20

// The engine drops the commands of callers that have left at once, also while no server replies. So it uses memory only
// for callers that still wait. The server stays away until the heap is measured. Not parallel: the test counts bytes.
func TestOutage_CallsCanceled_MemoryFreed(t *testing.T) {
	for outage, begin := range map[string]func(*testing.T, *locktest.Server){
		"connections refused": func(t *testing.T, s *locktest.Server) { require.NoError(t, s.Real.Kill()) },
		"a silent server":     func(t *testing.T, s *locktest.Server) { require.NoError(t, s.Real.Pause()) },
	} {
		t.Run(outage, func(t *testing.T) {
			s := locktest.RealServer(t)
			e := s.Open(lockwheel.Options{})
			giveUpMany(t, e, 1000) // to fill pools and open connections
			before := locktest.LiveHeap()
			begin(t, s)
			giveUpMany(t, e, *abandonedCalls)
			require.Zero(t, e.Stats().Waiting)
			left := int64(0)
			for deadline := time.Now().Add(locktest.TestDeadline); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
				if left = int64(locktest.LiveHeap()) - int64(before); left < abandonedHeap {
					break
				}
			}
			stats := e.Stats()
			t.Logf("%d calls given up, %d KiB left, %d timers", *abandonedCalls, left>>10, stats.Timers)
			require.Less(t, left, int64(abandonedHeap))
		})
	}
}

// giveUpMany requests names without competition, with every method, and waits for a few milliseconds each.
func giveUpMany(t *testing.T, e *lockwheel.Engine, n int) {
	t.Helper()
	const workers = 256
	locktest.Crowd(t, workers, func(w int) error {
		for i := w; i < n; i += workers {
			if err := giveUpOne(t.Context(), e, i); err != nil && !errors.Is(err, lockwheel.ErrUnavailable) && !errors.Is(err, lockwheel.ErrNotAcquired) {
				return err
			}
		}
		return nil
	})
}

func giveUpOne(ctx context.Context, e *lockwheel.Engine, i int) error {
	name := fmt.Sprint("orders/", rand.Uint64())
	m := []lockwheel.Mutex{e.Mutex(name), e.FencedMutex(name), e.FairMutex(name), e.RWMutex(name).Writer(), e.RWMutex(name).RLocker()}[i/4%5]
	soon := time.Duration(5+rand.IntN(15)) * time.Millisecond
	var (
		hold *lockwheel.Hold
		err  error
	)
	switch i % 4 {
	case 0:
		hold, err = m.Lock(ctx, lockwheel.Wait(soon))
	case 1:
		ctx, cancel := context.WithTimeout(ctx, soon)
		defer cancel()
		hold, err = m.TryLock(ctx)
	case 2:
		ctx, cancel := context.WithTimeout(ctx, soon)
		defer cancel()
		hold, err = e.Multi(m, e.Mutex(name+"/2")).Lock(ctx)
	case 3:
		pending := m.LockAsync(ctx, lockwheel.Wait(soon))
		<-pending.Done()
		hold, err = pending.Hold()
	}
	if err != nil {
		return err
	}
	return hold.Unlock(ctx)
}
