package actor

import (
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/wheel"
)

// Phase says how a lock stands with Redis.
type Phase uint8

const (
	free    Phase = iota // not ours in Redis, as far as is known
	asking               // an acquire was sent, or is to be sent again
	held                 // ours, also while it is on its way from one owner to the next
	ending               // to be released
	forcing              // to be taken away from whoever holds it
)

// String returns a phase's name.
func (p Phase) String() string {
	return [...]string{free: "free", asking: "asking", held: "held", ending: "ending", forcing: "forcing"}[p]
}

// What a lock should do as soon as it may.
const (
	wantConfirm uint8 = 1 << iota // confirm the tenure now
	wantFresh                     // confirmed since its last owner left
	capped                        // the lease was cut to Config.MaxHold: no renewal makes it longer
	wantSet                       // the server may not have the TTL that it was told: the next renewal sets it
	unhurried                     // it was not watched when it was confirmed: its next renewal has no due time

	// departed is beside them because there is room: the command under way has left, so that it may run. Until then it
	// can be taken back.
	departed
	// marked is kept from tenure to tenure: a command of the Lock was taken back, and may still stand in a queue.
	marked
	// undoing: the tenure that ends was granted to nobody, because too few replicas have it.
	undoing
)

// Lock is one name in one engine: who holds it, who waits, what is under way. Owned by the coordinator.
//
// Its size decides what a held lock costs, so whatever an uncontended lock does not need is in rare.
type Lock struct {
	key   string
	timer wheel.Timer[Sleeper]

	tenure    uint64        // in Redis, or asked for; 0 when free
	confirmed time.Duration // when the last confirmed command that set the TTL was sent
	until     time.Duration // how long the tenure is believed in
	since     time.Duration // the owner's first grant

	holds    *Hold // the owner's, innermost first; while Ending, the hold whose unlock began it
	queue    line  // who waits for the lock
	releases line  // who waits for the release to be answered
	rare     *rare

	phase   Phase
	flight  Verb // the one command of the tenure that is under way
	wants   uint8
	kind    LockKind
	written uint32 // hold count in Redis
}

// NewLock returns the actor of a key that this engine has nothing to do with yet.
func NewLock(key string, kind LockKind) *Lock {
	l := &Lock{}
	l.Begin(key, kind)
	return l
}

// Begin makes a lock that ended usable for another key.
func (l *Lock) Begin(key string, kind LockKind) {
	*l = Lock{key: key, kind: kind}
	l.timer.Value = l
}

// Finish empties a lock that is Idle. Holds of long ago may still point to it: they are told apart by
// their tenure.
func (l *Lock) Finish(fx *Effects) {
	l.wheel(fx).Cancel(&l.timer)
	*l = Lock{}
}

// Key is the lock's key in Redis; empty once it has finished.
func (l *Lock) Key() string { return l.key }

// ByKey orders locks by their keys.
func ByKey(l, other *Lock) int { return strings.Compare(l.key, other.key) }

// Kind is the kind of lock that it is.
func (l *Lock) Kind() LockKind { return l.kind }

// Become makes a lock that is not Busy one of another kind.
func (l *Lock) Become(kind LockKind, fx *Effects) {
	if l.rare != nil && l.rare.listening && protocols[kind].channel != l.protocol().channel {
		l.rare.leaveAt = 0
		l.setListening(false, fx)
	}
	l.kind = kind
}

// Queued is how many requests stand in the lock's queue.
func (l *Lock) Queued() int { return int(l.queue.len()) }

// Idle reports whether the lock can be forgotten: nothing held, wanted, under way or listened to.
func (l *Lock) Idle() bool {
	return l.phase == free && l.queue.last == nil && (l.rare == nil || l.rare.idle())
}

func (x *rare) idle() bool { return !x.listening && !x.busy() }

func (x *rare) busy() bool { return len(x.ghosts()) != 0 || !x.changes.empty() || !x.forces.empty() }

// Knows reports whether a tenure is the lock's.
func (l *Lock) Knows(tenure uint64) bool {
	return l.tenure == tenure || l.rare != nil && l.rare.evicted() == tenure
}

// Numbers are the tenures that it knows or is to release.
func (l *Lock) Numbers() (tenures []uint64) {
	if l.tenure != 0 {
		tenures = append(tenures, l.tenure)
	}
	if x := l.rare; x != nil {
		if evicted := x.evicted(); evicted != 0 {
			tenures = append(tenures, evicted)
		}
		tenures = append(tenures, x.names()...)
	}
	return tenures
}

// numbered tells of a claim's number, by which its coordinator finds it among very many.
func (l *Lock) numbered(tenure uint64, fx *Effects) {
	if l.kind.Claims() {
		fx.Numbered = append(fx.Numbered, Numbered{l, tenure})
	}
}

// Granted reports whether it is held by an owner, also if that is not believed any more.
func (l *Lock) Granted() bool { return l.phase == held && l.holds != nil }

// Haunted reports whether a tenure is one that the lock is to release.
func (l *Lock) Haunted(tenure uint64) bool { return l.rare != nil && l.rare.haunted(tenure) }

