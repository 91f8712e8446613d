package actor

import (
	"slices"
	"time"
)

// rejection is an unfinished rejection of very many requests for one name: each turn rejects a limited number, and the
// next turns follow at once. Meanwhile these requests get no grant and no acquire is sent for them. Except for counters
// they are gone: a request that comes later is the first behind them. Requests that try once are not affected until it
// is their turn. The zero value has nothing to reject. Owned by the coordinator.
type rejection struct {
	parts []rejectedPart // parts of the queue, from its head on
	tries *requestSet    // requests that try once, of a lock with another holder; nil: none
	owner uint64         // its requests for several locks, while it holds this one; 0: none
}

// rejectedPart is a part of a queue that is rejected for the same reason. Without last it is only the reason. Owned by
// the coordinator. The zero value has no reason.
type rejectedPart struct {
	last       *Request // the last request of the part
	err, cause error
	singleOnly bool // only requests for this lock alone; others go on waiting
	bounded    bool // only requests posted until that time
	until      time.Duration
}

// skips reports whether a request goes on waiting.
func (why *rejectedPart) skips(r *Request) bool {
	return why.singleOnly && r.Multi != nil || why.bounded && r.receivedAt > why.until
}

// queuedTries are the requests of a queue that try once and came behind others. rejecting is stored here because few
// locks ever have it. The zero value has none. Owned by the coordinator.
type queuedTries struct {
	requestSet
	rejecting *rejection // nil: no request is still to be rejected
}

func (l *Lock) rejecting() *rejection {
	if l.ext == nil || l.ext.tries == nil {
		return nil
	}
	return l.ext.tries.rejecting
}

// Rejecting reports whether there are requests still to be rejected.
func (l *Lock) Rejecting() bool { return l.rejecting() != nil }

// mayReject reports whether this turn may reject one more request, and counts it.
func (fx *Effects) mayReject() bool {
	fx.Rejections++
	return fx.MaxRejections == 0 || fx.Rejections <= fx.MaxRejections
}

// rejectAll rejects all requests of the queue. The first gets its result in any case, because it may lead a command for
// several locks.
func (l *Lock) rejectAll(now time.Duration, why rejectedPart, fx *Effects) {
	next := (*Request)(nil)
	for r, n := l.queue.first(), 0; r != nil; r, n = next, n+1 {
		if !fx.mayReject() && n > 0 {
			why.last = l.queue.last
			x := l.rejectLater(fx)
			x.parts = append(x.parts, why)
			l.queue.markRejected(true)
			return
		}
		next = l.queue.following(r)
		l.rejectOne(now, r, &why, fx)
	}
}

func (l *Lock) rejectOne(now time.Duration, r *Request, why *rejectedPart, fx *Effects) {
	if !why.skips(r) {
		fx.Complete(now, r, why.err, why.cause)
		l.noteMultiRequest(r)
	}
}

// rejectLater makes the coordinator send ContinueRejecting in a later turn.
func (l *Lock) rejectLater(fx *Effects) *rejection {
	x := l.ensureExt()
	if x.tries == nil {
		x.tries = &queuedTries{}
	}
	if x.tries.rejecting == nil {
		x.tries.rejecting = &rejection{}
		fx.Rejecting = append(fx.Rejecting, l)
	}
	return x.tries.rejecting
}

// rejectTries rejects the requests that try once and came behind others, because another owner has the lock.
func (l *Lock) rejectTries(now time.Duration, fx *Effects) {
	if l.ext == nil || l.ext.tries == nil {
		return
	}
	all := &l.ext.tries.requestSet
	for all.len() > 0 {
		if !fx.mayReject() {
			l.rejectLater(fx).addTries(all)
			return
		}
		l.rejectHeldByOther(now, all.pop(), nil, fx)
	}
}

// addTries moves the requests that try once into the rejection.
func (x *rejection) addTries(all *requestSet) {
	if x.tries == nil {
		x.tries = &requestSet{}
		*x.tries, *all = *all, *x.tries
		return
	}
	for r := all.pop(); r != nil; r = all.pop() { // they came in the few turns since
		x.tries.add(r)
	}
}

// rejectMultis rejects the requests for several locks that wait as the lock's owner. An owner may wait for them before
// it unlocks.
func (l *Lock) rejectMultis(now time.Duration, fx *Effects) {
	owner := l.holds.Owner
	for w := l.waitersOf(owner); w != nil && w.multis.len() > 0; {
		if !fx.mayReject() {
			l.rejectLater(fx).owner = owner
			return
		}
		fx.RejectReentry(now, w.multis.pop())
	}
}

// continueRejecting continues an unfinished rejection, as far as the turn allows.
func (l *Lock) continueRejecting(now time.Duration, fx *Effects) {
	x := l.rejecting()
	if x == nil {
		return
	}
	for x.tries != nil && fx.mayReject() {
		if r := x.tries.pop(); r != nil {
			l.rejectHeldByOther(now, r, nil, fx)
		} else {
			x.tries = nil
		}
	}
	for len(x.parts) > 0 && fx.mayReject() {
		r, why := l.queue.head(), x.parts[0]
		if l.rejectOne(now, r, &why, fx); !r.Completed() {
			l.enqueueByAge(r, fx)
		}
	}
	owner := x.owner
	if x.owner = 0; l.ownedBy(owner) {
		l.rejectMultis(now, fx)
	}
	if len(x.parts) == 0 && x.tries == nil && x.owner == 0 {
		l.ext.tries.rejecting = nil
		l.ext.dropEmptyTries()
	}
}

// onLeft updates the parts for a request that is about to leave the queue.
func (x *rejection) onLeft(r *Request, q *requestList) {
	at := slices.IndexFunc(x.parts, func(p rejectedPart) bool { return p.last == r })
	if at < 0 {
		return
	}
	if r == q.head() || at > 0 && x.parts[at-1].last == r.prev {
		x.parts = slices.Delete(x.parts, at, at+1)
	} else {
		x.parts[at].last = r.prev
	}
}

// last returns the last request of the queue that is to be rejected; nil: there is none.
func (x *rejection) last() *Request {
	if len(x.parts) == 0 {
		return nil
	}
	return x.parts[len(x.parts)-1].last
}
