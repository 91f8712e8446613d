package demo

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel"
)

const (
	// maxPending is the maximum number of requests without a result yet, and so bounds their memory.
	maxPending = 1 << 14
	// releasers is the number of goroutines that unlock: enough for the engine to send large batches.
	releasers = 1024
)

// acquire acquires n locks, and waits at most the given time for each. Waiting needs no goroutine, so it sends many
// requests and then collects their results. When ctx ends, or after the first error, it returns the holds that it
// has.
func acquire(ctx context.Context, from *lockwheel.Engine, n int, wait time.Duration) (holds []*lockwheel.Hold, err error) {
	holds = make([]*lockwheel.Hold, 0, n)
	for len(holds) < n {
		asked := make([]*lockwheel.Pending, min(n-len(holds), maxPending))
		for i := range asked {
			asked[i] = from.Mutex(fmt.Sprintf("kept/%d", len(holds)+i)).LockAsync(ctx, lockwheel.Wait(wait))
		}
		holds, err = collect(holds, asked)
		if ctx.Err() != nil {
			return holds, nil
		}
		if err != nil {
			return holds, err
		}
	}
	return holds, nil
}

// collect adds the holds of the requests, and returns the first error.
func collect(holds []*lockwheel.Hold, asked []*lockwheel.Pending) ([]*lockwheel.Hold, error) {
	var first error
	for _, p := range asked {
		<-p.Done()
		hold, err := p.Hold()
		switch {
		case err == nil:
			holds = append(holds, hold)
		case first == nil:
			first = err
		}
	}
	return holds, first
}

// release unlocks all holds. A lost lock is reported here at the latest.
func release(holds []*lockwheel.Hold, to *faults) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(releasers, len(holds)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(holds)); i = next.Add(1) - 1 {
				if err := holds[i].Unlock(context.Background()); err != nil {
					to.record(err)
				}
			}
		})
	}
	all.Wait()
}
