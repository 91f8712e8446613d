package actor

import (
	"time"

	"github.com/lockwheel/lockwheel/wheel"
)

// Op is the operation of a Request. The zero Op is none.
type Op uint8

// The operations on a lock. The coordinator has further ones, which no lock handles.
const (
	Acquire Op = iota + 1 // the lock is wanted
	Unlock                // Hold ends
	Extend                // the lease of Hold changes
	Force                 // the lock is taken away from its holder
)

// Request is one operation that a caller asks for. The caller owns it until it is posted; then the coordinator does,
// until it publishes the result; then the caller owns it again. Only then may it be reused, and never if a Cancel was
// posted for it.
//
// The zero Request cannot be posted: without an Op it never gets a result. The result is announced by OnDone or on
// Ready. If both are nil no caller is woken; a Request with Async and without OnDone needs Ready.
//
// With very many requests, cache misses dominate their cost. So the struct is kept small: fields that steps read are
// together, and those of the result are at the end.
type Request struct {
	Op              Op       // the operation
	Kind            LockKind // Acquire, Force, AskState, AskCount: kind of the lock
	Once            bool     // Acquire: do not wait for other holders
	FailIfDown      bool     // Acquire: reject at once while the server is known not to reply
	Async           bool     // no caller blocks: Ready is closed, and nothing is sent to it
	OfQuorum        bool     // Acquire: for a member of the quorum with the number Owner
	WasLocked       bool     // result of Force: it was locked; of Acquire: it was handed off
	Final           bool     // result of Acquire, with ErrNotAcquired: no command of this request can be granted any more
	stage           stage
	inCommand       bool          // its change is part of the renewal in flight; of a request without a lock: its command has left
	rolledBack      bool          // it was granted, and undone for Cause; of an Unlock: no caller has had the hold
	SkipWaiterLimit bool          // Acquire: its caller waited before, so no limit of waiters rejects it
	listLen         int32         // of the first of a list: see requestList.len
	Key             string        // key in Redis
	Owner           uint64        // identity that may re-enter; 0: none; with Multi: that of the part where it waits
	Hold            *Hold         // Acquire: filled in by the grant; Unlock, Extend: the hold in question
	Lease           time.Duration // Acquire: 0 is watched; Extend: 0 is watched again
	Wait            time.Duration // Acquire: longest wait; 0: no limit besides the caller's own, or for Once that of the reply
	Multi           *MultiRequest // Acquire: several plain locks at once, instead of Key and Hold; nil for one lock

	// Owned by the coordinator.
	lock       *Lock
	list       *requestList // the list it is in; nil when it is in none
	next       *Request
	prev       *Request
	receivedAt time.Duration
	timer      wheel.Timer[TimerTarget]

	// The result, and what is needed to deliver it.
	Name   string        // name as the caller gave it, for observers
	State  *Reply        // result of a state or count request; of a shutdown that was cut short: how many holds are not unlocked
	Ready  chan struct{} // buffered by one, signals the result to the caller; actors do not touch it
	OnDone func()        // called instead of a send on Ready, on the loop: must not block
	Err    error         // result: nil, one of this package's errors, or the server's own
	Cause  error         // result: the reason, where Err alone does not give it
	Token  uint64        // result of Acquire: the fencing token, if the kind has one
}

// stage is the progress of a request.
type stage uint8

const (
	received    stage = 2 * iota // the coordinator has not looked at it yet
	provisional                  // the same, and it is beyond a limit: whether it may wait is decided when it is handled
	handled                      // the coordinator has looked at it
	completed                    // it has its result, maybe before the coordinator looked at it
	reported                     // observers were told of that

	canceled stage = 1 // is added to those before completed: its cancellation was received, so it is not in Effects.WantedLocks
)

// RollbackRequest returns the unlock of a grant that no caller has had: if the lock was lost, that is neither reported
// nor counted.
func RollbackRequest(h *Hold) *Request { return &Request{Op: Unlock, Hold: h, rolledBack: true} }

// blocksCaller reports whether a caller blocks until the request has its result. No caller does for the unlock of a
// grant that it gave up.
func (r *Request) blocksCaller() bool { return !r.Async && !(r.rolledBack && r.Op == Unlock) }

