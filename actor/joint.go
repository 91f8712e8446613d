package actor

import "time"

// Joint is a request for several plain locks at once, all or none, in one command. A request with a Joint is never
// reused.
//
// While the request waits it has nothing in Redis. It waits in the queue of one lock: the one that the last reply found
// held. At the head of that queue it acquires all of the locks together. Meanwhile they are reserved for it: all are
// asking, with one tenure number, and other requests for one of them queue behind. The lock that it waited for
// leads: the command is that lock's, and the others wait for the reply. After the grant each lock is held, renewed,
// released and lost by itself, as if acquired alone.
type Joint struct {
	Parts []Part // sorted by key, without duplicates
	At    int    // index of the part that the result is about, if it is about one

	// Patience is the minimum wait before ErrOvertaken can be the result; 0: it never is.
	Patience time.Duration

	locks []*Lock // locks of the parts while they are reserved; nil otherwise
}

// Part is one lock of several.
type Part struct {
	Name  string // name as the caller gave it
	Key   string // key in Redis
	Owner uint64 // identity that may re-enter it then; 0: a new owner
	Hold  *Hold  // filled in by the grant
}

// Asked is one key of a command for several locks, and the tenures to release there first.
type Asked struct {
	Key    string
	Ghosts []uint64
}

// Keys returns the number of keys that a command is about.
func (c *Command) Keys() int { return max(1, len(c.Parts)) }

// Claimed reports whether the request's locks are reserved for it.
func (r *Request) Claimed() bool { return r.Joint.locks != nil }

// locks returns the number of locks that a request is for; counters and observers count each.
func (r *Request) locks() uint64 {
	if r.Joint == nil {
		return 1
	}
	return uint64(len(r.Joint.Parts))
}

// First reports whether the request is the first in its queue.
func (r *Request) First() bool { return r.line != nil && r.line.first() == r }

// Asks reports whether to send the command of a request for several locks now. That is so if it is the first in its
// queue and nothing is in flight there. The check is needed because a request may be in Effects.Ready twice, and wait
// elsewhere since.
func (r *Request) Asks(now time.Duration) bool {
	if r.Decided() || !r.First() {
		return false
	}
	l := r.lock
	return (l.phase == free || l.phase == asking) && l.flight == None && (l.rare == nil || now >= l.rare.askAt)
}

// Claimable reports whether the lock can be reserved for that request: this engine does not use it, and no earlier
// request waits for it here. A request that is turned away because of a waiter queues behind that waiter. So two
// requests never send each other from queue to queue.
func (l *Lock) Claimable(now time.Duration, r *Request) bool {
	if l.phase != free {
		return false
	}
	if first := l.queue.first(); first != nil && first != r && first.posted <= r.posted {
		return false
	}
	x := l.rare
	switch {
	case x == nil:
		return true
	case !x.forces.empty():
		return false
	case l.queue.empty() && x.trouble() == nil:
		return now >= x.stepBack
	}
	return now >= x.askAt
}

// askJointly reports a request for several locks as ready: only the coordinator knows the other locks.
func (l *Lock) askJointly(now time.Duration, r *Request, fx *Effects) {
	if l.rare != nil && now < l.rare.askAt {
		return
	}
	if l.phase == asking && !r.Claimed() {
		l.endTenure(now, fx) // it was acquired for a request that has left
	}
	fx.Ready = append(fx.Ready, r)
}

// Claim reserves the locks of the request's parts, in their order; all must be Claimable. Replies from before no longer
// delay the next request for one of them: each lock is asked for now.
func (r *Request) Claim(locks []*Lock, fx *Effects) {
	tenure := fx.nextTenure()
	for _, l := range locks {
		l.tenure, l.phase, l.flight = tenure, asking, SendJointAcquire
		l.wants |= departed // the single locks cannot take it back
		if l.rare != nil {
			l.rare.askAt = 0
		}
		fx.Asking++
	}
	r.lock.flight = None
	r.Joint.locks = locks
}

// AskClaimed sends the request's command, unless that is in flight.
func (r *Request) AskClaimed(fx *Effects) {
	lead := r.lock
	if lead.flight != None {
		return
	}
	c := Command{Verb: SendJointAcquire, Lease: fx.leaseOf(r), Request: r, Parts: make([]Asked, len(r.Joint.locks))}
	for i, l := range r.Joint.locks {
		c.Parts[i].Key = l.key
		if l.rare != nil {
			l.rare.again = false
			c.Parts[i].Ghosts = l.rare.names()
		}
	}
	lead.flight = c.Verb
	lead.emit(fx, c)
}

// jointly handles the result of a command for several locks, which this lock led.
func (l *Lock) jointly(now time.Duration, m *Message, fx *Effects) {
	r := m.Command.Request
	switch m.Reply.Status {
	case Done:
		r.acquired(now, m, fx)
	case Taken:
		r.taken(now, m, fx)
	case Refused:
		l.refusedJointly(now, r, m.Reply, fx)
	default:
		for _, part := range r.Joint.locks {
			part.unanswered(m.Sent, m.Command.Lease, fx)
			part.rare.acquiring, part.rare.withTroubles().last = true, m.Reply.Err
		}
		l.rare.joint = r
		if m.Reply.pauses() {
			l.rare.askAt = now + l.rare.nextBackoff(fx)
		}
	}
}

// parted ends the reservation: each lock continues by itself. The leader is being stepped anyway; the others are
// reported as touched.
func (r *Request) parted(fx *Effects) (locks []*Lock) {
	locks, r.Joint.locks = r.Joint.locks, nil
	for _, l := range locks {
		l.flight = None
		if l.rare != nil {
			l.rare.joint = nil
		}
		if l != r.lock {
			fx.Touched = append(fx.Touched, l)
		}
	}
	return locks
}

