package actor

import (
	"errors"
	"slices"
	"time"
)

// ErrReentry is the result of a request for several locks when the owner holds one of them. It held that lock already,
// or was granted it while the request waited. The request holds nothing. Its caller must acquire the locks one by one.
var ErrReentry = errors.New("lockwheel: one of the locks is held already by the same owner")

// MultiRequest is a request for several plain locks at once, all or none, in one command. A request with Multi set is
// never reused. It belongs to whichever side owns its Request. The zero value has no parts and cannot be posted: it
// needs at least one.
//
// While the request waits it has nothing in Redis. It waits in the queue of one lock: the one that the last reply found
// held. At the head of that queue it acquires all of the locks together. Meanwhile they are reserved for it: all are
// acquiring, with one tenure number, and other requests for one of them queue behind. The lock that it waited for
// is its command lock: the command is that lock's, and the others wait for the reply. After the grant each lock is
// held, renewed, released and lost by itself, as if acquired alone.
type MultiRequest struct {
	Parts      []Part // sorted by key, without duplicates
	FailedPart int    // index of the part that the result is about, if it is about one; AllParts: of all

	// OvertakenAfter is the minimum wait before ErrOvertaken can be the result, or longer far from the server; 0: it
	// never is.
	OvertakenAfter time.Duration

	reserved []*Lock // the locks of the parts while they are reserved; nil otherwise
	number   uint64  // in the order in which requests for several locks were received
}

// AllParts is the FailedPart of a command that the server rejected as a whole, without saying because of which key.
const AllParts = -1

// Part is one lock of several. It belongs to whichever side owns its Request. The coordinator changes only what Hold
// points to. The zero Part has no key, and cannot be requested.
type Part struct {
	Name  string // name as the caller gave it
	Key   string // key in Redis
	Owner uint64 // identity that may re-enter it then; 0: a new owner
	Hold  *Hold  // filled in by the grant
}

// PartKey is one key of a command for several locks, and the tenures to release there first. It belongs to whichever
// side owns its Command. The zero PartKey has no key, and is never sent.
type PartKey struct {
	Key     string
	Orphans []uint64
}

// Keys returns the number of keys that a command is about.
func (c *Command) Keys() int { return max(1, len(c.Parts)) }

// Reserved reports whether the request's locks are reserved for it.
func (r *Request) Reserved() bool { return r.Multi.reserved != nil }

// ownerAt returns the owner that a request for several locks has at one of them; 0 if it has none.
func (m *MultiRequest) ownerAt(key string) uint64 {
	if at := slices.IndexFunc(m.Parts, func(part Part) bool { return part.Key == key }); at >= 0 {
		return m.Parts[at].Owner
	}
	return 0
}

// RejectReentry gives a request for several locks its result if the owner holds one of them. This is not a failure for
// the caller, which continues one lock after the other.
func (fx *Effects) RejectReentry(now time.Duration, r *Request) {
	if r.Completed() {
		return
	}
	fx.Complete(now, r, ErrReentry, nil)
	fx.Stats.Failed -= r.lockCount()
}

// lockCount returns the number of locks that a request is for; counters and observers count each.
func (r *Request) lockCount() uint64 {
	if r.Multi == nil {
		return 1
	}
	return uint64(len(r.Multi.Parts))
}

// IsFirst reports whether the request is the first in its queue.
func (r *Request) IsFirst() bool { return r.list != nil && r.list.first() == r }

// ReadyToSend reports whether to send the command of a request for several locks now. That is so if it is the first in
// its queue and nothing is in flight there. The check is needed because a request may be in Effects.ReadyMulti twice,
// and wait elsewhere since.
func (r *Request) ReadyToSend(now time.Duration) bool {
	if r.Completed() || !r.IsFirst() {
		return false
	}
	l := r.lock
	return (l.phase == free || l.phase == acquiring) && l.inFlight == None && (l.ext == nil || now >= l.ext.nextTry)
}