// Busy reports whether the lock is in use, and not only listened to for those who may come.
func (l *Lock) Busy() bool {
	return l.phase != free || !l.queue.empty() || l.rare != nil && l.rare.busy()
}

// UnderWay is the command of the tenure that is queued or with the server; None if there is none.
func (l *Lock) UnderWay() Verb { return l.flight }

// Tenure is the tenure in Redis for this engine, or asked for; 0 when there is none.
func (l *Lock) Tenure() uint64 { return l.tenure }

// Believed reports whether the lock is held by one of this engine's owners at that moment.
func (l *Lock) Believed(now time.Duration) bool {
	return l.phase == held && l.holds != nil && now < l.until
}

// Owner is who has or had the lock last, until another has it; 0 if nobody has had this tenure.
func (l *Lock) Owner() uint64 {
	if l.holds == nil {
		return 0
	}
	return l.holds.Owner
}

// CountOf is how many holds an owner has at that moment.
func (l *Lock) CountOf(owner uint64, now time.Duration) (count int) {
	if owner == 0 || !l.Believed(now) || l.holds.Owner != owner {
		return 0
	}
	if s := l.set(); s != nil {
		return s.live - len(s.passed(now))
	}
	if now < l.holds.Until() {
		return 1
	}
	return 0
}

// Fetch looks at the lock, and at what steps look at of whoever will be told what became of its command, so that both
// are in the processor's cache then. The result means nothing.
func (l *Lock) Fetch() (sum int) {
	r := l.releases.first()
	if r == nil {
		r = l.queue.first()
	}
	if r == nil {
		return 0
	}
	if r.Decided() {
		sum++
	}
	if r.Joint != nil {
		sum++
	}
	if r.timer.Value != nil {
		sum++
	}
	return sum
}

// Wake is called when the lock's timer fires.
func (l *Lock) Wake(now time.Duration, fx *Effects) {
	l.Step(now, &Message{Kind: Woken}, fx)
}

// Step is the one door: it takes in a message, then sends what is wanted now and was not before.
func (l *Lock) Step(now time.Duration, m *Message, fx *Effects) {
	before := l.phase
	l.expire(now, fx)
	switch m.Kind {
	case Acquire:
		l.acquire(now, m.Request, fx)
	case Unlock:
		l.unlock(now, m.Request, fx)
	case Extend:
		l.extend(now, m.Request, fx)
	case Force:
		l.force(now, m.Request, fx)
	case Cancel:
		l.giveUp(now, m.Request, m.Cause, fx)
	case Overdue:
		l.giveUp(now, m.Request, nil, fx)
	case Answered:
		l.answer(now, m, fx)
	case Returned:
		l.returned(now, m.Command, fx)
	case Heard:
		l.heard(now)
	case Called:
		l.called(now)
	case Subscribed:
		l.subscribed(now, fx)
	case Unheard:
		l.unheard(now, fx)
	case Unreached:
		if m.Request != nil {
			l.unconnected(now, m.Request, m.Cause, fx)
		} else {
			l.unreached(now, m.Cause, fx)
		}
	case Doubt:
		if l.phase == held {
			l.wants |= wantConfirm
		}
		if l.rare != nil {
			// The TTL that it sleeps for went on, and so did the pause that the server wanted.
			l.rare.askAt = min(l.rare.askAt, now)
			if t := l.rare.troubles; t != nil {
				t.retryAt = min(t.retryAt, now)
			}
		}
	case Found:
		l.hurry(now)
	case Displaced:
		if l.phase == held {
			l.lose(now, errDisplaced, fx)
		}
	case Ousted:
		if l.phase == held {
			l.lose(now, errForced, fx)
		}
	case Drain:
		l.drain(now, fx)
	case Foremost:
		l.foremost(now, m.Reply != nil, fx)
	case Moved:
		l.moved(now, m.Request, fx)
	case Rejoins:
		l.rejoins(now, m.Request, fx)
	case Unreplicated:
		l.unreplicated(now, m, fx)
	case RefusesOn:
		l.refuseOn(now, fx)
	}
	l.settle(now, fx)
	if fx.Stepped != nil {
		l.report(m, before, fx)
	}
}

func (l *Lock) report(m *Message, before Phase, fx *Effects) {
	s := Step{Lock: l, Kind: m.Kind, Before: before, After: l.phase}
	if m.Kind == Answered {
		s.Verb, s.Status = m.Command.Verb, m.Reply.Status
	}
	fx.Stepped(s)
}

// settle brings what is under way in line with what is wanted.
func (l *Lock) settle(now time.Duration, fx *Effects) {
	if l.recallable() {
		l.recall(now, fx)
	}
	if l.rare != nil {
		l.evict(now, fx)
	}
	if l.phase == held && l.holds == nil {
		l.passOn(now, fx)
	}
	if l.recallable() {
		l.recall(now, fx)
	}
	if l.flight == None {
		l.send(now, fx)
	}
	if l.rare != nil {
		l.exorcise(now, fx)
		l.releaseGhosts(now, fx)
		l.listen(now, fx)
	}
	l.rearm(now, fx)
}

