// Package async runs functions beside the loop. It runs them in order on one goroutine ([CallbackQueue]), on a few
// ([WorkerPool]), or one at a time on the goroutine that submits them ([Executor]). None of them blocks the goroutine
// that submits.
package async

import (
	"sync/atomic"
	"time"
)

// WorkerPool is a pool that runs functions beside the loop, in any order. Its goroutines are bounded in number and end
// when there is nothing to do. The zero WorkerPool runs nothing until MaxWorkers is set.
type WorkerPool struct {
	MaxWorkers int32
	MaxTasks   int64 // maximum number of functions that were put in and have not ended
	head       atomic.Pointer[poolTask]
	workers    atomic.Int32
	pending    Count
	Panics     atomic.Uint64
	dropped    atomic.Uint64
}

type poolTask struct {
	next *poolTask
	run  func()
}

// Submit never blocks. Beyond the limit it drops f and counts it.
func (p *WorkerPool) Submit(f func()) {
	if p.pending.Add() > p.MaxTasks {
		p.dropped.Add(1)
		p.pending.Done()
		return
	}
	t := &poolTask{run: f}
	for t.next = p.head.Load(); !p.head.CompareAndSwap(t.next, t); t.next = p.head.Load() {
	}
	p.startWorker()
}

// startWorker starts another goroutine unless there are MaxWorkers already.
func (p *WorkerPool) startWorker() {
	for n := p.workers.Load(); n < p.MaxWorkers; n = p.workers.Load() {
		if p.workers.CompareAndSwap(n, n+1) {
			go p.work()
			return
		}
	}
}

// work continues with the next function after a panic or a Goexit.
func (p *WorkerPool) work() {
	ended := false
	defer func() {
		if !ended {
			_ = recover()
			p.Panics.Add(1)
			p.pending.Done()
			go p.work()
		}
	}()
	for t := p.next(); t != nil; t = p.next() {
		t.run()
		p.pending.Done()
	}
	ended = true
	p.workers.Add(-1)
	if p.head.Load() != nil { // the function was put in after this goroutine's last check, while startWorker found no room for another
		p.startWorker()
	}
}

func (p *WorkerPool) next() *poolTask {
	for {
		t := p.head.Load()
		if t == nil || p.head.CompareAndSwap(t, t.next) {
			return t
		}
	}
}

// Wait waits until all functions have ended, or until the given time; the zero time is no limit. Only one caller may
// wait at a time.
func (p *WorkerPool) Wait(until time.Time) { p.pending.Wait(until) }
