package lockwheel

import (
	"context"
	"reflect"
	"sync/atomic"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// leaveTogether is how many callers that gave up with their context are told to the loop in one piece of mail.
	leaveTogether = 512
	// emptySeats is how many seats of callers that have left a watch keeps in any case.
	emptySeats = 64
	// overWatch is what watch.live is once its context is not watched any more.
	overWatch = -1 << 62
)

// watches have callers given up that wait without a goroutine when their contexts end. Those that share a context share its watch: the
// end of it runs one goroutine, however many wait.
type watches struct {
	causeOf func(ctx context.Context) error
	giveUp  func(together []*actor.Request, cause error)
	shared  watchTable
}

// watch is one context that is watched, and all who wait with it.
type watch struct {
	of     *watches
	key    any // nil: it is of one caller
	ctx    context.Context
	stop   func() bool // set before another caller can find the watch
	cause  error       // set before newest is ended
	live   atomic.Int64
	left   atomic.Int64 // seats whose callers have left
	newest atomic.Pointer[seat]
	sweeps atomic.Bool
}

// seat is the place of one caller in the list of its watch. It is no part of the caller, so that one that has left leaves little.
type seat struct {
	next   *seat
	caller atomic.Pointer[Pending]
}

// endedSeat is the newest seat of a watch whose context has ended.
var endedSeat = &seat{}

// watchKey is what contexts have in common that end together, and by the same cause: the Done of those of package context, and otherwise
// the context itself, whose methods are not called here. It is nil for one that is like no other, and has no need to be watched if
// ends is false.
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

// begin has a caller be given up when its context ends. If the context panics, so does begin.
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

// over reports whether no other caller is to wait with the watch: all have left, or the context has ended.
func (w *watch) over() bool { return w.live.Load() < 0 || w.newest.Load() == endedSeat }

// enter reports whether one more may wait with the watch.
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

// put takes a chain of seats in. After the end those are given up at once.
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

// end is called when the context has ended, on a goroutine of its own.
func (w *watch) end() {
	w.cause = context.Canceled
	defer func() { // also if the context ends this goroutine
		all := w.newest.Swap(endedSeat)
		w.of.shared.remove(w)
		w.giveUp(all)
	}()
	w.cause = w.of.causeOf(w.ctx)
}

// giveUp gives up all of a chain, so many at a time.
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

// leave lets go of a caller, without code of the context. It reports whether there is something to tidy up.
func (w *watch) leave(s *seat) (untidy bool) {
	if s.caller.Swap(nil) == nil {
		return false // before, or the context has ended
	}
	left, live := w.left.Add(1), w.live.Add(-1)
	if live == 0 {
		return w.live.CompareAndSwap(0, overWatch)
	}
	return left > emptySeats && left > live
}

// tidy leaves the context if no caller is left, which runs code of the context, and otherwise lets go of the seats of those who have left.
func (w *watch) tidy() {
	if w.live.Load() >= 0 {
		w.sweep()
		return
	}
	w.of.shared.remove(w)
	w.stop()
}

// sweep keeps the seats that are taken. It comes when more than half of them are not, so that each costs one step or two.
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
