// Package ctxwatch cancels the requests of callers that wait without a goroutine when their contexts end. Callers that
// share a context share one watch of it: its end runs one goroutine, however many callers wait.
//
// A caller watches its context with [Watches.Watch]. It frees its entry with [Watch.Leave], which runs no code of the
// context and may be called by the loop. If Leave reports true, the caller or a goroutine beside the loop calls
// [Watch.CleanUp], which may run code of the context. All methods are safe for concurrent use and never block, but for
// code of a context.
package ctxwatch

import (
	"context"
	"hash/maphash"
	"reflect"
	"sync/atomic"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// cancelBatch is the maximum number of canceled requests that are sent to the loop in one message.
	cancelBatch = 512
	// minEmptied is the number of unused entries that a watch keeps in any case.
	minEmptied = 64
	// closedWatch is the value of watch.waiting once its context is no longer watched.
	closedWatch = -1 << 62
)

// Watches cancel the requests of callers that wait without a goroutine, when their contexts end. Callers that share a
// context share its watch: its end runs one goroutine, however many callers wait.
type Watches[C any] struct {
	config Config[C]
	ended  *Entry[C] // the newest entry of a watch when its context has ended
	shared table[C]
}

// Config is what a Watches needs to know of its callers, of type C. All fields are required.
type Config[C any] struct {
	// CauseOf returns why a context ended. It runs on a goroutine of its own, and may run code of the context.
	CauseOf func(ctx context.Context) error
	// Canceled takes a caller from its wait at the end of its context. It returns the request to cancel, or nil if the
	// caller does not wait any more.
	Canceled func(*C) *actor.Request
	// CancelAll cancels requests of callers that waited with one context.
	CancelAll func(together []*actor.Request, cause error)
	// IsStdTree reports whether a context and all above it are of package context, so that it has no code of a caller.
	IsStdTree func(ctx context.Context) bool
}

// New returns a Watches without a watch.
func New[C any](config Config[C]) Watches[C] {
	return Watches[C]{config: config, ended: &Entry[C]{}, shared: table[C]{seed: maphash.MakeSeed()}}
}

// Watch is one watched context, and all callers that wait with it.
type Watch[C any] struct {
	owner    *Watches[C]
	key      any // nil: the watch is not shared
	ctx      context.Context
	stop     func() bool           // set before another caller can find the watch
	cause    atomic.Pointer[error] // set before head is ended
	waiting  atomic.Int64
	emptied  atomic.Int64                  // entries without a caller
	settling atomic.Pointer[chan struct{}] // closed when canceled is set; nil: no Settle waits for that
	canceled atomic.Bool                   // the context has ended, and all requests are canceled
	head     atomic.Pointer[Entry[C]]
	sweeping atomic.Bool
}

// Entry is the place of one caller in the list of its watch. It is separate from the caller's Pending, so that an
// unused entry needs little memory.
type Entry[C any] struct {
	next   *Entry[C]
	caller atomic.Pointer[C]
}

// key returns a key that is equal for contexts that end together with the same cause. For contexts of package
// context it is their Done. Otherwise it is the context itself, and no method of it is called here. The key is nil
// for a context that cannot be shared. If ends is false, the context needs no watch.
func (c *Config[C]) key(ctx context.Context) (key any, ends bool) {
	if c.IsStdTree(ctx) {
		done := ctx.Done()
		return done, done != nil
	}
	if reflect.TypeOf(ctx).Kind() == reflect.Pointer {
		return ctx, true
	}
	return nil, true
}

// Watch watches the context of a caller. If the context panics, so does Watch. It returns nil for a context that never
// ends.
func (w *Watches[C]) Watch(ctx context.Context, p *C) (*Watch[C], *Entry[C]) {
	key, ends := w.config.key(ctx)
	if !ends {
		return nil, nil
	}
	s := &Entry[C]{}
	s.caller.Store(p)
	if key != nil {
		if known := w.shared.find(key); known != nil && known.join() {
			known.add(s)
			return known, s
		}
	}
	own := &Watch[C]{owner: w, key: key, ctx: ctx}
	own.waiting.Store(1)
	own.add(s)
	own.stop = context.AfterFunc(w.config.endOnly(ctx), own.onDone)
	if key != nil {
		w.shared.put(own)
	}
	return own, s
}

// ended reports whether no further caller may wait with the watch: all have left, or the context has ended.
func (w *Watch[C]) ended() bool { return w.waiting.Load() < 0 || w.head.Load() == w.owner.ended }

