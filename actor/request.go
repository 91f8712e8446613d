package actor

import (
	"time"

	"github.com/lockwheel/lockwheel/wheel"
)

// Request is one operation that a caller asks for. The caller owns it until it is posted; then the coordinator does,
// until it publishes the result; then the caller owns it again. Only then may it be reused, and never if a Cancel was
// posted for it.
//
// With very many requests, cache misses dominate their cost. So the struct is kept small: fields that steps read are
// together, and those of the result are at the end.
type Request struct {
	Tag     Kind     // the operation, for the engine
	Kind    LockKind // Acquire, Force, AskState, AskCount: kind of the lock
	Once    bool     // Acquire: do not wait for other holders
	IfUp    bool     // Acquire: reject at once while the server is known not to reply
	Async   bool     // Ready is closed, and nothing is sent to it
	Own     bool     // Acquire: for a member of the quorum with the number Owner
	Was     bool     // result of Force: it was locked
	Settled bool     // result of Acquire, with ErrNotAcquired: no command of this request can be granted any more
	stage   stage
	aboard  bool          // its change is part of the renewal in flight; of a request without a lock: its command has left
	undone  bool          // it was granted, and undone for Cause; of an Unlock: no caller has had the hold
	LetIn   bool          // Acquire: its caller waited before, so no limit of waiters rejects it
	number  int32         // of the first of a line: the length, negative while the first is to be rejected
	Key     string        // key in Redis
	Owner   uint64        // identity that may re-enter; 0: none
	Hold    *Hold         // Acquire: filled in by the grant; Unlock, Extend: the hold in question
	Lease   time.Duration // Acquire: 0 is watched; Extend: 0 is watched again
	Wait    time.Duration // Acquire: longest wait; 0: no limit besides the caller's own
	Joint   *Joint        // Acquire: several plain locks at once, instead of Key and Hold; nil for one lock

	// Owned by the coordinator.
	lock   *Lock
	line   *line // the line it is in; nil when it is in none
	next   *Request
	prev   *Request
	posted time.Duration
	timer  wheel.Timer[Sleeper]

	// The result, and what is needed to deliver it.
	Name  string        // name as the caller gave it, for observers
	State *Reply        // result of a state or count request; of a shutdown that was cut short: how many locks are held
	Ready chan struct{} // buffered by one, signals the result to the caller; actors do not touch it
	Told  func()        // called instead of Ready, on the loop: must not block
	Err   error         // result: nil, one of this package's errors, or the server's own
	Cause error         // result: the reason, where Err alone does not give it
	Token uint64        // result of Acquire: the fencing token, if the kind has one
}

// stage is the progress of a request.
type stage uint8

const (
	posted  stage = iota // the coordinator has not looked at it yet
	opened               // the coordinator has looked at it
	decided              // it has its result, maybe before the coordinator looked at it
)

// GiveBack returns the unlock of a grant that no caller has had: if the lock was lost, that is neither reported nor
// counted.
func GiveBack(h *Hold) *Request { return &Request{Tag: Unlock, Hold: h, undone: true} }

// Decided reports whether the request has its result. Owned by the coordinator.
func (r *Request) Decided() bool { return r.stage == decided }

// Open marks a request as opened, and reports whether it was not opened or decided before. Owned by the coordinator.
func (r *Request) Open() bool {
	if r.stage != posted {
		return false
	}
	r.stage = opened
	return true
}

// Opened reports whether the request was opened or decided. Owned by the coordinator.
func (r *Request) Opened() bool { return r.stage != posted }

// Depart records whether the command of a request without a lock has left, or waits again. Owned by the coordinator.
func (r *Request) Depart(left bool) { r.aboard = left }

// Departed reports whether that command has left. Owned by the coordinator.
func (r *Request) Departed() bool { return r.aboard }

// Lock returns the Lock that handles the request; nil if there is none. Owned by the coordinator.
func (r *Request) Lock() *Lock { return r.lock }

// Posted returns when the coordinator first saw the request. Owned by the coordinator.
func (r *Request) Posted() time.Duration { return r.posted }

// Reset makes a request that has its result reusable by the same caller.
func (r *Request) Reset() { *r = Request{Ready: r.Ready} }

// Wake handles the request's own timer: the request has timed out.
func (r *Request) Wake(now time.Duration, fx *Effects) {
	if r.lock != nil {
		r.lock.Step(now, &Message{Kind: Overdue, Request: r}, fx)
		return
	}
	fx.Decide(now, r, ErrUnavailable, errNoAnswer)
}

