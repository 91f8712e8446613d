package lockwheel

import (
	"context"
	"reflect"
	"sync/atomic"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// leaveTogether is the maximum number of canceled requests that are sent to the loop in one message.
	leaveTogether = 512
	// emptySeats is the number of unused seats that a watch keeps in any case.
	emptySeats = 64
	// overWatch is the value of watch.live once its context is no longer watched.
	overWatch = -1 << 62
)

// watches cancel the requests of callers that wait without a goroutine, when their contexts end. Callers that share a
// context share its watch: its end runs one goroutine, however many callers wait.
type watches struct {
	causeOf func(ctx context.Context) error
	giveUp  func(together []*actor.Request, cause error)
	shared  watchTable
}

// watch is one watched context, and all callers that wait with it.
type watch struct {
	of     *watches
	key    any // nil: the watch is not shared
	ctx    context.Context
	stop   func() bool // set before another caller can find the watch
	cause  error       // set before newest is ended
	live   atomic.Int64
	left   atomic.Int64 // seats without a caller
	newest atomic.Pointer[seat]
	sweeps atomic.Bool
}

// seat is the place of one caller in the list of its watch. It is separate from the caller's Pending, so that an
// unused seat needs little memory.
type seat struct {
	next   *seat
	caller atomic.Pointer[Pending]
}

// endedSeat is the newest seat of a watch when its context has ended.
var endedSeat = &seat{}

// watchKey returns a key that is equal for contexts that end together with the same cause. For contexts of package
// context it is their Done. Otherwise it is the context itself, and no method of it is called here. The key is nil
// for a context that cannot be shared. If ends is false, the context needs no watch.
func watchKey(ctx context.Context) (key any, ends bool) {
	if ordinary(ctx) {
		done := ctx.Done()
		return done, done != nil
	}
	if reflect.TypeOf(ctx).Kind() == reflect.Pointer {
		return ctx, true
	}
	return nil, true
}

// begin watches the context of a caller. If the context panics, so does begin.
func (w *watches) begin(p *Pending) (*watch, *seat) {
	ctx := p.hold.parent
	key, ends := watchKey(ctx)
	if !ends {
		return nil, nil
	}
	s := &seat{}
	s.caller.Store(p)
	if key != nil {
		if known := w.shared.find(key); known != nil && known.enter() {
			known.add(s)
			return known, s
		}
	}
	own := &watch{of: w, key: key, ctx: ctx}
	own.live.Store(1)
	own.add(s)
	own.stop = context.AfterFunc(onlyEnd(ctx), own.end)
	if key != nil {
		w.shared.put(own)
	}
	return own, s
}

// over reports whether no further caller may wait with the watch: all have left, or the context has ended.
func (w *watch) over() bool { return w.live.Load() < 0 || w.newest.Load() == endedSeat }

// enter adds one to the callers of the watch, and reports whether that was possible.
func (w *watch) enter() bool {
	for {
		live := w.live.Load()
		if live < 0 {
			return false
		}
		if w.live.CompareAndSwap(live, live+1) {
			return true
		}
	}
}

func (w *watch) add(s *seat) { w.put(s, s) }

// put adds a chain of seats. After the end of the context it cancels their requests immediately.
func (w *watch) put(first, last *seat) {
	for {
		newest := w.newest.Load()
		if newest == endedSeat {
			last.next = nil
			w.giveUp(first)
			return
		}
		last.next = newest
		if w.newest.CompareAndSwap(newest, first) {
			return
		}
	}
}

// end runs on its own goroutine when the context has ended.
func (w *watch) end() {
	w.cause = context.Canceled
	defer func() { // also if a method of the context ends this goroutine
		all := w.newest.Swap(endedSeat)
		w.of.shared.remove(w)
		w.giveUp(all)
	}()
	w.cause = w.of.causeOf(w.ctx)
}

// giveUp cancels the requests of a chain, up to leaveTogether per message.
func (w *watch) giveUp(s *seat) {
	var some []*actor.Request
	for ; s != nil; s = s.next {
		p := s.caller.Swap(nil)
		if p == nil || !p.fate.CompareAndSwap(undecided, givenUp) {
			continue
		}
		if some == nil {
			some = make([]*actor.Request, 0, leaveTogether)
		}
		if some = append(some, &p.call.Request); len(some) == leaveTogether {
			w.of.giveUp(some, w.cause)
			some = nil
		}
	}
	if len(some) > 0 {
		w.of.giveUp(some, w.cause)
	}
}

// leave frees the seat of a caller without running code of the context. It reports whether tidy should be called.
func (w *watch) leave(s *seat) (untidy bool) {
	if s.caller.Swap(nil) == nil {
		return false // it left before, or the context has ended
	}
	left, live := w.left.Add(1), w.live.Add(-1)
	if live == 0 {
		return w.live.CompareAndSwap(0, overWatch)
	}
	return left > emptySeats && left > live
}

// tidy unregisters from the context if no caller is left, which runs code of the context. Otherwise it removes the
// unused seats.
func (w *watch) tidy() {
	if w.live.Load() >= 0 {
		w.sweep()
		return
	}
	w.of.shared.remove(w)
	w.stop()
}

// sweep removes the unused seats. It runs when more than half are unused, so the cost for each is one step or two.
func (w *watch) sweep() {
	if !w.sweeps.CompareAndSwap(false, true) {
		return
	}
	defer w.sweeps.Store(false)
	all := w.newest.Load()
	for all != endedSeat && !w.newest.CompareAndSwap(all, nil) {
		all = w.newest.Load()
	}
	if all == endedSeat {
		return
	}
	var first, last *seat
	for s := all; s != nil; {
		next := s.next
		if s.caller.Load() == nil {
			w.left.Add(-1)
		} else if s.next = first; first == nil {
			first, last = s, s
		} else {
			first = s
		}
		s = next
	}
	if first != nil {
		w.put(first, last)
	}
}
