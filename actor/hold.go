package actor

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Values of Hold.fixedEnd for a hold that has ended, see Hold.hasEnded. All are negative.
const (
	endedMark = -1 // unlocked, or its engine was closed
	lostMark  = -2 // lost: an unlock that was already on its way to the coordinator must report it
)

// unpublished is a bit of Hold.Tenure from the grant until its result is published, or the hold ends: no user has the
// hold yet. It is there because a Hold of one byte more falls into another size class.
const unpublished = 1 << 63

// Hold is one grant to a caller. Tenure and Owner are written before the result is published and never again. The plain
// fields are owned by the coordinator. The atomic fields are published by the coordinator and safe for concurrent use.
//
// The zero Hold is what a request brings: it was never granted and has no lock. Its fixedEnd would be that of a watched
// hold, but its validity has ended: Until returns 0.
type Hold struct {
	Tenure uint64 // the number in the holder id on the wire
	Owner  uint64 // the owner that it belongs to

	lock     *Lock
	set      atomic.Pointer[holdSet] // its set, from when its owner has several holds until this one ends; nil otherwise
	fixedEnd time.Duration           // end of its own lease; 0: watched; negative: see hasEnded

	until  atomic.Int64 // end of its validity, with its limitCause; in a set: see storeLimit
	signal atomic.Pointer[HoldSignal]
}

// limitCause is why a hold ends at the end of its validity, if nothing changes that. A Hold has it in the lowest bits
// of the time, so that its users find the cause with the end, and in no more memory. The time loses up to 3 ns.
type limitCause int64

const (
	notRenewed  limitCause = iota // it will not have been renewed in time
	leaseOver                     // its own lease ends
	maxHoldOver                   // Config.MaxHold elapses
	unlimited                     // of a hold in a set without a limit of its own: the bits of never

	limitCauses = 3 // the bits
)

// with returns the end of a validity together with its cause.
func (c limitCause) with(until time.Duration) int64 {
	if until == never {
		return int64(never)
	}
	return int64(until)&^limitCauses | int64(c)
}

// HoldSignal notifies users of the end of a hold. Its maker owns it until Install; from then on no goroutine writes to
// it. The zero value notifies no user. A hold's signal is in one of three states, and each step replaces it whole:
//
//	state   Hold.Signal          Done          Context         next state, and the goroutine that makes the step
//	unused  nil                  -             -               asked: Install, a user's; ended: End, the loop's
//	asked   Err nil              as asked for  as asked for    asked for more: Install, a user's; ended: End, the loop's
//	ended   Err set, for ever    closed        not yet ended   none: the caller of End ends the context, then closes Done
//
// If no user asked for a context, End closes Done itself.
type HoldSignal struct {
	Done      chan struct{} // closed at the end; nil if there is no waiter
	Watcher   Watcher       // called at the end; nil if there is none
	Context   any           // the hold's context; nil if no caller asked for one
	Err       error         // nil until the end, then ErrLost, ErrNotHeld or ErrClosed
	Cause     error         // the reason, where Err alone does not give it
	HeldUntil time.Duration // of a loss: until when the lock is known to have been held
	Note      *Note         // what the hold is for; kept by Install and by the end; nil: not told
}

// Note says what a hold is for. It is immutable, and may be shared by several holds. It is part of the signal because
// most holds have none. The zero Note says nothing.
type Note struct {
	Label string
	Site  fmt.Stringer // where the lock was requested; nil: not recorded
}

// Note returns what the hold is for, or nil. Safe for concurrent use.
func (h *Hold) Note() *Note {
	if s := h.signal.Load(); s != nil {
		return s.Note
	}
	return nil
}

// Label returns the hold's label; empty if it has none. Safe for concurrent use.
func (h *Hold) Label() string {
	if n := h.Note(); n != nil {
		return n.Label
	}
	return ""
}

// Watcher is notified of the end of a hold, on the goroutine that ends it: it must not block. It is an interface
// because a hold of several locks watches each of them, and a function value would be allocated with every grant.
type Watcher interface {
	HoldEnded(h *Hold)
}

var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// unlockedSignal is the HoldSignal of nearly every ended hold; it is shared to save the allocation.
var unlockedSignal = &HoldSignal{Done: closedChan, Err: ErrNotHeld}

// Until returns when the hold ends unless it is confirmed again, as far as is known. Safe for concurrent use.
func (h *Hold) Until() time.Duration {
	for {
		until := h.until.Load()
		if until >= 0 {
			return time.Duration(until &^ limitCauses)
		}
		if s := h.set.Load(); s != nil {
			return time.Duration(min(-until, s.until.Load()) &^ limitCauses) // see storeLimit
		} // it ended meanwhile: load again
	}
}

// ExpiryCause returns why the hold ends at Until, as the end of the hold will say then: its own lease, or
// Config.MaxHold. It returns nil if a renewal would have moved that end. Safe for concurrent use.
func (h *Hold) ExpiryCause() error {
	switch limitCause(h.expiry() & limitCauses) {
	case leaseOver:
		return errFixedLeaseOver
	case maxHoldOver:
		return errMaxHold
	}
	return nil
}