// line is a FIFO queue of requests: a circular list that stores only its last element.
type line struct{ last *Request }

func (q *line) empty() bool { return q.last == nil || q.last.next.number < 0 && q.first() == nil }

// first returns the first request that is not among those to be rejected; nil when there is none.
func (q *line) first() *Request {
	if q.last == nil {
		return nil
	}
	if first := q.last.next; first.number > 0 {
		return first
	}
	return q.behindRefused()
}

// behindRefused is separate to keep first small, which every step calls.
func (q *line) behindRefused() *Request { return q.behind(q.last.next.lock.refusing().last()) }

// head returns the first request in the line, including those to be rejected; nil when the line is empty.
func (q *line) head() *Request {
	if q.last == nil {
		return nil
	}
	return q.last.next
}

// len returns the number of requests in the line.
func (q *line) len() int32 {
	if q.last == nil {
		return 0
	}
	return max(q.last.next.number, -q.last.next.number)
}

// grows adds by, which is 1 or -1, to the line's length.
func (q *line) grows(by int32) {
	if first := q.head(); first.number < 0 {
		first.number -= by
	} else {
		first.number += by
	}
}

// marks sets the sign of the first request's number: negative if it is among those to be rejected. See first.
func (q *line) marks(refused bool) {
	if first := q.head(); first != nil && refused == (first.number > 0) {
		first.number = -first.number
	}
}

// behind returns the request after r; nil for the last of the line.
func (q *line) behind(r *Request) *Request {
	if r == q.last {
		return nil
	}
	return r.next
}

func (q *line) push(r *Request) {
	r.line = q
	if q.last == nil {
		r.next, r.prev = r, r
	} else {
		r.next, r.prev = q.last.next, q.last
		r.prev.next, r.next.prev = r, r
	}
	q.last = r
	q.grows(1)
	q.stoodBetween(r, 1)
	q.noted(r)
}

// insert puts a request in front of another request of the line.
func (q *line) insert(r, before *Request) {
	first := q.head()
	r.line = q
	r.next, r.prev = before, before.prev
	r.prev.next, r.next.prev = r, r
	if before == first { // q.last stays what it is, so r is the first
		r.number, first.number = first.number, 0
	}
	q.grows(1)
	q.stoodBetween(r, 1)
	q.noted(r)
	if before == first && first.Once && q == &r.lock.queue { // it is behind another request now
		r.lock.withRare().try(first)
	}
}

func (q *line) noted(r *Request) {
	if (r.Owner != 0 || r.Once) && q == &r.lock.queue {
		r.lock.stands(r)
	}
}

// stoodBetween updates the queue's disorder when a request joins (sign 1) or is about to leave (sign -1). Disorder
// counts the requests that are in front of one that was posted before them.
func (q *line) stoodBetween(r *Request, sign int32) {
	if r.lock == nil || q != &r.lock.queue {
		return
	}
	disorder, first, last := int32(0), q.head(), q.last
	if r != first {
		disorder += inDisorder(r.prev, r)
	}
	if r != last {
		disorder += inDisorder(r, r.next)
	}
	if r != first && r != last {
		disorder -= inDisorder(r.prev, r.next)
	}
	if disorder != 0 {
		r.lock.withRare().disorder += sign * disorder
	}
}

func inDisorder(front, behind *Request) int32 {
	if front.posted > behind.posted {
		return 1
	}
	return 0
}

// lead moves a request that is not the first to the front of the line.
func (q *line) lead(r *Request) {
	first := q.first()
	q.remove(r)
	q.insert(r, first)
}

func (q *line) remove(r *Request) {
	q.stoodBetween(r, -1)
	n := q.len() - 1
	if x := q.refusing(); x != nil {
		x.left(r, q)
		defer func() { q.marks(x.last() != nil) }()
	}
	if r.next == r {
		q.last = nil
	} else {
		r.prev.next, r.next.prev = r.next, r.prev
		if q.last == r {
			q.last = r.prev
		}
	}
	r.next, r.prev, r.line, r.number = nil, nil, nil, 0
	if q.last != nil {
		q.last.next.number = n
	}
	if l := r.lock; l != nil && q == &l.queue && l.rare != nil {
		l.rare.left(r, q)
	}
}

// refusing returns the unfinished rejection that the first of the line belongs to; nil if there is none.
func (q *line) refusing() *refusal {
	if first := q.head(); first.number < 0 {
		return first.lock.refusing()
	}
	return nil
}

// each calls f for every request in the line, in order; f may remove the request it is given.
func (q *line) each(f func(*Request)) {
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