// Completed reports whether the request has its result. Owned by the coordinator.
func (r *Request) Completed() bool { return r.stage >= completed }

// MarkReported marks a completed request as reported, and returns whether it was not. Owned by the loop.
func (r *Request) MarkReported() bool {
	first := r.stage != reported
	r.stage = reported
	return first
}

// MarkHandled marks a request as handled, and reports whether it was not handled or completed before. Owned by the
// coordinator.
func (r *Request) MarkHandled() bool {
	if r.Handled() {
		return false
	}
	r.stage = handled | r.stage&canceled
	return true
}

// Handled reports whether the request was handled or completed. Owned by the coordinator.
func (r *Request) Handled() bool { return r.stage >= handled }

// MarkProvisional marks a request that has just been received and is beyond the engine's limit of waiters, but may be
// one that the limit does not concern. Owned by the coordinator.
func (r *Request) MarkProvisional() { r.stage = provisional }

// Provisional reports whether the request is marked so, and was not handled since. Owned by the coordinator.
func (r *Request) Provisional() bool { return r.stage&^canceled == provisional }

// SetDispatched records whether the command of a request without a lock has left, or waits again. Owned by the
// coordinator.
func (r *Request) SetDispatched(departed bool) { r.inCommand = departed }

// Dispatched reports whether that command has left. Owned by the coordinator.
func (r *Request) Dispatched() bool { return r.inCommand }

// Lock returns the Lock that handles the request; nil if there is none. Owned by the coordinator.
func (r *Request) Lock() *Lock { return r.lock }

// ReceivedAt returns when the coordinator first saw the request. Owned by the coordinator.
func (r *Request) ReceivedAt() time.Duration { return r.receivedAt }

// Publish says that the result of a completed request is published in this turn. Owned by the coordinator.
func (r *Request) Publish() {
	switch {
	case r.Op != Acquire || r.Err != nil:
	case r.Multi == nil:
		r.Hold.Tenure &^= unpublished
	default:
		for i := range r.Multi.Parts {
			r.Multi.Parts[i].Hold.Tenure &^= unpublished
		}
	}
}

// Reset makes a request that has its result reusable by the same caller.
func (r *Request) Reset() { *r = Request{Ready: r.Ready} }

// Wake handles the request's own timer: the request has timed out.
func (r *Request) Wake(now time.Duration, fx *Effects) {
	if r.lock != nil {
		r.lock.Step(now, &Message{Event: TimedOut, Request: r}, fx)
		return
	}
	fx.Complete(now, r, ErrUnavailable, errNoReply)
}

// requestList is a FIFO queue of requests: a circular list that stores only its last element. The zero value is empty.
// A request is in at most one. Owned by the coordinator.
type requestList struct{ last *Request }

func (q *requestList) empty() bool {
	return q.last == nil || q.last.next.isRejected() && q.first() == nil
}

// first returns the first request that is not among those to be rejected; nil when there is none.
func (q *requestList) first() *Request {
	if q.last == nil {
		return nil
	}
	if first := q.last.next; !first.isRejected() {
		return first
	}
	return q.firstNotRejected()
}

// firstNotRejected is separate to keep first small, which every step calls.
func (q *requestList) firstNotRejected() *Request {
	return q.following(q.last.next.lock.rejecting().last())
}

// head returns the first request in the list, including those to be rejected; nil when the list is empty.
func (q *requestList) head() *Request {
	if q.last == nil {
		return nil
	}
	return q.last.next
}

// len returns the number of requests in the list. It is the absolute value of the first one's listLen. That is negative
// while the first is among those to be rejected (Request.isRejected), so that first, which every step calls, reads no
// more than it.
func (q *requestList) len() int32 {
	if q.last == nil {
		return 0
	}
	return max(q.last.next.listLen, -q.last.next.listLen)
}

// isRejected reports whether the first request of a list is among those to be rejected. See requestList.len.
func (r *Request) isRejected() bool { return r.listLen < 0 }

// addCount adds by, which is 1 or -1, to the list's length.
func (q *requestList) addCount(by int32) {
	if first := q.head(); first.isRejected() {
		first.listLen -= by
	} else {
		first.listLen += by
	}
}

