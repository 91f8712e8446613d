package actor

import (
	"sync/atomic"
	"time"
)

// What marks in Hold.fixed that the hold has ended.
const (
	over  = -1 // unlocked, or its engine was closed
	taken = -2 // lost: an unlock that was under way to the coordinator by then must say so
)

// Hold is one grant. Tenure and Owner are written before the verdict and never again; the plain fields
// are the coordinator's; the atomic ones are what the coordinator publishes to the hold's users.
type Hold struct {
	Tenure uint64 // the number in the holder's id on the wire
	Owner  uint64

	lock  *Lock
	set   atomic.Pointer[holdSet] // of which it is one, from when its owner has several until it ends; nil otherwise
	fixed time.Duration           // end of its own lease; 0 watched; negative when it has ended

	until  atomic.Int64 // of one of a set, negative: until when it may go on however long that lasts
	signal atomic.Pointer[Signal]
}

// Signal is how users learn that a hold has ended: made when first asked for, replaced at the end.
type Signal struct {
	Done  chan struct{} // closed at the end; nil if nobody waits for it
	Watch Watcher       // is told of the end; nil if there is none
	Value any           // the hold's context; nil if nobody asked for one
	Err   error         // nil until the end, then which of ErrLost, ErrNotHeld, ErrClosed
	Cause error         // why, where Err alone does not say it
	Known time.Duration // of a loss: until when it is known to have been held
}

// Watcher is told of the end of a hold, on the goroutine that ends it: it must not block. A hold of several
// locks watches each of them; a function for each would be made anew with every grant.
type Watcher interface {
	HoldEnded(h *Hold)
}

var ended = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// unlocked is the Signal of nearly every ended hold, so it is made once.
var unlocked = &Signal{Done: ended, Err: ErrNotHeld}

// Until is when the hold ends unless it is confirmed again, as far as is known. Safe for concurrent use.
func (h *Hold) Until() time.Duration {
	for {
		until := h.until.Load()
		if until >= 0 {
			return time.Duration(until)
		}
		if s := h.set.Load(); s != nil {
			return time.Duration(min(-until, s.until.Load()))
		} // it ended since: once more
	}
}

// Lock is whose hold this is. Owned by the coordinator; nil before the grant.
func (h *Hold) Lock() *Lock { return h.lock }

// Signal returns the published signal, nil while the hold has not ended and nobody asked. Safe for
// concurrent use.
func (h *Hold) Signal() *Signal { return h.signal.Load() }

// Ask installs a Signal in place of the one seen, and reports whether it did. Safe for concurrent use.
func (h *Hold) Ask(seen, wanted *Signal) bool { return h.signal.CompareAndSwap(seen, wanted) }

// End publishes the end of a hold, with until when it is known to have been one, and tells those who asked. Only the first
// call does. It runs no code of the hold's users: if they have a context it returns what is left to be done for them, beside
// the loop: that context is to be ended, and then Done to be closed. Otherwise it returns nil.
func (h *Hold) End(err, cause error, known time.Duration) (untold *Signal) {
	end := unlocked
	if err != ErrNotHeld {
		end = &Signal{Done: ended, Err: err, Cause: cause, Known: known}
	}
	if h.signal.CompareAndSwap(nil, end) {
		return nil
	}
	seen := h.signal.Load()
	published := seen.ended(end)
	for seen.Err == nil && !h.signal.CompareAndSwap(seen, published) {
		seen = h.signal.Load()
		published = seen.ended(end)
	}
	if seen.Err != nil {
		return nil
	}
	if seen.Watch != nil {
		seen.Watch.HoldEnded(h)
	}
	if seen.Value != nil {
		return published
	}
	if seen.Done != nil {
		close(seen.Done) // last: whoever waits for it finds everything else told
	}
	return nil
}

// ended is what users see in place of a Signal at the end.
func (s *Signal) ended(end *Signal) *Signal {
	if s.Done == nil && s.Value == nil {
		return end
	}
	return &Signal{Done: s.Done, Value: s.Value, Err: end.Err, Cause: end.Cause, Known: end.Known}
}

// Asked reports whether a context was made for the hold, so that its end needs a reason.
func (h *Hold) Asked() bool {
	s := h.signal.Load()
	return s != nil && s.Value != nil
}

// held reports whether the hold is one of its lock's. Owned by the coordinator.
func (h *Hold) held() bool {
	l := h.lock
	if l == nil || h.fixed < 0 || l.tenure != h.Tenure || l.phase != held {
		return false
	}
	// A copy of a hold that ended may say all that of the next owner's.
	return l.holds == h || l.set() != nil && h.set.Load() == l.set()
}

// Refusal is what a wish that concerns a hold which has ended is answered. Owned by the coordinator.
func (h *Hold) Refusal() (err, cause error) {
	if h.fixed == taken {
		return ErrLost, errLostBefore
	}
	return ErrNotHeld, nil
}

// publish tells the hold's users until when the lock is believed to be theirs.
func (h *Hold) publish(until time.Duration) {
	h.until.Store(int64(until))
}
