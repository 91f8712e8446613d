package actor

import "time"

const (
	// ThreadOwner is set in owner numbers that a caller chose to keep for several locks. All others are made by a first
	// grant and end with its last hold.
	ThreadOwner = 1 << 63
	// QuorumOwner is set in addition in owner numbers of a quorum. They are valid while the quorum has the lock or asks
	// for it. A caller that got such a number keeps it afterwards, but does not re-enter once the quorum is over.
	QuorumOwner = 1 << 62
)

// acquire handles a request for the lock.
func (l *Lock) acquire(now time.Duration, r *Request, fx *Effects) {
	r.lock = l
	if l.phase == held && l.holds != nil && r.Owner != 0 && r.Owner == l.holds.Owner {
		l.reenter(now, r, fx)
		return
	}
	if r.Once && l.refuses(now) {
		l.TurnAway(now, r, fx)
		return
	}
	if x := l.rare; x != nil && l.phase == free {
		switch {
		case l.queue.empty():
			x.begin(now)
		case r.Once && x.trouble() == nil:
			x.askAt = now // the requests before it sleep, and the reply for which they do may be outdated
		}
	}
	l.queue.push(r)
	switch {
	case r.Once:
		fx.Limit(r, now+fx.Config.Timeout+fx.Config.ReplicaFor)
	case r.Wait > 0:
		fx.Limit(r, r.posted+r.Wait)
	}
	if l.phase == held {
		l.withRare()
	}
}

// refuses reports whether a request that tries once can be rejected without asking the server. That is so if this
// engine has the lock, or had it just now and yields to other engines. A reply about another holder's lock is no
// reason, because it may be outdated.
func (l *Lock) refuses(now time.Duration) bool {
	x := l.rare
	switch {
	case l.phase == held:
		return true
	case l.queue.empty() || x != nil && x.trouble() == errTooLate: // it may be free: the leases of the waiters are too short
		return false
	case l.phase == free || l.phase == asking || l.phase == forcing:
		return x != nil && (now < x.stepBack || x.trouble() != nil)
	}
	return true
}

// refuseOnce rejects the requests that try once: another owner has the lock.
func (l *Lock) refuseOnce(now time.Duration, fx *Effects) {
	if first := l.queue.first(); first != nil && first.Once {
		l.refuseTaken(now, first, nil, fx)
	}
	l.refuseTries(now, fx)
}

// refuseTaken rejects a request because another owner has the lock.
func (l *Lock) refuseTaken(now time.Duration, r *Request, cause error, fx *Effects) {
	r.Settled = !l.mayBeGiven()
	fx.Decide(now, r, ErrNotAcquired, cause)
}

// mayBeGiven reports whether the server may have granted the lock to this engine, or may still do so. That is so if an
// acquire is in flight, or if one got no reply.
func (l *Lock) mayBeGiven() bool {
	if x := l.rare; x != nil && (x.acquiring || len(x.ghosts()) != 0) {
		return true
	}
	return l.phase == asking && l.flight != None && l.wants&departed != 0
}

// eachOnce calls f for the requests of the queue that try once. These are the first of the queue, which is not
// recorded, and the recorded ones behind others. It does not scan the queue.
func (l *Lock) eachOnce(f func(*Request)) {
	if first := l.queue.first(); first != nil && first.Once {
		f(first)
	}
	if l.rare == nil || l.rare.tries == nil {
		return
	}
	for _, r := range l.rare.tries.all() {
		f(r)
	}
}

// TurnAway rejects a request that tries once: with ErrUnavailable if the last try failed, otherwise with ErrNotAcquired.
func (l *Lock) TurnAway(now time.Duration, r *Request, fx *Effects) {
	if l.rare != nil && l.rare.trouble() != nil {
		fx.Decide(now, r, ErrUnavailable, l.rare.trouble())
		return
	}
	l.refuseTaken(now, r, nil, fx)
}

// begin resets what was known for earlier waiters: the next request asks the server itself.
func (x *rare) begin(now time.Duration) {
	x.answered = false
	x.polls(now)
	if x.handoff != nil {
		x.handoff.left = 0
	}
	ready := max(now, x.stepBack)
	if t := x.troubles; t != nil && t.last != nil {
		ready = min(x.askAt, max(now+t.backoff, x.stepBack)) // no later than the pause, whatever lease was waited for before
	}
	x.askAt = ready
}

// reenter grants a re-entry at once if the confirmed lease covers it; a longer lease takes a round trip first.
func (l *Lock) reenter(now time.Duration, r *Request, fx *Effects) {
	if l.reentered(now, r, fx) {
		return
	}
	if limit := l.patience(r, fx); limit != 0 {
		fx.Limit(r, now+limit)
	}
}

