package actor

import (
	"slices"
	"time"
)

// refusal is what is left to do where very many who wait for one name are refused together: a turn refuses so many, and the turns that
// follow at once the rest. Nothing is granted to those of the queue meanwhile, nor asked for on their behalf: for all but who counts them they
// have gone, and who comes later is first behind them. Those who only try stay what they are until it is their turn.
type refusal struct {
	parts []refused // of the queue, from its head on
	tries *roster   // who tried, and another has the lock; nil: there are none
}

// refused is some of a queue who are refused for the same reason.
type refused struct {
	last       *Request
	err, cause error
	alone      bool // only who waits for this lock alone; the others go on waiting
	bounded    bool // only who was posted until that moment
	until      time.Duration
}

// spares reports whether a caller goes on waiting.
func (why *refused) spares(r *Request) bool {
	return why.alone && r.Joint != nil || why.bounded && r.posted > why.until
}

// tries are those of a queue who do not wait and came behind others, and beside them what few locks ever have.
type tries struct {
	roster
	refusing *refusal // nil: no caller is still to be refused
}

func (l *Lock) refusing() *refusal {
	if l.rare == nil || l.rare.tries == nil {
		return nil
	}
	return l.rare.tries.refusing
}

// Refusing reports whether there are callers who are still to be refused.
func (l *Lock) Refusing() bool { return l.refusing() != nil }

// mayRefuse reports whether this turn may refuse one more, and counts it.
func (fx *Effects) mayRefuse() bool {
	fx.Refusals++
	return fx.RefusalsMost == 0 || fx.Refusals <= fx.RefusalsMost
}

// refuseAll refuses all who stand in the queue. The first has its verdict in any case: it may lead a question for several locks.
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

// refuseLater has the coordinator come back.
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

// refuseTries refuses those who do not wait, and came behind others, because another has the lock.
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

// takes takes over who tried.
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

// refuseOn refuses those who are still to be refused, as many as the turn may.
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

// left takes in that a request is about to leave the queue.
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

// last is the last of the queue who is to be refused; nil: there is none.
func (x *refusal) last() *Request {
	if len(x.parts) == 0 {
		return nil
	}
	return x.parts[len(x.parts)-1].last
}