// Reservable reports whether the lock can be reserved for that request: this engine does not use it, and no earlier
// request waits for it here. A request that is turned away because of a waiter queues behind that waiter. So two
// requests never send each other from queue to queue.
func (l *Lock) Reservable(now time.Duration, r *Request) bool {
	if l.phase != free {
		return false
	}
	if first := l.queue.first(); first != nil && first != r && !first.cameAfter(r) {
		return false
	}
	x := l.ext
	switch {
	case x == nil:
		return true
	case !x.forceRequests.empty():
		return false
	case l.queue.empty() && x.lastErr() == nil:
		return now >= x.yieldUntil
	}
	return now >= x.nextTry
}

// announceReady reports a request for several locks as ready: only the coordinator knows the other locks.
func (l *Lock) announceReady(now time.Duration, r *Request, fx *Effects) {
	if l.ext != nil && now < l.ext.nextTry {
		return
	}
	if l.phase == acquiring && !r.Reserved() {
		l.endTenure(now, fx) // it was acquired for a request that has left
	}
	if fx.MaxMultiMoves != 0 && fx.MultiMoves >= fx.MaxMultiMoves {
		l.ensureExt().nextTry = now + time.Millisecond
		return
	}
	fx.ReadyMulti = append(fx.ReadyMulti, r)
}

// Reserve reserves the locks of the request's parts, in their order; all must be Reservable. Replies from before no
// longer delay the next request for one of them: each lock is asked for now.
func (r *Request) Reserve(locks []*Lock, fx *Effects) {
	tenure := fx.nextTenure()
	for _, l := range locks {
		l.tenure, l.phase, l.inFlight = tenure, acquiring, SendMultiAcquire
		l.flags |= dispatched // the single locks cannot take it back
		if l.ext != nil {
			l.ext.nextTry = 0
		}
		fx.AcquiringLocks++
	}
	r.lock.inFlight = None
	r.Multi.reserved = locks
}

// SendReserved sends the request's command, unless that is in flight.
func (r *Request) SendReserved(fx *Effects) {
	commandLock := r.lock
	if commandLock.inFlight != None {
		return
	}
	c := Command{Verb: SendMultiAcquire, Lease: fx.leaseFor(r), Request: r, Parts: make([]PartKey, len(r.Multi.reserved))}
	for i, l := range r.Multi.reserved {
		c.Parts[i].Key = l.key
		if l.ext != nil {
			l.ext.retryNow = false
			c.Parts[i].Orphans = l.ext.orphanIDs()
		}
	}
	commandLock.inFlight = c.Verb
	commandLock.emit(fx, c)
}

// onMultiReply handles the result of a command for several locks; this is its command lock.
func (l *Lock) onMultiReply(now time.Duration, m *Message, fx *Effects) {
	r := m.Command.Request
	switch m.Reply.Status {
	case OK:
		r.onAllAcquired(now, m, fx)
	case HeldByOther:
		r.onPartHeldByOther(now, m, fx)
	case Rejected:
		l.onMultiRejected(now, r, m.Reply, fx)
	default:
		for _, part := range r.Multi.reserved {
			part.noteUnacked(m.Sent, m.Command.Lease, fx)
			part.ext.acquireUnacked, part.ext.ensureFailure().lastErr = true, m.Reply.Err
		}
		l.ext.multiRequest = r
		if m.Reply.shouldBackOff() {
			l.ext.nextTry = now + l.ext.nextBackoff(fx)
		}
	}
}

// unreserve ends the reservation: each lock continues by itself. The command lock is being stepped anyway; the others
// are added to Effects.ToRecheck.
func (r *Request) unreserve(fx *Effects) (locks []*Lock) {
	locks, r.Multi.reserved = r.Multi.reserved, nil
	for _, l := range locks {
		l.inFlight = None
		if l.ext != nil {
			l.ext.multiRequest = nil
		}
		if l != r.lock {
			fx.ToRecheck = append(fx.ToRecheck, l)
		}
	}
	return locks
}

