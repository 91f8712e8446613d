package actor

import "time"

// Joint is what a request wants that is for several plain locks at once, all or none, in one command. A
// request with a Joint is never used for anything else afterwards.
//
// While it waits it has nothing in Redis: it stands in the queue of one lock, the one it was last told is
// taken, and when its turn comes there it asks for all. Its locks are claimed for as long as that question
// is under way: they are asked for, by one tenure number for all, and whoever else comes for one of them
// queues behind. The lock it stands at leads: the command is that lock's, and the others wait for the answer.
// With the grant they part: each is held, renewed, released and lost by itself, as if asked for alone.
type Joint struct {
	Parts []Part // by key, no key twice
	At    int    // which part the verdict is about, where it is about one

	// Patience is how long it waits at least before ErrOvertaken can be its verdict; 0: that is never.
	Patience time.Duration

	locks []*Lock // of the parts while they are claimed, nil otherwise
}

// Part is one lock of several.
type Part struct {
	Name  string // as the caller says it
	Key   string // as Redis knows it
	Owner uint64 // who may re-enter it then; 0: a new owner
	Hold  *Hold  // to be filled in
}

// Asked is one key of a command for several, and the tenures to release there first.
type Asked struct {
	Key    string
	Ghosts []uint64
}

// Keys is how many keys a command is about.
func (c *Command) Keys() int { return max(1, len(c.Parts)) }

// Claimed reports whether the request's locks are claimed for it.
func (r *Request) Claimed() bool { return r.Joint.locks != nil }

// locks is how many locks a request is for; counters and observers count each.
func (r *Request) locks() uint64 {
	if r.Joint == nil {
		return 1
	}
	return uint64(len(r.Joint.Parts))
}

// First reports whether the request is the first in the queue it stands in.
func (r *Request) First() bool { return r.line != nil && r.line.first() == r }

// Asks reports whether a request for several locks is to be asked for now: it is its turn where it stands, and nothing is under way
// there. It may have been said to be ready twice, and wait elsewhere since.
func (r *Request) Asks(now time.Duration) bool {
	if r.Decided() || !r.First() {
		return false
	}
	l := r.lock
	return (l.phase == free || l.phase == asking) && l.flight == None && (l.rare == nil || now >= l.rare.askAt)
}

// Claimable reports whether the lock can be asked for together with others on behalf of that request: it is
// nobody's here, and nobody here waits for it who came before. A request that is refused for somebody who waits
// stands behind that one, so that two never send each other from queue to queue.
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

// askJointly is for a request for several locks whose turn it is: the coordinator knows the others.
func (l *Lock) askJointly(now time.Duration, r *Request, fx *Effects) {
	if l.rare != nil && now < l.rare.askAt {
		return
	}
	if l.phase == asking && !r.Claimed() {
		l.endTenure(now, fx) // it was asked for on behalf of somebody who left
	}
	fx.Ready = append(fx.Ready, r)
}

// Claim claims locks that are all Claimable, those of the request's parts in their order. What was heard of one before is no reason
// to wait any more, for whoever wants it next: it is asked for now.
func (r *Request) Claim(locks []*Lock, fx *Effects) {
	tenure := fx.nextTenure()
	for _, l := range locks {
		l.tenure, l.phase, l.flight = tenure, asking, SendJointAcquire
		l.wants |= departed // it is not theirs to take back
		if l.rare != nil {
			l.rare.askAt = 0
		}
		fx.Asking++
	}
	r.lock.flight = None
	r.Joint.locks = locks
}

// AskClaimed sends the request's question, unless that is under way.
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

// jointly takes in what became of a question for several locks, which this one led.
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

// parted ends the claim: each lock goes its own way. The one that led settles by itself.
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

// disperse gives up a claim of which nothing is known to be in Redis.
func (r *Request) disperse(now time.Duration, fx *Effects) {
	for _, l := range r.parted(fx) {
		l.endTenure(now, fx)
	}
}

// acquired takes in that all locks are this engine's. If the request is gone, or the answer came too late to
// be relied on, they are given back.
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
			l.withRare() // to listen for those who came meanwhile
		}
	}
	others := len(locks) - 1 // of which the verdict counts one
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

// blame says which lock an error is about. Once the verdict is out the caller reads it.
func (r *Request) blame(part int) {
	if !r.Decided() {
		r.Joint.At = part
	}
}

// taken takes in that somebody else has one of the locks: the request waits there.
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

// refusedJointly takes in that the server does not want to answer: for now, or for good.
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

// moved takes in a request for several locks that waits for this one from now on.
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

// queueSenior takes over a request from another queue, in front of all who came to this engine after it, but
// not of one that is being asked for.
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

// pushSenior puts a request in front of all that were posted after it, except one, and behind all others. Were it in front of some
// only, two requests for several locks could send each other from queue to queue without end.
func (q *line) pushSenior(r, spared *Request) {
	if x := r.lock.rare; x != nil && x.disorder != 0 {
		q.sortAround(r, spared)
		return
	}
	if q.empty() {
		q.push(r)
		return
	}
	// Mostly its place is near one of the ends, so it is looked for from both.
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

// sortAround is pushSenior where requests do not stand in the order in which they were posted.
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
