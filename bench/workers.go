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
	warmUp     bool // each worker has done a pair before run begins

	start  chan struct{} // closed when the goroutines are to begin
	over   chan struct{} // closed when all have returned
	counts []int         // the pairs of each
	cancel context.CancelFunc
	stop   atomic.Bool
	first  sync.Once
	failed error
}

// prepare starts the goroutines, which then wait for run. What that costs is the measurement's, not a contestant's.
// With warmUp each has done a pair then: what a contestant keeps for the next pair was collected while others had their
// turn. A warm-up that hangs is left to run, which reports it.
func (c *workerGroup) prepare() {
	ctx := context.Background()
	c.cancel = func() {}
	if c.endWaits || c.cancelable {
		ctx, c.cancel = context.WithCancel(ctx)
	}
	var ready, done sync.WaitGroup
	c.start, c.over, c.counts = make(chan struct{}), make(chan struct{}), make([]int, len(c.workers))
	for i, w := range c.workers {
		ready.Add(1)
		done.Go(func() {
			if c.warmUp {
				c.pair(ctx, w)
			}
			ready.Done()
			<-c.start
			c.counts[i] = c.work(ctx, w)
		})
	}
	_ = withTimeout("the warm-up", c.grace(), func() error { ready.Wait(); return nil })
	go func() { done.Wait(); close(c.over) }()
}

// run lets all workers work for d, or until one fails, and returns the pairs done and the time taken. It must be called
// once after prepare. It returns within grace after d: goroutines that hang are left running and reported.
func (c *workerGroup) run(d time.Duration) (pairs int, took time.Duration, err error) {
	defer c.cancel()
	began := time.Now()
	close(c.start)
	select {
	case <-time.After(d):
	case <-c.over:
	}
	c.stop.Store(true)
	if c.endWaits {
		c.cancel()
	}
	select {
	case <-c.over:
	case <-time.After(c.grace()):
		return 0, 0, fmt.Errorf("hangs: goroutines did not come back within %v", c.grace())
	}
	took = time.Since(began)
	for _, n := range c.counts {
		pairs += n
	}
	return pairs, took, c.failed
}

// work counts the pairs of one goroutine.
func (c *workerGroup) work(ctx context.Context, w peers.Worker) (pairs int) {
	for !c.stop.Load() && c.pair(ctx, w) {
		pairs++
	}
	return pairs
}

// pair locks and unlocks, and reports whether that went well. A wait that the end of the run cancels is no failure.
func (c *workerGroup) pair(ctx context.Context, w peers.Worker) bool {
	err := w.Lock(ctx)
	if err == nil {
		err = w.Unlock()
	}
	if err != nil && !(c.endWaits && c.stop.Load()) {
		c.fail(err)
	}
	return err == nil
}

func (c *workerGroup) grace() time.Duration {
	if c.longLine {
		return longLineGrace
	}
	return grace
}

func (c *workerGroup) fail(err error) {
	c.first.Do(func() { c.failed = errors.Join(errors.New("fails"), err) })
	c.stop.Store(true)
}