// markRejected sets the sign of the first request's listLen: negative if it is among those to be rejected, see len.
func (q *requestList) markRejected(rejected bool) {
	if first := q.head(); first != nil && rejected != first.isRejected() {
		first.listLen = -first.listLen
	}
}

// following returns the request after r; nil for the last of the list.
func (q *requestList) following(r *Request) *Request {
	if r == q.last {
		return nil
	}
	return r.next
}

func (q *requestList) push(r *Request) {
	r.list = q
	if q.last == nil {
		r.next, r.prev = r, r
	} else {
		r.next, r.prev = q.last.next, q.last
		r.prev.next, r.next.prev = r, r
	}
	q.last = r
	q.addCount(1)
	q.updateOutOfOrder(r, 1)
	q.notifyLock(r)
}

// insert puts a request in front of another request of the list.
func (q *requestList) insert(r, before *Request) {
	first := q.head()
	r.list = q
	r.next, r.prev = before, before.prev
	r.prev.next, r.next.prev = r, r
	if before == first { // q.last stays what it is, so r is the first
		r.listLen, first.listLen = first.listLen, 0
	}
	q.addCount(1)
	q.updateOutOfOrder(r, 1)
	q.notifyLock(r)
	if before == first && first.Once && q == &r.lock.queue { // it is behind another request now
		r.lock.ensureExt().noteTry(first)
	}
}

func (q *requestList) notifyLock(r *Request) {
	if (r.Owner != 0 || r.Once) && q == &r.lock.queue {
		r.lock.onQueued(r)
	}
}

// updateOutOfOrder updates the queue's disorder when a request joins (sign 1) or is about to leave (sign -1). Disorder
// counts the requests that are in front of one that was posted before them.
func (q *requestList) updateOutOfOrder(r *Request, sign int32) {
	if r.lock == nil || q != &r.lock.queue {
		return
	}
	delta, first, last := int32(0), q.head(), q.last
	if r != first {
		delta += outOfOrder(r.prev, r)
	}
	if r != last {
		delta += outOfOrder(r, r.next)
	}
	if r != first && r != last {
		delta -= outOfOrder(r.prev, r.next)
	}
	if delta != 0 {
		r.lock.ensureExt().outOfOrder += sign * delta
	}
}

func outOfOrder(front, behind *Request) int32 {
	if front.cameAfter(behind) {
		return 1
	}
	return 0
}

// moveToFront moves a request that is not the first to the front of the list.
func (q *requestList) moveToFront(r *Request) {
	first := q.first()
	q.remove(r)
	q.insert(r, first)
}

// remove takes a request of the list out. It moves the list's length to the new first. It also keeps all records of the
// queue right: the disorder, the parts of an unfinished rejection, and the sets of tries and of waiters. The order
// matters: disorder and rejection look at the neighbours, so they come before the links change.
func (q *requestList) remove(r *Request) {
	q.updateOutOfOrder(r, -1)
	n := q.len() - 1
	if x := q.rejection(); x != nil {
		x.onLeft(r, q)
		defer func() { q.markRejected(x.last() != nil) }()
	}
	if r.next == r {
		q.last = nil
	} else {
		r.prev.next, r.next.prev = r.next, r.prev
		if q.last == r {
			q.last = r.prev
		}
	}
	r.next, r.prev, r.list, r.listLen = nil, nil, nil, 0
	if q.last != nil {
		q.last.next.listLen = n
	}
	if l := r.lock; l != nil && q == &l.queue && l.ext != nil {
		l.ext.onLeft(r, q)
	}
}

// rejection returns the unfinished rejection that the first of the list belongs to; nil if there is none.
func (q *requestList) rejection() *rejection {
	if first := q.head(); first.isRejected() {
		return first.lock.rejecting()
	}
	return nil
}

// each calls f for every request in the list, in order; f may remove the request it is given.
func (q *requestList) each(f func(*Request)) {
	if q.last == nil {
		return
	}
	last := q.last
	for r := last.next; ; {
		next, end := r.next, r == last
		f(r)
		if end {
			return
		}
		r = next
	}
}