// expiry returns the end of the validity with its cause, see limitCause.
func (h *Hold) expiry() int64 {
	for {
		until := h.until.Load()
		if until >= 0 {
			return until
		}
		if s := h.set.Load(); s != nil {
			own, all := -until, s.until.Load()
			if own&^limitCauses <= all&^limitCauses {
				return own
			}
			return all
		}
	}
}

// Lock returns the lock that the hold is of; nil before the grant. Owned by the coordinator.
func (h *Hold) Lock() *Lock { return h.lock }

// Signal returns the installed signal; nil while the hold has not ended and no user installed one. Safe for concurrent
// use.
func (h *Hold) Signal() *HoldSignal { return h.signal.Load() }

// Install replaces the signal seen by wanted, with the same Note, and reports whether it did: not if another one was
// installed meanwhile. Safe for concurrent use.
func (h *Hold) Install(seen, wanted *HoldSignal) bool {
	if seen != nil {
		wanted.Note = seen.Note
	}
	return h.signal.CompareAndSwap(seen, wanted)
}

// End publishes the end of a hold with its error, its cause and until when it is known to have been held. It notifies
// users that asked. Only the first call has an effect. End runs no code of the hold's users. If they have a context, it
// returns the signal that the caller must finish outside the loop: first end that context, then close Done. Otherwise
// it returns nil.
func (h *Hold) End(err, cause error, known time.Duration) (remaining *HoldSignal) {
	end := unlockedSignal
	if err != ErrNotHeld {
		end = &HoldSignal{Done: closedChan, Err: err, Cause: cause, HeldUntil: known}
	}
	if h.signal.CompareAndSwap(nil, end) {
		return nil
	}
	seen := h.signal.Load()
	published := seen.endedWith(end)
	for seen.Err == nil && !h.signal.CompareAndSwap(seen, published) {
		seen = h.signal.Load()
		published = seen.endedWith(end)
	}
	if seen.Err != nil {
		return nil
	}
	if seen.Watcher != nil {
		seen.Watcher.HoldEnded(h)
	}
	if seen.Context != nil {
		return published
	}
	if seen.Done != nil {
		close(seen.Done) // last: a waiter on Done finds everything else published
	}
	return nil
}

// endedWith returns the HoldSignal that replaces s at the end.
func (s *HoldSignal) endedWith(end *HoldSignal) *HoldSignal {
	if s.Done == nil && s.Context == nil && s.Note == nil {
		return end
	}
	ended := &HoldSignal{Done: s.Done, Context: s.Context, Err: end.Err, Cause: end.Cause, HeldUntil: end.HeldUntil, Note: s.Note}
	if s.Done == nil {
		ended.Done = closedChan
	}
	return ended
}

// HasContext reports whether a context was made for the hold, so that its end needs a reason.
func (h *Hold) HasContext() bool {
	s := h.signal.Load()
	return s != nil && s.Context != nil
}

// held reports whether the hold is one of its lock's current holds. Owned by the coordinator.
func (h *Hold) held() bool {
	l := h.lock
	if l == nil || h.hasEnded() || l.tenure != h.Tenure&^unpublished || l.phase != held {
		return false
	}
	// The checks above also pass for a copy of an ended hold if the next owner has the lock.
	return l.holds == h || l.set() != nil && h.set.Load() == l.set()
}

// hasEnded reports whether the hold has ended: fixedEnd then has one of the marks above. Owned by the coordinator.
func (h *Hold) hasEnded() bool { return h.fixedEnd < 0 }

// EndError returns the result of a request that concerns a hold which has ended. Owned by the coordinator.
func (h *Hold) EndError() (err, cause error) {
	if h.fixedEnd == lostMark {
		return ErrLost, errKnownLost
	}
	return ErrNotHeld, nil
}

// publish stores the end of the hold's validity, and why it ends then, for its users.
func (h *Hold) publish(until time.Duration, cause limitCause) { h.until.Store(cause.with(until)) }

// freeze keeps Until as it is when the hold leaves its set.
func (h *Hold) freeze() { h.until.Store(h.expiry()) }

// ownLimitCause returns why the hold ends at its own limit.
func (h *Hold) ownLimitCause() limitCause {
	if h.fixedEnd != 0 {
		return leaseOver
	}
	return maxHoldOver
}

// storeLimit stores, for a hold in a holdSet, its own limit in the place of its validity, as a negative number. Until
// then returns the earlier of this limit and the end of the tenure's validity, which the set has once for all holds.
func (h *Hold) storeLimit(limit time.Duration) { h.until.Store(-h.ownLimitCause().with(limit)) }

// limit returns what storeLimit stored. It is not positive if the hold has left the set, or is about to.
func (h *Hold) limit() time.Duration {
	limit := -h.until.Load()
	if limit > 0 && limitCause(limit&limitCauses) == unlimited {
		return never
	}
	return time.Duration(limit &^ limitCauses)
}
