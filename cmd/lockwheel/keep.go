package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel"
)

const (
	// askedAtOnce bounds what is remembered of requests that have no answer yet.
	askedAtOnce = 1 << 14
	// releasers is how many goroutines unlock: enough for the engine to send large batches.
	releasers = 1024
)

// take takes n locks, and waits for each of them at most that long. Waiting costs no goroutine, so it
// asks for many and then looks at each. When ctx ends, or with the first error, it returns those that it
// has.
func take(ctx context.Context, from *lockwheel.Engine, n int, wait time.Duration) (holds []*lockwheel.Hold, err error) {
	holds = make([]*lockwheel.Hold, 0, n)
	for len(holds) < n {
		asked := make([]*lockwheel.Pending, min(n-len(holds), askedAtOnce))
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

// collect adds the holds that came of what was asked for, and returns the first error.
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

// release unlocks all. A lock that was lost says so here, at the latest.
func release(holds []*lockwheel.Hold, to *faults) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(releasers, len(holds)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(holds)); i = next.Add(1) - 1 {
				if err := holds[i].Unlock(context.Background()); err != nil {
					to.note(err)
				}
			}
		})
	}
	all.Wait()
}