// reentered reports whether a re-entry got its result. If not, it is queued for a round trip.
func (l *Lock) reentered(now time.Duration, r *Request, fx *Effects) bool {
	if l.reentersNow(now, r, fx) {
		return true
	}
	l.withRare().changes.push(r)
	return false
}

// reentersNow gives a re-entry its result if that takes no round trip, and reports whether it did.
func (l *Lock) reentersNow(now time.Duration, r *Request, fx *Effects) bool {
	if r.Lease == 0 && l.spent(now, fx) {
		fx.Decide(now, r, ErrLost, errMaxHold) // its owner has the lock only by a fixed lease
		return true
	}
	fits := r.Lease == 0 || now+believed(r.Lease) <= l.until
	if fits && l.confirmed >= l.doubted(fx) {
		fixed := time.Duration(0)
		if r.Lease != 0 {
			fixed = now + believed(r.Lease)
		}
		l.grant(now, r, fixed, fx)
		return true
	}
	return false
}

// reunite lets all requests re-enter that wait as the owner which was just granted the lock. This is necessary because
// the first hold may wait for them before it unlocks. For kinds with per-request locks those requests wait at other
// Locks, which the coordinator knows. Without such a request the queue is not scanned.
func (l *Lock) reunite(now time.Duration, fx *Effects) {
	owner := l.holds.Owner
	switch {
	case l.kind.Claims():
		l.rejoin(now, fx) // they were re-entering when their owner lost it, and a per-request lock has no other queue
		if owner&ThreadOwner != 0 || l.besideWriter() {
			fx.Reunites = append(fx.Reunites, Reunite{l, owner})
		}
	case owner&ThreadOwner != 0 && l.waits(owner, false):
		l.rejoin(now, fx)
	}
	if l.kind == Write && owner&ThreadOwner != 0 {
		fx.Reunites = append(fx.Reunites, Reunite{l, owner}) // they may wait to read as well
	}
}

// stands records a request that joined the queue. The first of the queue is recorded with the second, because mostly
// there is no second.
func (l *Lock) stands(r *Request) {
	if r.next == r {
		return
	}
	if r.Once {
		l.withRare().try(r)
	}
	switch {
	case r.Owner == 0:
	case l.rare != nil && l.rare.owners != nil:
		l.rare.owners.add(r)
	default:
		l.ownersWaiting()
	}
}

// try records a request that tries once; a second call for it moves it to the end.
func (x *rare) try(r *Request) {
	if x.tries == nil {
		x.tries = &tries{}
	}
	x.tries.remove(r)
	x.tries.add(r)
}

// left removes the records of a request that left the queue.
func (x *rare) left(r *Request, q *line) {
	if r.Once && x.tries != nil {
		x.tries.remove(r)
		if again := x.tries.refusing; again != nil && again.tries != nil {
			again.tries.remove(r)
		}
		x.tidyTries()
	}
	switch {
	case x.owners == nil:
	case q.last == nil:
		x.owners = nil
	case r.Owner != 0:
		x.owners.remove(r)
	}
}

// tidyTries drops an empty roster.
func (x *rare) tidyTries() {
	if x.tries.len() == 0 && x.tries.refusing == nil {
		x.tries = nil
	}
}

// waiters is the set of requests that wait as one owner; own counts those that a quorum makes itself.
type waiters struct {
	roster
	own int
}

// waitersOf maps owners to their requests in a queue.
type waitersOf map[uint64]*waiters

func (o waitersOf) add(r *Request) {
	w := o[r.Owner]
	if w == nil {
		w = &waiters{}
		o[r.Owner] = w
	}
	if w.add(r); r.Own {
		w.own++
	}
}

func (o waitersOf) remove(r *Request) {
	w := o[r.Owner]
	if w == nil {
		return
	}
	if w.remove(r); r.Own {
		w.own--
	}
	if w.len() == 0 {
		delete(o, r.Owner)
	}
}

// ownersWaiting returns the requests of the queue by owner. The first call scans the queue; the index is then kept
// until the queue is empty.
func (l *Lock) ownersWaiting() waitersOf {
	x := l.withRare()
	if x.owners == nil {
		x.owners = make(waitersOf)
		l.queue.each(func(r *Request) {
			if r.Owner != 0 {
				x.owners.add(r)
			}
		})
	}
	return x.owners
}

// waitingAs returns the requests of the queue that wait as an owner.
func (l *Lock) waitingAs(owner uint64) []*Request {
	if l.queue.empty() {
		return nil
	}
	if w := l.ownersWaiting()[owner]; w != nil {
		return w.all()
	}
	return nil
}

// waits reports whether a request of the queue waits as an owner. With own, only a quorum's own requests count.
func (l *Lock) waits(owner uint64, own bool) bool {
	if l.queue.empty() {
		return false
	}
	w := l.ownersWaiting()[owner]
	return w != nil && (!own || w.own > 0)
}

