package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/bench/peers"
)

// grace is how long goroutines may take to return after their time has ended. Those that wait for one of a few
// connections, behind 16384 others and a link, have longLineGrace: if they were left running, they would keep the link
// busy while the next contestant is measured.
const grace, longLineGrace = 10 * time.Second, time.Minute

// workerGroup is a group of goroutines that lock and unlock for a while.
type workerGroup struct {
	workers []peers.Worker
	// endWaits cancels the waits at the end of the time, as contended names need.
	endWaits bool
	// cancelable gives the workers a context that can end, as that of a request, but does not end while they work. Without
	// it and endWaits the context cannot end, which is the cheapest for every contestant.
	cancelable bool
	longLine   bool // the goroutines have longLineGrace to return

	stop   atomic.Bool
	first  sync.Once
	failed error
}

// run lets all workers work for d, or until one fails, and returns the pairs done and the time taken. It returns within
// grace after d: goroutines that hang are left running and reported.
func (c *workerGroup) run(d time.Duration) (pairs int, took time.Duration, err error) {
	ctx := context.Background()
	cancel := func() {}
	if c.endWaits || c.cancelable {
		ctx, cancel = context.WithCancel(ctx)
	}
	defer cancel()
	var ready, done sync.WaitGroup
	start, counts := make(chan struct{}), make([]int, len(c.workers))
	for i, w := range c.workers {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			counts[i] = c.work(ctx, w)
		})
	}
	ready.Wait()
	over := make(chan struct{})
	go func() { done.Wait(); close(over) }()
	began := time.Now()
	close(start)
	select {
	case <-time.After(d):
	case <-over:
	}
	c.stop.Store(true)
	if c.endWaits {
		cancel()
	}
	wait := grace
	if c.longLine {
		wait = longLineGrace
	}
	select {
	case <-over:
	case <-time.After(wait):
		return 0, 0, fmt.Errorf("hangs: goroutines did not come back within %v", wait)
	}
	took = time.Since(began)
	for _, n := range counts {
		pairs += n
	}
	return pairs, took, c.failed
}

// work counts the pairs of one goroutine.
func (c *workerGroup) work(ctx context.Context, w peers.Worker) (pairs int) {
	for !c.stop.Load() {
		err := w.Lock(ctx)
		if err == nil {
			err = w.Unlock()
		}
		if err != nil {
			if !c.endWaits || !c.stop.Load() {
				c.fail(err)
			}
			return pairs
		}
		pairs++
	}
	return pairs
}

func (c *workerGroup) fail(err error) {
	c.first.Do(func() { c.failed = errors.Join(errors.New("fails"), err) })
	c.stop.Store(true)
}
