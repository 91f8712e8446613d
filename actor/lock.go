package actor

import (
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/wheel"
)

// Phase is a lock's state in Redis, as far as this engine knows.
type Phase uint8

const (
	free    Phase = iota // not held by this engine, as far as is known
	asking               // an acquire was sent, or will be sent again
	held                 // held by this engine, also during a handoff from one owner to the next
	ending               // to be released
	forcing              // to be taken away from its holder by force
)

// String returns the phase's name.
func (p Phase) String() string {
	return [...]string{free: "free", asking: "asking", held: "held", ending: "ending", forcing: "forcing"}[p]
}

// Flags in Lock.wants: what a lock should do as soon as it may, and facts for which there is room beside that.
const (
	wantConfirm uint8 = 1 << iota // confirm the tenure now
	wantFresh                     // confirmed since its last owner unlocked
	capped                        // the lease was cut to Config.MaxHold: no renewal makes it longer
	wantSet                       // the server may not have the TTL that was sent: the next renewal sets it
	unhurried                     // the hold was not watched at the last confirmation: its next renewal has no due time

	// departed: the command in flight has left, so it may run. Until then it can be taken back.
	departed
	// marked survives the end of a tenure: a command of the Lock was taken back and may still be queued.
	marked
	// undoing: the tenure that is being released was granted to no caller, because too few replicas have it.
	undoing
)

// Lock is one name in one engine: its holder, its waiters and the command in flight. It is owned by the coordinator and
// not safe for concurrent use.
//
// Its size determines the memory cost of a held lock, so everything that an uncontended lock does not need is in rare.
type Lock struct {
	key   string
	timer wheel.Timer[Sleeper]

	tenure    uint64        // the tenure in Redis or being acquired; 0 when free
	confirmed time.Duration // when the last confirmed command that set the TTL was sent
	until     time.Duration // the end of the tenure's validity
	since     time.Duration // the owner's first grant; 0 until there is one

	holds    *Hold // the owner's innermost hold; while Ending, the hold that was unlocked last
	queue    line  // requests that wait for the lock
	releases line  // requests that wait for the reply to the release
	rare     *rare

	phase   Phase
	flight  Verb // the tenure's command in flight; None if there is none
	wants   uint8
	kind    LockKind
	written uint32 // hold count in Redis; 0: none, or not known
}

// NewLock returns the Lock of a key that this engine does not use yet.
func NewLock(key string, kind LockKind) *Lock {
	l := &Lock{}
	l.Begin(key, kind)
	return l
}

// Begin makes a finished lock usable for another key.
func (l *Lock) Begin(key string, kind LockKind) {
	*l = Lock{key: key, kind: kind}
	l.timer.Value = l
}

// Finish empties a lock that is Idle. Old holds may still point to it; their tenure number tells them apart.
func (l *Lock) Finish(fx *Effects) {
	l.wheel(fx).Cancel(&l.timer)
	*l = Lock{}
}

// Key returns the lock's key in Redis; empty once it has finished.
func (l *Lock) Key() string { return l.key }

// ByKey orders locks by their keys.
func ByKey(l, other *Lock) int { return strings.Compare(l.key, other.key) }

// Kind returns the lock's kind.
func (l *Lock) Kind() LockKind { return l.kind }

// Become changes the kind of a lock that is not Busy.
func (l *Lock) Become(kind LockKind, fx *Effects) {
	if l.rare != nil && l.rare.listening && protocols[kind].channel != l.protocol().channel {
		l.rare.leaveAt = 0
		l.setListening(false, fx)
	}
	l.kind = kind
}

// Queued returns the number of requests in the lock's queue.
func (l *Lock) Queued() int { return int(l.queue.len()) }

// Idle reports whether the lock can be forgotten: nothing is held, wanted, in flight or subscribed to.
func (l *Lock) Idle() bool {
	return l.phase == free && l.queue.last == nil && (l.rare == nil || l.rare.idle())
}

func (x *rare) idle() bool { return !x.listening && !x.busy() }