// disperse gives up a reservation of which nothing is known to be in Redis.
func (r *Request) disperse(now time.Duration, fx *Effects) {
	for _, l := range r.parted(fx) {
		l.endTenure(now, fx)
	}
}

// acquired handles the grant of all locks. They are released if the request is gone, or if the reply came too late to
// be relied on.
func (r *Request) acquired(now time.Duration, m *Message, fx *Effects) {
	locks, late, pause := r.parted(fx), false, r.lock.pauseLate()
	for _, l := range locks {
		l.become(held, fx)
		l.written = 1
		fx.Asking--
		fx.Tenures++
		l.confirm(m.Sent, m.Command.Lease, fx)
		late = late || now >= l.until
	}
	if late {
		r.lock.tooLate(now, pause, m.Command.Lease, fx)
	}
	if late || r.Decided() || m.Sent < r.lock.doubted(fx) {
		r.giveBack(now, locks, fx)
		return
	}
	for i, l := range locks {
		part := &r.Joint.Parts[i]
		fixed := time.Duration(0)
		if r.Lease != 0 {
			fixed = l.until
		}
		l.give(now, part.Hold, part.Owner, false, fixed, fx)
		if !l.queue.empty() {
			l.withRare() // to subscribe for requests that came meanwhile
		}
	}
	others := len(locks) - 1 // the result counts one
	fx.Stats.Acquired += uint64(others)
	fx.Stats.Held += int64(others)
	fx.Decide(now, r, nil, nil)
	for _, l := range locks {
		l.reunite(now, fx)
		l.refuseOnce(now, fx)
	}
}

func (r *Request) giveBack(now time.Duration, locks []*Lock, fx *Effects) {
	for _, l := range locks {
		l.until = max(l.until, now+fx.Config.Timeout) // for the release only
		l.end(fx)
	}
}

// blame records which lock an error is about. Once the request has its result, the caller reads it.
func (r *Request) blame(part int) {
	if !r.Decided() {
		r.Joint.At = part
	}
}

// taken handles a rejection because one of the locks has another holder: the request queues there.
func (r *Request) taken(now time.Duration, m *Message, fx *Effects) {
	r.blame(m.Reply.Part)
	locks := r.parted(fx)
	at := locks[m.Reply.Part]
	for _, l := range locks {
		if l == at {
			l.taken(now, m, fx)
			continue
		}
		l.endTenure(now, fx)
		if l.rare != nil {
			l.rare.calm()
		}
	}
	ghost := at.rare.foundAt() == now
	if r.Decided() || at == r.lock {
		return
	}
	if r.Once && (!ghost || !at.queue.empty()) {
		fx.Decide(now, r, ErrNotAcquired, nil)
		return
	}
	if r.overtaken(now, fx) {
		return
	}
	fx.Touched = append(fx.Touched, r.lock)
	at.queueSenior(r)
}

// refusedJointly handles a rejection by the server, temporary or permanent.
func (l *Lock) refusedJointly(now time.Duration, r *Request, reply *Reply, fx *Effects) {
	r.disperse(now, fx)
	r.blame(reply.Part)
	if !reply.passes() {
		fx.Decide(now, r, reply.Err, nil)
		return
	}
	x := l.withRare()
	x.withTroubles().last = reply.Err
	x.askAt = now + x.nextBackoff(fx)
}

// moved handles a request for several locks that waits in this lock's queue from now on.
func (l *Lock) moved(now time.Duration, r *Request, fx *Effects) {
	if r.Once && (l.phase == held || !l.queue.empty()) {
		l.TurnAway(now, r, fx)
		return
	}
	if r.overtaken(now, fx) {
		return
	}
	if x := l.rare; x != nil && l.phase == free && l.queue.empty() {
		x.begin(now)
	}
	l.queueSenior(r)
	if l.phase == held {
		l.withRare()
	}
}

// queueSenior takes over a request from another queue. It is put in front of all requests posted after it, except
// the first if its acquire may be in flight.
func (l *Lock) queueSenior(r *Request) {
	if r.line != nil {
		r.line.remove(r)
	}
	r.lock = l
	spared := l.queue.first()
	if l.phase == free {
		spared = nil
	}
	l.queue.pushSenior(r, spared)
}

// pushSenior puts a request in front of all that were posted after it, except spared, and behind all others. If it were
// in front of only some of them, two requests for several locks could send each other from queue to queue without end.
func (q *line) pushSenior(r, spared *Request) {
	if x := r.lock.rare; x != nil && x.disorder != 0 {
		q.sortAround(r, spared)
		return
	}
	if q.empty() {
		q.push(r)
		return
	}
	// Mostly its place is near one of the ends, so the search runs from both.
	younger := func(other *Request) bool { return other != spared && other.posted > r.posted }
	for front, back := q.first(), q.last; ; front, back = front.next, back.prev {
		switch {
		case younger(front):
			q.insert(r, front)
			return
		case !younger(back) && back == q.last:
			q.push(r)
			return
		case !younger(back):
			q.insert(r, back.next)
			return
		}
	}
}

// sortAround is pushSenior for a queue that is not sorted by time of posting.
func (q *line) sortAround(r, spared *Request) {
	var younger []*Request
	for other, next := q.first(), (*Request)(nil); other != nil; other = next {
		if next = q.behind(other); other != spared && other.posted > r.posted {
			younger = append(younger, other)
			q.remove(other)
		}
	}
	q.push(r)
	for _, other := range younger {
		q.push(other)
	}
}
