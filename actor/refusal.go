package actor

import (
	"slices"
	"time"
)

// refusal is an unfinished rejection of very many requests for one name: each turn rejects a limited number, and the
// next turns follow at once. Meanwhile these requests get no grant and no acquire is sent for them. Except for counters
// they are gone: a request that comes later is the first behind them. Requests that try once are not affected until it
// is their turn.
type refusal struct {
	parts []refused // parts of the queue, from its head on
	tries *roster   // requests that try once, of a lock with another holder; nil: none
}

// refused is a part of a queue that is rejected for the same reason.
type refused struct {
	last       *Request // the last request of the part
	err, cause error
	alone      bool // only requests for this lock alone; others go on waiting
	bounded    bool // only requests posted until that time
	until      time.Duration
}

// spares reports whether a request goes on waiting.
func (why *refused) spares(r *Request) bool {
	return why.alone && r.Joint != nil || why.bounded && r.posted > why.until
}

// tries are the requests of a queue that try once and came behind others. refusing is stored here because
// few locks ever have it.
type tries struct {
	roster
	refusing *refusal // nil: no request is still to be rejected
}

func (l *Lock) refusing() *refusal {
	if l.rare == nil || l.rare.tries == nil {
		return nil
	}
	return l.rare.tries.refusing
}

// Refusing reports whether there are requests still to be rejected.
func (l *Lock) Refusing() bool { return l.refusing() != nil }

// mayRefuse reports whether this turn may reject one more request, and counts it.
func (fx *Effects) mayRefuse() bool {
	fx.Refusals++
	return fx.RefusalsMost == 0 || fx.Refusals <= fx.RefusalsMost
}

// refuseAll rejects all requests of the queue. The first gets its result in any case, because it may lead a command for
// several locks.
func (l *Lock) refuseAll(now time.Duration, why refused, fx *Effects) {
	next := (*Request)(nil)
	for r, n := l.queue.first(), 0; r != nil; r, n = next, n+1 {
		if !fx.mayRefuse() && n > 0 {
			why.last = l.queue.last
			x := l.refuseLater(fx)
			x.parts = append(x.parts, why)
			l.queue.marks(true)
			return
		}
		next = l.queue.behind(r)
		l.refuse(now, r, &why, fx)
	}
}

func (l *Lock) refuse(now time.Duration, r *Request, why *refused, fx *Effects) {
	if !why.spares(r) {
		fx.Decide(now, r, why.err, why.cause)
		l.leads(r)
	}
}

// refuseLater makes the coordinator send RefusesOn in a later turn.
func (l *Lock) refuseLater(fx *Effects) *refusal {
	x := l.withRare()
	if x.tries == nil {
		x.tries = &tries{}
	}
	if x.tries.refusing == nil {
		x.tries.refusing = &refusal{}
		fx.Refusing = append(fx.Refusing, l)
	}
	return x.tries.refusing
}

// refuseTries rejects the requests that try once and came behind others, because another owner has the lock.
func (l *Lock) refuseTries(now time.Duration, fx *Effects) {
	if l.rare == nil || l.rare.tries == nil {
		return
	}
	all := &l.rare.tries.roster
	for all.len() > 0 {
		if !fx.mayRefuse() {
			l.refuseLater(fx).takes(all)
			return
		}
		l.refuseTaken(now, all.pop(), nil, fx)
	}
}

// takes moves the requests that try once into the refusal.
func (x *refusal) takes(all *roster) {
	if x.tries == nil {
		x.tries = &roster{}
		*x.tries, *all = *all, *x.tries
		return
	}
	for r := all.pop(); r != nil; r = all.pop() { // they came in the few turns since
		x.tries.add(r)
	}
}

// refuseOn continues an unfinished rejection, as far as the turn allows.
func (l *Lock) refuseOn(now time.Duration, fx *Effects) {
	x := l.refusing()
	if x == nil {
		return
	}
	for x.tries != nil && fx.mayRefuse() {
		if r := x.tries.pop(); r != nil {
			l.refuseTaken(now, r, nil, fx)
		} else {
			x.tries = nil
		}
	}
	for len(x.parts) > 0 && fx.mayRefuse() {
		r, why := l.queue.head(), x.parts[0]
		if l.refuse(now, r, &why, fx); !r.Decided() {
			l.queueSenior(r)
		}
	}
	if len(x.parts) == 0 && x.tries == nil {
		l.rare.tries.refusing = nil
		l.rare.tidyTries()
	}
}

// left updates the parts for a request that is about to leave the queue.
func (x *refusal) left(r *Request, q *line) {
	at := slices.IndexFunc(x.parts, func(p refused) bool { return p.last == r })
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
func (x *refusal) last() *Request {
	if len(x.parts) == 0 {
		return nil
	}
	return x.parts[len(x.parts)-1].last
}
