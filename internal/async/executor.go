package async

import (
	"sync/atomic"

	"github.com/lockwheel/lockwheel/engine/mpsc"
)

// Executor runs functions from several goroutines one at a time. The goroutine that submits a function to an idle
// executor runs it, and all that are submitted meanwhile. It never blocks another goroutine, and it has no goroutine of
// its own. The zero Executor is idle.
type Executor struct {
	queue   mpsc.Queue[func()]
	running atomic.Bool
}

// Submit runs f before it returns, or leaves it to the goroutine that is draining the queue. f may submit others.
func (e *Executor) Submit(f func()) {
	e.queue.Post(&mpsc.Node[func()]{Value: f})
	// After it has cleared running, the goroutine checks the queue again: a function may have been submitted just before
	// that.
	for !e.queue.Empty() && e.running.CompareAndSwap(false, true) {
		for n := e.queue.TakeAll(); n != nil; n = n.Next {
			n.Value()
		}
		e.running.Store(false)
	}
}
