package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lockwheel/lockwheel"
)

const (
	hotName = "hot"
	// hotWork is how long a worker keeps the hot lock: without any, two who had it at once would hardly
	// ever meet inside.
	hotWork = 100 * time.Microsecond
)

// hold is what a worker wants of a lock that it has.
type hold interface {
	Unlock(ctx context.Context) error
}

// lockFunc takes a lock. Tests put another one in, to see that the demo notices.
type lockFunc func(ctx context.Context, m lockwheel.Mutex) (hold, error)

func lock(ctx context.Context, m lockwheel.Mutex) (hold, error) {
	h, err := m.Lock(ctx)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// load is the workers, and what they saw.
type load struct {
	lock       lockFunc
	faults     *faults
	turnstiles []*turnstile // one a name
	alone      latencies    // of lock calls for a name that nobody else wants
	contended  latencies    // of those for the hot name
}

// job is what one worker does, over and over.
type job struct {
	mutex lockwheel.Mutex
	gate  *turnstile
	took  *latencies
	work  time.Duration // inside the lock
}

// run lets the workers work until ctx ends.
func (l *load) run(ctx context.Context, at engines, workers, hot int) {
	var all sync.WaitGroup
	for i := range workers - hot {
		name := fmt.Sprintf("worker/%d", i)
		own := job{at.home.Mutex(name), l.turnstile(name), &l.alone, 0}
		all.Go(func() { l.work(ctx, own) })
	}
	gate := l.turnstile(hotName)
	for _, engine := range []*lockwheel.Engine{at.home, at.rival} {
		shared := job{engine.Mutex(hotName), gate, &l.contended, hotWork}
		for range hot {
			all.Go(func() { l.work(ctx, shared) })
		}
	}
	all.Wait()
}

func (l *load) turnstile(name string) *turnstile {
	t := &turnstile{name: name}
	l.turnstiles = append(l.turnstiles, t)
	return t
}

// work does a job until ctx ends, or until there is no use in it.
func (l *load) work(ctx context.Context, j job) {
	for ctx.Err() == nil {
		began := time.Now()
		held, err := l.lock(ctx, j.mutex)
		if err != nil {
			if ctx.Err() == nil && l.faults.note(err) {
				return
			}
			continue
		}
		j.took.add(time.Since(began))
		j.gate.enter()
		if j.work > 0 {
			time.Sleep(j.work)
		}
		j.gate.leave()
		if err := held.Unlock(context.WithoutCancel(ctx)); err != nil && l.faults.note(err) {
			return
		}
	}
}
