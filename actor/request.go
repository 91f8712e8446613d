package actor

import (
	"time"

	"github.com/lockwheel/lockwheel/wheel"
)

// Request is one caller's wish. The caller's until it is posted, then the coordinator's until the
// verdict is out, then the caller's again; only then may it be used for something else, and never if
// a Cancel was posted for it.
//
// With very many at once, fetching them from memory is what they cost: it is kept small, what steps look at stands
// together, and what the verdict is about stands at the end.
type Request struct {
	Tag     Kind     // what was asked, for the engine
	Kind    LockKind // Acquire, Force, AskState, AskCount: of the lock
	Once    bool     // Acquire: do not wait for others
	IfUp    bool     // Acquire: refused at once while its server is known not to answer
	Async   bool     // Ready is closed, and nothing sent to it
	Own     bool     // Acquire: of a quorum, of which Owner is the number
	Was     bool     // verdict of Force: it was locked
	Settled bool     // verdict of Acquire, with ErrNotAcquired: nothing that was asked for it can be granted any more
	stage   stage
	aboard  bool          // its wish is part of the renewal under way; of a question without a lock: it has left
	undone  bool          // it was granted, and given back for Cause; of an unlock: no caller has had the hold
	LetIn   bool          // Acquire: its caller waited before, so that no bound on those who wait refuses it
	number  int32         // of the first of a line: how many stand in it; negative: it is refused, and others with it
	Key     string        // as Redis knows it
	Owner   uint64        // who may re-enter; 0: nobody
	Hold    *Hold         // Acquire: to be filled in; Unlock, Extend: which
	Lease   time.Duration // Acquire: 0 is watched; Extend: 0 is watched again
	Wait    time.Duration // Acquire: how long, 0 for as long as the caller likes
	Joint   *Joint        // Acquire: several plain locks at once, instead of Key and Hold; nil for one

	// The coordinator's.
	lock   *Lock
	line   *line // the line it stands in, nil when it stands in none
	next   *Request
	prev   *Request
	posted time.Duration
	timer  wheel.Timer[Sleeper]

	// The verdict, and what it takes to tell it.
	Name  string        // as the caller says it, for observers
	State *Reply        // verdict of a state request, of a count, and of a shutdown that was cut short: how many are held
	Ready chan struct{} // of one slot, the engine's way to tell the caller; actors do not touch it
	Told  func()        // called instead, on the loop: must not block
	Err   error         // verdict: nil, one of this package's errors, or the server's own
	Cause error         // verdict: why, where Err alone does not say it
	Token uint64        // verdict of Acquire: the fencing token, if the kind has them
}

// stage is how far a request is.
type stage uint8

const (
	posted  stage = iota // it waits to be looked into
	opened               // the coordinator has looked into it
	decided              // it has its verdict, maybe before it was looked into
)

// GiveBack is the unlock of a grant that no caller has had: a loss of it is not told, and not counted.
func GiveBack(h *Hold) *Request { return &Request{Tag: Unlock, Hold: h, undone: true} }

// Decided reports whether the verdict is out. Owned by the coordinator.
func (r *Request) Decided() bool { return r.stage == decided }

// Open takes in that a request is looked into, and reports whether it was not before. Owned by the coordinator.
func (r *Request) Open() bool {
	if r.stage != posted {
		return false
	}
	r.stage = opened
	return true
}

// Opened reports whether it is looked into, or was, or need not be any more. Owned by the coordinator.
func (r *Request) Opened() bool { return r.stage != posted }

// Depart takes in that the question of a request without a lock has left, or that it waits again. Owned by the
// coordinator.
func (r *Request) Depart(left bool) { r.aboard = left }

// Departed reports whether it has left. Owned by the coordinator.
func (r *Request) Departed() bool { return r.aboard }

// Lock is the actor the request was handed to, nil if none. Owned by the coordinator.
func (r *Request) Lock() *Lock { return r.lock }

// Posted is when the coordinator first saw the request. Owned by the coordinator.
func (r *Request) Posted() time.Duration { return r.posted }

// Reset makes a request with a verdict ready for another wish of the same caller.
func (r *Request) Reset() { *r = Request{Ready: r.Ready} }

// Wake is called when the request's own timer fires.
func (r *Request) Wake(now time.Duration, fx *Effects) {
	if r.lock != nil {
		r.lock.Step(now, &Message{Kind: Overdue, Request: r}, fx)
		return
	}
	fx.Decide(now, r, ErrUnavailable, errNoAnswer)
}

// line is a queue of requests, first come first served: a circular list that only knows its last.
type line struct{ last *Request }

func (q *line) empty() bool { return q.last == nil || q.last.next.number < 0 && q.first() == nil }

// first is the first of those who are not refused already; nil when there is none.
func (q *line) first() *Request {
	if q.last == nil {
		return nil
	}
	if first := q.last.next; first.number > 0 {
		return first
	}
	return q.behindRefused()
}

// behindRefused is apart, so that first is small: it is asked for in every step.
func (q *line) behindRefused() *Request { return q.behind(q.last.next.lock.refusing().last()) }

// head is the first of all who stand in the line; nil when there is none.
func (q *line) head() *Request {
	if q.last == nil {
		return nil
	}
	return q.last.next
}

// len is how many stand in the line.
func (q *line) len() int32 {
	if q.last == nil {
		return 0
	}
	return max(q.last.next.number, -q.last.next.number)
}

// grows counts one more, or one less.
func (q *line) grows(by int32) {
	if first := q.head(); first.number < 0 {
		first.number -= by
	} else {
		first.number += by
	}
}

// marks notes with the first of all whether it is refused already, for first.
func (q *line) marks(refused bool) {
	if first := q.head(); first != nil && refused == (first.number > 0) {
		first.number = -first.number
	}
}

// behind returns nil for the last of the line.
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

// insert puts a request in front of another one that stands there.
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
	if before == first && first.Once && q == &r.lock.queue { // it is behind another since
		r.lock.withRare().try(first)
	}
}

func (q *line) noted(r *Request) {
	if (r.Owner != 0 || r.Once) && q == &r.lock.queue {
		r.lock.stands(r)
	}
}

// stoodBetween takes in that a request came between its neighbours, or is about to leave: a queue notes how many of its
// requests stand in front of one that was posted before them.
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

// lead puts one of the line, which is not the first, in front of all others.
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

// refusing is what is left to do of a refusal of the first of the line; nil: nothing.
func (q *line) refusing() *refusal {
	if first := q.head(); first.number < 0 {
		return first.lock.refusing()
	}
	return nil
}

// each calls f for everyone in the line, in order; f may remove the one it is given.
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