// Waiting returns a request that waits for the per-request lock as that owner; nil if there is none. All requests that
// wait at such a lock have the same owner.
func (l *Lock) Waiting(owner uint64) *Request {
	if l.phase == held && l.holds != nil {
		return nil // while ending, holds keeps the last hold until the release gets its reply
	}
	if r := l.queue.first(); r != nil && r.Owner == owner {
		return r
	}
	return nil
}

// rejoins takes over a request of this lock's owner from another per-request lock.
func (l *Lock) rejoins(now time.Duration, r *Request, fx *Effects) {
	r.line.remove(r)
	r.lock = l
	if l.phase == held && l.holds != nil {
		l.reentered(now, r, fx)
		return
	}
	l.queue.push(r)
}

// RefuseUpgrades rejects requests that wait to write as an owner that reads: they would wait for themselves. It reports
// whether there were any. Without one the queue is not scanned.
func (l *Lock) RefuseUpgrades(now time.Duration, owner uint64, fx *Effects) bool {
	if l.kind != Write || l.CountOf(owner, now) > 0 || !l.waits(owner, false) {
		return false
	}
	for _, r := range l.waitingAs(owner) {
		fx.Decide(now, r, ErrUpgrade, nil)
	}
	return true
}

// rejoin lets the requests of the queue re-enter that have the lock's owner.
func (l *Lock) rejoin(now time.Duration, fx *Effects) {
	owner := l.holds.Owner
	if owner == 0 {
		return
	}
	for _, r := range l.waitingAs(owner) {
		l.queue.remove(r)
		l.reentered(now, r, fx)
	}
}

// patience returns how long a re-entry waits for its round trip; 0: no limit besides the caller's own.
func (l *Lock) patience(r *Request, fx *Effects) time.Duration {
	if r.Once {
		return fx.Config.Timeout
	}
	return r.Wait
}

// grant gives the lock to a request. fixed is the end of its own lease; 0: it is watched.
func (l *Lock) grant(now time.Duration, r *Request, fixed time.Duration, fx *Effects) {
	first := l.holds == nil
	l.give(now, r.Hold, r.Owner, r.Own, fixed, fx)
	if l.protocol().tokens {
		r.Token = l.withRare().withLeases().given
	}
	fx.Decide(now, r, nil, nil)
	if first {
		l.reunite(now, fx)
		l.refuseOnce(now, fx)
	}
}

// keeps reports whether a first grant leaves the owner its number instead of making a new one. A quorum's number stays
// only with a request of the quorum itself: with this one, or with one that waits and re-enters then.
func (l *Lock) keeps(owner uint64, own bool, fx *Effects) bool {
	switch {
	case l.besideWriter():
		return true
	case owner&ThreadOwner == 0:
		return false
	case owner&QuorumOwner == 0 || own:
		return true
	case l.kind.Claims():
		return fx.Expects != nil && fx.Expects(l.key, owner)
	}
	return l.waits(owner, true)
}

// give makes a hold the innermost of the lock.
func (l *Lock) give(now time.Duration, h *Hold, owner uint64, own bool, fixed time.Duration, fx *Effects) {
	if l.holds == nil {
		l.fence()
		l.since = now
		l.wants &^= capped | wantFresh
		h.Owner = owner
		if !l.keeps(owner, own, fx) {
			h.Owner = fx.nextOwner()
		}
		if l.kind.Claims() {
			fx.Claimed = append(fx.Claimed, l)
		}
		if longest := fx.Config.MaxHold; longest != 0 && longest <= fx.Config.Lease && fixed == 0 {
			l.wants |= capped
		}
	} else {
		h.Owner = l.holds.Owner
	}
	if fixed == 0 && !l.watched() && (l.holds != nil || l.until-l.confirmed > fx.watched) {
		l.wants |= unhurried
	}
	h.Tenure, h.lock, h.fixed = l.tenure, l, fixed
	l.add(h, fx)
}

// fence makes the latest token the new owner's. A token that comes after the grant is the next owner's.
func (l *Lock) fence() {
	if l.protocol().tokens {
		x := l.withRare().withLeases()
		x.given = x.token
	}
}

// leaseOf returns the lease that a request needs when it becomes the owner.
func (fx *Effects) leaseOf(r *Request) time.Duration {
	if r.Lease != 0 {
		return r.Lease
	}
	if fx.Config.MaxHold != 0 {
		return min(fx.Config.Lease, fx.Config.MaxHold)
	}
	return fx.Config.Lease
}