// abandon gives up a reservation of which nothing is known to be in Redis.
func (r *Request) abandon(now time.Duration, fx *Effects) {
	for _, l := range r.unreserve(fx) {
		l.endTenure(now, fx)
	}
}

// onAllAcquired handles the grant of all locks. They are released if the request is gone, or if the grant cannot be
// relied on: its reply came too late, or the clock jumped or the master changed since it was sent.
func (r *Request) onAllAcquired(now time.Duration, m *Message, fx *Effects) {
	locks, expired, pause := r.unreserve(fx), false, r.lock.lateReplyBackoff()
	for _, l := range locks {
		l.setPhase(held, fx)
		l.storedCount = 1
		fx.AcquiringLocks--
		fx.HeldLocks++
		l.confirm(m.Sent, m.Command.Lease, fx)
		expired = expired || now >= l.validUntil
	}
	if expired {
		r.lock.onLateReply(now, pause, m.Command.Lease, fx)
	}
	if expired || r.Completed() || m.Sent < r.lock.reconfirmSince(fx) {
		rollBackAll(now, locks, !r.Completed(), fx)
		return
	}
	for i, l := range locks {
		part := &r.Multi.Parts[i]
		fixed := time.Duration(0)
		if r.Lease != 0 {
			fixed = l.validUntil
		}
		l.grantHold(now, part.Hold, part.Owner, false, fixed, fx)
		if !l.queue.empty() {
			l.ensureExt() // to subscribe for requests that came meanwhile
		}
	}
	others := len(locks) - 1 // the result counts one
	fx.Stats.Acquired += uint64(others)
	fx.Stats.Held += int64(others)
	fx.Complete(now, r, nil, nil)
	for _, l := range locks {
		l.reenterWaiters(now, fx)
		l.rejectWaitingTries(now, fx)
	}
}

// rollBackAll releases locks that were granted together, and to no caller. Requests may wait for these releases, that
// for all of the locks too, and no other owner has had the locks. If awaited, a caller that blocks waits for all of
// these releases.
func rollBackAll(now time.Duration, locks []*Lock, awaited bool, fx *Effects) {
	for _, l := range locks {
		l.validUntil = max(l.validUntil, now+fx.Config.CallTimeout) // for the release only
		l.startRelease(fx)
		l.flags |= rollingBack
		if l.ext != nil {
			l.ext.knownHeld = false
		}
		if awaited {
			l.ensureExt().ensureFailure().hastened = true
		}
	}
}

// setFailedPart records which lock an error is about. Once the request has its result, the caller reads it.
func (r *Request) setFailedPart(part int) {
	if !r.Completed() {
		r.Multi.FailedPart = part
	}
}

// onPartHeldByOther handles a rejection because one of the locks has another holder: the request queues there.
func (r *Request) onPartHeldByOther(now time.Duration, m *Message, fx *Effects) {
	r.setFailedPart(m.Reply.FailedPart)
	locks := r.unreserve(fx)
	at := locks[m.Reply.FailedPart]
	for _, l := range locks {
		if l == at {
			l.onHeldByOther(now, m, fx)
			continue
		}
		l.endTenure(now, fx)
		if l.ext != nil {
			l.ext.clearFailure()
		}
	}
	orphan := at.ext.orphanSeenAt() == now
	if r.Completed() || at == r.lock {
		return
	}
	if r.Once && (!orphan || !at.queue.empty()) {
		fx.Complete(now, r, ErrNotAcquired, nil)
		return
	}
	if r.rejectOvertaken(now, fx) {
		return
	}
	fx.ToRecheck = append(fx.ToRecheck, r.lock)
	at.enqueueByAge(r, fx)
}