// send emits the one command that the lock's phase asks for, if any.
func (l *Lock) send(now time.Duration, fx *Effects) {
	switch {
	case l.phase == asking && l.rare != nil && l.rare.joint != nil:
		if l.rare.joint.Decided() {
			l.rare.joint.disperse(now, fx)
		}
	case l.phase == asking && l.queue.empty():
		l.stopAsking(now, fx)
	}
	switch l.phase {
	case free:
		if l.rare != nil && !l.rare.forces.empty() {
			l.sendForce(now, fx)
			return
		}
		l.ask(now, fx)
	case asking:
		l.ask(now, fx)
	case held:
		l.renew(now, fx)
	case ending:
		l.sendRelease(now, fx)
	}
}

func (l *Lock) emit(fx *Effects, c Command) {
	c.Lock, c.Key = l, l.key
	if c.Tenure == 0 {
		c.Tenure = l.tenure
		l.wants &^= departed
	}
	fx.Commands = append(fx.Commands, c)
}

// answer takes in what became of a command. Of an older tenure only ghosts still matter.
func (l *Lock) answer(now time.Duration, m *Message, fx *Effects) {
	c, reply := m.Command, m.Reply
	if c.Tenure != l.tenure || c.Verb != l.flight {
		l.ghostAnswered(now, c, reply, fx)
		return
	}
	l.flight = None
	switch p := l.protocol(); c.Verb {
	case SendJointAcquire:
		l.jointly(now, m, fx)
	case p.acquire:
		l.acquired(now, m, fx)
	case p.renew, p.pass:
		l.renewed(now, m, fx)
	case p.release:
		l.released(now, m, fx)
	case p.force:
		l.forced(now, m, fx)
	}
}

// giveUp ends the wait of a request whose caller left or whose time is over. A grant that its caller
// no longer wants is given back.
func (l *Lock) giveUp(now time.Duration, r *Request, cause error, fx *Effects) {
	if r.Decided() {
		if r.Tag == Acquire && r.Err == nil && r.Hold.held() {
			l.drop(now, r.Hold, fx)
		}
		return
	}
	var why error
	if l.rare != nil {
		why = l.rare.trouble()
	}
	if why == nil && cause == nil {
		why = errNoAnswer
	}
	switch {
	case r.undone:
		fx.Decide(now, r, ErrNotReplicated, joined(r.Cause, cause))
	case r.Tag == Acquire && r.line == &l.queue && l.knownTaken():
		l.refuseTaken(now, r, cause, fx)
	default:
		fx.Decide(now, r, ErrUnavailable, leftFor(why, cause))
	}
	l.leads(r)
}

// unreached refuses those who try once.
func (l *Lock) unreached(now time.Duration, cause error, fx *Effects) {
	refuse := func(r *Request) {
		if r.Once {
			l.unconnected(now, r, cause, fx)
		}
	}
	l.eachOnce(refuse)
	l.releases.each(refuse) // of a grant that was undone: its caller waits for the release
	if l.rare != nil {
		l.rare.changes.each(refuse)
	}
}

// unconnected refuses a request for want of a connection to its server. If it leads a question for several locks, that is
// taken back with it.
func (l *Lock) unconnected(now time.Duration, r *Request, cause error, fx *Effects) {
	if r.undone {
		fx.Decide(now, r, ErrNotReplicated, joined(r.Cause, cause))
	} else {
		fx.Decide(now, r, ErrUnavailable, cause)
	}
	l.leads(r)
}

// knownTaken reports whether the last that was heard of the lock is that somebody has it.
func (l *Lock) knownTaken() bool {
	if l.phase == held {
		return true
	}
	trouble := l.rare != nil && l.rare.trouble() != nil
	return !trouble && (l.phase == ending && l.wants&undoing == 0 || l.rare != nil && (l.rare.answered || l.rare.stepBack != 0))
}

// drain refuses everybody who waits for the lock.
func (l *Lock) drain(now time.Duration, fx *Effects) {
	refuse := func(r *Request) {
		if r.Tag == Acquire {
			fx.Decide(now, r, ErrClosed, nil)
			l.leads(r)
		}
	}
	l.refuseAll(now, refused{err: ErrClosed}, fx)
	l.releases.each(func(r *Request) {
		if r.undone {
			fx.Decide(now, r, ErrNotReplicated, r.Cause)
		}
	})
	if l.rare != nil {
		l.rare.changes.each(refuse)
	}
}

// Close ends everything at once, and reports whether it came to the end: a turn refuses so many who wait. What is in Redis is left to its lease.
func (l *Lock) Close(now time.Duration, fx *Effects) (over bool) {
	if l.phase == held {
		l.endHolds(now, ErrClosed, nil, fx)
	}
	for r := l.queue.head(); r != nil; r = l.queue.head() {
		if !fx.mayRefuse() {
			return false
		}
		fx.Decide(now, r, ErrClosed, nil)
	}
	refuse := func(r *Request) { fx.Decide(now, r, ErrClosed, nil) }
	l.releases.each(refuse)
	if l.rare != nil {
		l.rare.changes.each(refuse)
		l.rare.forces.each(refuse)
	}
	l.wheel(fx).Cancel(&l.timer)
	return true
}
