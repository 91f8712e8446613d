package demo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lockwheel/lockwheel"
)

const (
	hotName = "hot"
	// hotWork is how long a worker holds the hot lock. Without it, two workers that held it at the same time would
	// hardly ever overlap.
	hotWork = 100 * time.Microsecond
)

// hold is what a worker needs of a lock that it holds.
type hold interface {
	Unlock(ctx context.Context) error
}

// lockFunc acquires a lock. Tests replace it, to see that the demo notices a broken lock.
type lockFunc func(ctx context.Context, m lockwheel.Mutex) (hold, error)

func lock(ctx context.Context, m lockwheel.Mutex) (hold, error) {
	h, err := m.Lock(ctx)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// load is the workers and their measurements.
type load struct {
	lock            lockFunc
	faults          *faults
	exclusionChecks []*exclusionCheck // one per name
	uncontended     latencies         // of lock calls for a name without competition
	contended       latencies         // of lock calls for the hot name
}

// job is what one worker repeats.
type job struct {
	mutex     lockwheel.Mutex
	exclusion *exclusionCheck
	took      *latencies
	work      time.Duration // while it holds the lock
}

// run runs the workers until ctx ends.
func (l *load) run(ctx context.Context, at engines, workers, hot int) {
	var all sync.WaitGroup
	for i := range workers - hot {
		name := fmt.Sprintf("worker/%d", i)
		own := job{at.main.Mutex(name), l.newExclusionCheck(name), &l.uncontended, 0}
		all.Go(func() { l.work(ctx, own) })
	}
	exclusion := l.newExclusionCheck(hotName)
	for _, engine := range []*lockwheel.Engine{at.main, at.second} {
		shared := job{engine.Mutex(hotName), exclusion, &l.contended, hotWork}
		for range hot {
			all.Go(func() { l.work(ctx, shared) })
		}
	}
	all.Wait()
}

func (l *load) newExclusionCheck(name string) *exclusionCheck {
	t := &exclusionCheck{name: name}
	l.exclusionChecks = append(l.exclusionChecks, t)
	return t
}

// work repeats a job until ctx ends or an error makes it useless.
func (l *load) work(ctx context.Context, j job) {
	for ctx.Err() == nil {
		began := time.Now()
		held, err := l.lock(ctx, j.mutex)
		if err != nil {
			if ctx.Err() == nil && l.faults.record(err) {
				return
			}
			continue
		}
		j.took.add(time.Since(began))
		j.exclusion.enter()
		if j.work > 0 {
			time.Sleep(j.work)
		}
		j.exclusion.leave()
		if err := held.Unlock(context.WithoutCancel(ctx)); err != nil && l.faults.record(err) {
			return
		}
	}
}