// onMultiRejected handles a rejection by the server, temporary or permanent.
func (l *Lock) onMultiRejected(now time.Duration, r *Request, reply *Reply, fx *Effects) {
	r.abandon(now, fx)
	if !reply.isTransient() {
		r.setFailedPart(reply.FailedPart)
		fx.Complete(now, r, reply.Err, nil)
		return
	}
	r.setFailedPart(max(reply.FailedPart, 0)) // where its caller goes on, if it takes the locks one by one
	x := l.ensureExt()
	x.ensureFailure().lastErr = reply.Err
	x.nextTry = now + x.nextBackoff(fx)
}

// onEnqueued handles a request for several locks that waits in this lock's queue from now on.
func (l *Lock) onEnqueued(now time.Duration, r *Request, fx *Effects) {
	if l.ownedBy(r.Multi.ownerAt(l.key)) {
		fx.RejectReentry(now, r)
		return
	}
	if r.Once && (l.phase == held || !l.queue.empty() && !l.rollsBack()) {
		l.RejectTry(now, r, fx)
		return
	}
	if r.rejectOvertaken(now, fx) {
		return
	}
	l.hasten(r, fx)
	if x := l.ext; x != nil && l.phase == free && l.queue.empty() {
		x.resetWait(now)
	}
	l.enqueueByAge(r, fx)
	if l.phase == held {
		l.ensureExt()
	}
}

// enqueueByAge takes over a request from another queue. Its place there is that of its age, see insertByAge, but not in
// front of the first if the acquire of that may be in flight.
func (l *Lock) enqueueByAge(r *Request, fx *Effects) {
	if r.list != nil {
		r.list.remove(r)
	}
	r.lock = l
	if r.Multi != nil { // the owner of a request for one lock is the same at each
		r.Owner = r.Multi.ownerAt(l.key)
	}
	except := l.queue.first()
	if l.phase == free {
		except = nil
	}
	l.queue.insertByAge(r, except, fx)
}

// cameAfter reports whether the request came after another one. All of a turn have the same time. Those for several
// locks have an order among them then, too: without it three of them could send each other from queue to queue without
// end, each because of the next. One for a single lock stays in its queue.
func (r *Request) cameAfter(other *Request) bool {
	if r.receivedAt == other.receivedAt && r.Multi != nil && other.Multi != nil {
		return r.Multi.number > other.Multi.number
	}
	return r.receivedAt > other.receivedAt
}

// insertByAge puts a request behind the last that was not posted after it, or that is except. So it is behind the one
// because of which it came: if it were in front of that, two requests for several locks could send each other from
// queue to queue without end. It is in front of all that were posted after it, but for those that have overtaken an
// earlier one there.
//
// Mostly its place is near one of the ends, so the search runs from both, also in a queue that is not sorted by time of
// posting: from the front until no disorder is left behind. One turn looks at no more than Effects.MaxPlaceSteps
// requests for that; then it is the last.
func (q *requestList) insertByAge(r, except *Request, fx *Effects) {
	if q.empty() {
		q.push(r)
		return
	}
	younger := func(other *Request) bool { return other != except && other.cameAfter(r) }
	left := int32(0) // disorder behind front
	if x := r.lock.ext; x != nil {
		left = x.outOfOrder
	}
	var run *Request // the first of the younger requests without a gap up to front; nil: front is not younger
	for front, back := q.first(), q.last; fx.mayStep(); front, back = front.next, back.prev {
		switch {
		case !younger(front):
			run = nil
		case run == nil:
			run = front
		}
		switch {
		case run != nil && left == 0:
			q.insert(r, run)
			return
		case !younger(back) && back == q.last:
			q.push(r)
			return
		case !younger(back):
			q.insert(r, back.next)
			return
		case front == back || front.next == back:
			if run == nil {
				run = back
			}
			q.insert(r, run)
			return
		}
		left -= outOfOrder(front, front.next)
	}
	q.push(r)
}

// mayStep reports whether this turn may look at one more request to find a place in a queue, and counts it.
func (fx *Effects) mayStep() bool {
	fx.PlaceSteps++
	return fx.MaxPlaceSteps == 0 || fx.PlaceSteps <= fx.MaxPlaceSteps
}