// join adds one to the callers of the watch, and reports whether that was possible.
func (w *Watch[C]) join() bool {
	for {
		live := w.waiting.Load()
		if live < 0 {
			return false
		}
		if w.waiting.CompareAndSwap(live, live+1) {
			return true
		}
	}
}

func (w *Watch[C]) add(s *Entry[C]) { w.addChain(s, s) }

// addChain adds a chain of entries. After the end of the context it cancels their requests immediately.
func (w *Watch[C]) addChain(first, last *Entry[C]) {
	for {
		newest := w.head.Load()
		if newest == w.owner.ended {
			last.next = nil
			w.cancelChain(first)
			return
		}
		last.next = newest
		if w.head.CompareAndSwap(newest, first) {
			return
		}
	}
}

// onDone runs on its own goroutine when the context has ended.
func (w *Watch[C]) onDone() {
	cause := context.Canceled
	defer func() { w.end(cause) }() // also if a method of the context ends this goroutine
	cause = w.owner.config.CauseOf(w.ctx)
}

// end cancels the requests of all callers, unless another goroutine does so.
func (w *Watch[C]) end(cause error) {
	w.cause.CompareAndSwap(nil, &cause)
	all := w.head.Swap(w.owner.ended)
	if all == w.owner.ended {
		return
	}
	w.cancelChain(all)
	w.canceled.Store(true)
	w.owner.shared.remove(w)
	if settling := w.settling.Load(); settling != nil {
		close(*settling)
	}
}

// awaitEnd waits for the goroutine that cancels the requests, which calls no code of the context any more.
func (w *Watch[C]) awaitEnd() {
	settling := make(chan struct{})
	if w.settling.CompareAndSwap(nil, &settling) && !w.canceled.Load() {
		<-settling
	}
}

// Settle cancels the requests of contexts that have ended before it, and returns when that is done. It leaves out
// contexts with code of a caller. It may be called once.
func (w *Watches[C]) Settle() {
	for _, watch := range w.shared.all() {
		if w.config.IsStdTree(watch.ctx) && watch.ctx.Err() != nil {
			watch.end(w.config.CauseOf(watch.ctx))
			watch.awaitEnd()
		}
	}
}

// cancelChain cancels the requests of a chain, up to cancelBatch per message. The slice for these grows with them: most
// contexts are those of one caller, and very many can end before the loop has taken their cancellations.
func (w *Watch[C]) cancelChain(s *Entry[C]) {
	var some []*actor.Request
	for ; s != nil; s = s.next {
		p := s.caller.Swap(nil)
		if p == nil {
			continue
		}
		r := w.owner.config.Canceled(p)
		if r == nil {
			continue
		}
		if some = append(some, r); len(some) == cancelBatch {
			w.owner.config.CancelAll(some, *w.cause.Load())
			some = nil
		}
	}
	if len(some) > 0 {
		w.owner.config.CancelAll(some, *w.cause.Load())
	}
}

// Leave frees the entry of a caller without running code of the context. It reports whether CleanUp should be called.
func (w *Watch[C]) Leave(s *Entry[C]) (untidy bool) {
	if s.caller.Swap(nil) == nil {
		return false // it left before, or the context has ended
	}
	left, live := w.emptied.Add(1), w.waiting.Add(-1)
	if live == 0 {
		return w.waiting.CompareAndSwap(0, closedWatch)
	}
	return left > minEmptied && left > live
}

// CleanUp unregisters from the context if no caller is left, which runs code of the context. Otherwise it removes the
// unused entries.
func (w *Watch[C]) CleanUp() {
	if w.waiting.Load() >= 0 {
		w.compact()
		return
	}
	w.owner.shared.remove(w)
	w.stop()
}

// compact removes the unused entries. It runs when more than half are unused, so the cost for each is one step or two.
func (w *Watch[C]) compact() {
	if !w.sweeping.CompareAndSwap(false, true) {
		return
	}
	defer w.sweeping.Store(false)
	all := w.head.Load()
	for all != w.owner.ended && !w.head.CompareAndSwap(all, nil) {
		all = w.head.Load()
	}
	if all == w.owner.ended {
		return
	}
	var first, last *Entry[C]
	for s := all; s != nil; {
		next := s.next
		if s.caller.Load() == nil {
			w.emptied.Add(-1)
		} else if s.next = first; first == nil {
			first, last = s, s
		} else {
			first = s
		}
		s = next
	}
	if first != nil {
		w.addChain(first, last)
	}
}