// ask sends an acquire for the first request of the queue, if it is time.
func (l *Lock) ask(now time.Duration, fx *Effects) {
	r := l.queue.first()
	if r == nil {
		return
	}
	if r.Joint != nil {
		l.askJointly(now, r, fx)
		return
	}
	x := l.rare
	if x != nil && now < x.askAt {
		return
	}
	if l.phase == free {
		l.tenure, l.phase = l.nextTenure(fx), asking
		l.numbered(l.tenure, fx)
		fx.Asking++
	}
	l.flight = l.protocol().acquire
	c := Command{Verb: l.flight, Lease: fx.leaseOf(r), Again: x != nil && x.answered && !r.Once}
	if x != nil {
		x.again = false
		c.Ghosts = x.names()
		if l.besideWriter() {
			c.Reads = &Reads{Writer: x.reading.writer}
			x.reading.asked = true
		}
	}
	if l.protocol().queues {
		p := l.withRare().withPlace()
		c.Wait, c.Behind = p.keep(fx.waitOf(r)), p.behind
	}
	l.emit(fx, c)
}

// acquired handles the result of an acquire.
func (l *Lock) acquired(now time.Duration, m *Message, fx *Effects) {
	switch m.Reply.Status {
	case Done:
		l.become(held, fx)
		l.written = 1
		fx.Asking--
		fx.Tenures++
		pause := l.pauseLate()
		l.confirm(m.Sent, m.Command.Lease, fx)
		l.tokened(m.Reply)
		if x := l.rare; x != nil {
			x.polls(now)
			x.took(now)
			if x.reading != nil && m.Command.Reads == nil {
				x.reading.over = true // no other owner writes
			}
		}
		if !m.Reply.replicated(fx) {
			l.undo(now, m.Reply, fx)
			return
		}
		if now >= l.until {
			l.tooLate(now, pause, m.Command.Lease, fx)
			l.until = now + fx.Config.Timeout // for the release only
			l.end(fx)
			return
		}
		l.granted(now, m, fx)
	case Taken:
		l.taken(now, m, fx)
	case Refused:
		l.refused(now, m.Reply, fx)
	default:
		l.unanswered(m.Sent, m.Command.Lease, fx)
		l.rare.acquiring = true
		l.rare.withTroubles().last = m.Reply.Err
		if m.Reply.pauses() {
			l.rare.askAt = now + l.rare.nextBackoff(fx)
		}
	}
}

// tokened stores the fencing token of a reply.
func (l *Lock) tokened(reply *Reply) {
	if reply.Token != 0 {
		l.withRare().withLeases().token = reply.Token
	}
}

// granted hands a tenure that was just acquired to the first request of the queue, if it has the lease that this
// request needs. Otherwise passOn confirms it first.
func (l *Lock) granted(now time.Duration, m *Message, fx *Effects) {
	r := l.queue.first()
	forced := l.rare != nil && !l.rare.forces.empty()
	if r != nil && r.Joint == nil && !forced && fx.leaseOf(r) == m.Command.Lease && m.Sent >= l.doubted(fx) {
		l.hand(now, r, fx)
	}
}

// pastShort is the maximum number of requests that are passed over to find one with a longer lease.
const pastShort = 1 << 10

// pauseLate returns the pause before this try if the previous reply was too late as well; else 0. It must be called
// before confirm, which resets the pause, even for a reply that is too late itself.
func (l *Lock) pauseLate() time.Duration {
	if l.rare == nil || l.rare.trouble() != errTooLate {
		return 0
	}
	return l.rare.troubles.backoff
}

// tooLate handles a reply that came after the validity of its own lease, which is no grant; pause is the one before
// this try. The pauses grow. Two late replies in a row are no stall. A lease shorter than the way to the server would
// keep all other callers of this engine from the lock. So a request with a longer lease goes first.
func (l *Lock) tooLate(now, pause, lease time.Duration, fx *Effects) {
	x := l.withRare()
	t := x.withTroubles()
	t.last, t.backoff = errTooLate, pause
	x.askAt = now + x.nextBackoff(fx)
	if pause == 0 {
		return
	}
	first := l.queue.first() // not the request that the command was for, if that one has left
	for r, left := l.queue.first(), pastShort; r != nil && left > 0; r, left = l.queue.behind(r), left-1 {
		if fx.leaseOf(r) <= lease {
			continue
		}
		if r != first {
			l.queue.lead(r)
		}
		x.askAt = now
		return
	}
}

// refused handles a rejection by the server, temporary or permanent.
func (l *Lock) refused(now time.Duration, reply *Reply, fx *Effects) {
	if !l.protocol().queues {
		l.endTenure(now, fx)
	}
	x := l.withRare()
	if reply.passes() {
		x.withTroubles().last = reply.Err
		x.askAt = now + x.nextBackoff(fx)
		return
	}
	l.refuseAll(now, refused{err: reply.Err}, fx)
}
