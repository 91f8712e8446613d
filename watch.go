package lockwheel

import (
	"context"
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

// contextWatches cancel the requests of callers that wait without a goroutine, when their contexts end. Callers that share a
// context share its watch: its end runs one goroutine, however many callers wait.
type contextWatches struct {
	causeOf   func(ctx context.Context) error
	cancelAll func(together []*actor.Request, cause error)
	shared    watchTable
}

// contextWatch is one watched context, and all callers that wait with it.
type contextWatch struct {
	owner    *contextWatches
	key      any // nil: the watch is not shared
	ctx      context.Context
	stop     func() bool // set before another caller can find the watch
	cause    error       // set before newest is ended
	waiting  atomic.Int64
	emptied  atomic.Int64 // entries without a caller
	head     atomic.Pointer[watchEntry]
	sweeping atomic.Bool
}

// watchEntry is the place of one caller in the list of its watch. It is separate from the caller's Pending, so that an
// unused entry needs little memory.
type watchEntry struct {
	next   *watchEntry
	caller atomic.Pointer[Pending]
}

// endedEntry is the newest entry of a watch when its context has ended.
var endedEntry = &watchEntry{}

// watchKey returns a key that is equal for contexts that end together with the same cause. For contexts of package
// context it is their Done. Otherwise it is the context itself, and no method of it is called here. The key is nil
// for a context that cannot be shared. If ends is false, the context needs no watch.
func watchKey(ctx context.Context) (key any, ends bool) {
	if isStdTree(ctx) {
		done := ctx.Done()
		return done, done != nil
	}
	if reflect.TypeOf(ctx).Kind() == reflect.Pointer {
		return ctx, true
	}
	return nil, true
}

// watch watches the context of a caller. If the context panics, so does begin.
func (w *contextWatches) watch(p *Pending) (*contextWatch, *watchEntry) {
	ctx := p.hold.parent
	key, ends := watchKey(ctx)
	if !ends {
		return nil, nil
	}
	s := &watchEntry{}
	s.caller.Store(p)
	if key != nil {
		if known := w.shared.find(key); known != nil && known.join() {
			known.add(s)
			return known, s
		}
	}
	own := &contextWatch{owner: w, key: key, ctx: ctx}
	own.waiting.Store(1)
	own.add(s)
	own.stop = context.AfterFunc(endOnly(ctx), own.onDone)
	if key != nil {
		w.shared.put(own)
	}
	return own, s
}

// ended reports whether no further caller may wait with the watch: all have left, or the context has ended.
func (w *contextWatch) ended() bool { return w.waiting.Load() < 0 || w.head.Load() == endedEntry }

// join adds one to the callers of the watch, and reports whether that was possible.
func (w *contextWatch) join() bool {
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

func (w *contextWatch) add(s *watchEntry) { w.addChain(s, s) }

// addChain adds a chain of entries. After the end of the context it cancels their requests immediately.
func (w *contextWatch) addChain(first, last *watchEntry) {
	for {
		newest := w.head.Load()
		if newest == endedEntry {
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
func (w *contextWatch) onDone() {
	w.cause = context.Canceled
	defer func() { // also if a method of the context ends this goroutine
		all := w.head.Swap(endedEntry)
		w.owner.shared.remove(w)
		w.cancelChain(all)
	}()
	w.cause = w.owner.causeOf(w.ctx)
}

// cancelChain cancels the requests of a chain, up to cancelBatch per message.
func (w *contextWatch) cancelChain(s *watchEntry) {
	var some []*actor.Request
	for ; s != nil; s = s.next {
		p := s.caller.Swap(nil)
		if p == nil || !p.state.CompareAndSwap(statePending, stateCanceled) {
			continue
		}
		if some == nil {
			some = make([]*actor.Request, 0, cancelBatch)
		}
		if some = append(some, &p.call.Request); len(some) == cancelBatch {
			w.owner.cancelAll(some, w.cause)
			some = nil
		}
	}
	if len(some) > 0 {
		w.owner.cancelAll(some, w.cause)
	}
}

// leave frees the entry of a caller without running code of the context. It reports whether cleanUp should be called.
func (w *contextWatch) leave(s *watchEntry) (untidy bool) {
	if s.caller.Swap(nil) == nil {
		return false // it left before, or the context has ended
	}
	left, live := w.emptied.Add(1), w.waiting.Add(-1)
	if live == 0 {
		return w.waiting.CompareAndSwap(0, closedWatch)
	}
	return left > minEmptied && left > live
}

// cleanUp unregisters from the context if no caller is left, which runs code of the context. Otherwise it removes the
// unused entries.
func (w *contextWatch) cleanUp() {
	if w.waiting.Load() >= 0 {
		w.compact()
		return
	}
	w.owner.shared.remove(w)
	w.stop()
}

// compact removes the unused entries. It runs when more than half are unused, so the cost for each is one step or two.
func (w *contextWatch) compact() {
	if !w.sweeping.CompareAndSwap(false, true) {
		return
	}
	defer w.sweeping.Store(false)
	all := w.head.Load()
	for all != endedEntry && !w.head.CompareAndSwap(all, nil) {
		all = w.head.Load()
	}
	if all == endedEntry {
		return
	}
	var first, last *watchEntry
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