func (x *rare) busy() bool { return len(x.ghosts()) != 0 || !x.changes.empty() || !x.forces.empty() }

// Knows reports whether a tenure belongs to the lock: the current one, or the one that ended because of a force.
func (l *Lock) Knows(tenure uint64) bool {
	return l.tenure == tenure || l.rare != nil && l.rare.evicted() == tenure
}

// Numbers returns the tenures that the lock knows or has to release.
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

// numbered reports the tenure of a per-request lock, so that the coordinator finds it without a search.
func (l *Lock) numbered(tenure uint64, fx *Effects) {
	if l.kind.Claims() {
		fx.Numbered = append(fx.Numbered, Numbered{l, tenure})
	}
}

// Granted reports whether an owner holds the lock, including after its validity has ended.
func (l *Lock) Granted() bool { return l.phase == held && l.holds != nil }

// Haunted reports whether a tenure is an orphan that the lock has to release.
func (l *Lock) Haunted(tenure uint64) bool { return l.rare != nil && l.rare.haunted(tenure) }

// Busy reports whether the lock is in use. A subscription that is only kept for future waiters does not count.
func (l *Lock) Busy() bool {
	return l.phase != free || !l.queue.empty() || l.rare != nil && l.rare.busy()
}

// UnderWay returns the tenure's command that is queued or in flight; None if there is none.
func (l *Lock) UnderWay() Verb { return l.flight }

// Tenure returns the tenure in Redis for this engine, or the one being acquired; 0 when there is none.
func (l *Lock) Tenure() uint64 { return l.tenure }

// Believed reports whether an owner of this engine holds the lock at that time and its validity has not ended.
func (l *Lock) Believed(now time.Duration) bool {
	return l.phase == held && l.holds != nil && now < l.until
}

// Owner returns the owner that holds the lock, or held it last in this tenure; 0 if the tenure had no owner yet.
func (l *Lock) Owner() uint64 {
	if l.holds == nil {
		return 0
	}
	return l.holds.Owner
}

// CountOf returns how many holds an owner has at that time.
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

// Fetch reads the lock and the first request that its command's reply concerns, so that both are in the CPU cache
// before Step. The result is meaningless.
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

// Wake handles the lock's timer.
func (l *Lock) Wake(now time.Duration, fx *Effects) {
	l.Step(now, &Message{Kind: Woken}, fx)
}

// Step handles a message and then sends the commands that have become necessary. It is the only entry for messages.
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
			// The clock may have jumped: the TTL for which it sleeps, and a pause after a rejection, may be over.
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

// settle reconciles what is in flight with what is wanted.
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

// send emits the one command that the lock's phase needs, if any.
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

// answer handles the reply to a command, or its failure. For an earlier tenure only releases of orphans still matter.
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

// giveUp ends the wait of a request after its caller left or it timed out. A grant that the caller no longer wants is
// released.
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

// unreached rejects the requests that try only once, because the server cannot be reached.
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

// unconnected rejects a request because there is no connection to its server. If the request leads a command for
// several locks, that command is taken back too.
func (l *Lock) unconnected(now time.Duration, r *Request, cause error, fx *Effects) {
	if r.undone {
		fx.Decide(now, r, ErrNotReplicated, joined(r.Cause, cause))
	} else {
		fx.Decide(now, r, ErrUnavailable, cause)
	}
	l.leads(r)
}

// knownTaken reports whether, by the latest information, another holder has the lock.
func (l *Lock) knownTaken() bool {
	if l.phase == held {
		return true
	}
	trouble := l.rare != nil && l.rare.trouble() != nil
	return !trouble && (l.phase == ending && l.wants&undoing == 0 || l.rare != nil && (l.rare.answered || l.rare.stepBack != 0))
}

// drain rejects all requests that wait for the lock.
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

// Close ends everything at once, and reports whether it finished: one turn rejects at most Effects.RefusalsMost
// waiters. What is in Redis is left to expire with its lease.
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
