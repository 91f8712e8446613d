package actor

import (
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/wheel"
)

// Phase is a lock's state in Redis, as far as this engine knows. docs/how-it-works.md draws how the phases follow each
// other.
type Phase uint8

// The phases. In all but free the lock has a tenure.
const (
	free      Phase = iota // this engine has no tenure; requests may wait, and orphans may be left in Redis
	acquiring              // an acquire was sent, or will be sent again; a fair lock's tenure may wait in the server's queue
	held                   // granted by the server and not given up: an owner has it, or a handoff to the next one is being decided
	releasing              // given up: the release was sent, or will be sent again; requests may wait for the next tenure
	forcing                // a force was sent, under a tenure number of its own; the reply ends it
)

// String returns the phase's name.
func (p Phase) String() string {
	return [...]string{free: "free", acquiring: "acquiring", held: "held", releasing: "releasing", forcing: "forcing"}[p]
}

// Flags in Lock.flags: what a lock should do as soon as it may, and other facts that need one bit.
const (
	wantConfirm           uint8 = 1 << iota // confirm the tenure now
	confirmedSinceHandoff                   // confirmed since its last owner unlocked
	leaseCapped                             // the lease was cut to Config.MaxHold: no renewal makes it longer
	wantSet                                 // the server may not have the TTL that was sent: the next renewal sets it
	noRenewDue                              // the hold was not watched at the last confirmation: its next renewal has no due time

	// dispatched: the command in flight has left, so it may run. Until then it can be taken back.
	dispatched
	// hasStaleCommand survives the end of a tenure: a command of the Lock was taken back and may still be queued.
	hasStaleCommand
	// rollingBack: the tenure that is being released was granted to no caller, because too few replicas have it, or
	// because a grant of several locks could not be relied on or was not wanted any more.
	rollingBack
)

// Lock is one name in one engine: its holder, its waiters and the command in flight. It is owned by the coordinator and
// not safe for concurrent use. NewLock makes one. The zero Lock is one that has finished: its key is empty, and Reset
// makes it usable again.
//
// Its size determines the memory cost of a held lock, so everything that an uncontended lock does not need is in ext.
type Lock struct {
	key   string
	timer wheel.Timer[TimerTarget]

	tenure      uint64        // the tenure in Redis or being acquired; 0 when free
	confirmedAt time.Duration // when the last confirmed command that set the TTL was sent, not when its reply came
	validUntil  time.Duration // the end of the tenure's validity; free, acquiring: of another holder's lease, see otherLeaseEnd
	ownedSince  time.Duration // the owner's first grant; 0 until there is one

	holds    *Hold       // the owner's innermost hold; while releasing, the hold that was unlocked last
	queue    requestList // requests that wait for the lock
	releases requestList // requests that wait for the reply to the release
	ext      *ext

	phase       Phase
	inFlight    Verb // the tenure's command that is queued or sent, without a reply yet; None if there is none
	flags       uint8
	kind        LockKind
	storedCount uint32 // hold count in Redis; 0: none, or not known
}

// NewLock returns the Lock of a key that this engine does not use yet.
func NewLock(key string, kind LockKind) *Lock {
	l := &Lock{}
	l.Reset(key, kind)
	return l
}

// Reset makes a finished lock usable for another key.
func (l *Lock) Reset(key string, kind LockKind) {
	*l = Lock{key: key, kind: kind}
	l.timer.Value = l
}

// Clear empties a lock that is Idle. Old holds may still point to it; their tenure number tells them apart.
func (l *Lock) Clear(fx *Effects) {
	l.wheel(fx).Cancel(&l.timer)
	*l = Lock{}
}

// Key returns the lock's key in Redis; empty once it has finished.
func (l *Lock) Key() string { return l.key }

// ByKey orders locks by their keys.
func ByKey(l, other *Lock) int { return strings.Compare(l.key, other.key) }

// Kind returns the lock's kind.
func (l *Lock) Kind() LockKind { return l.kind }

// SetKind changes the kind of a lock that is not Busy.
func (l *Lock) SetKind(kind LockKind, fx *Effects) {
	if l.ext != nil && l.ext.listening && protocols[kind].channel != l.protocol().channel {
		l.ext.unsubscribeAt = 0
		l.setSubscription(false, fx)
	}
	l.kind = kind
}

// QueueLen returns the number of requests in the lock's queue.
func (l *Lock) QueueLen() int { return int(l.queue.len()) }

// IsWaitedFor reports whether requests are in the lock's queue, as QueueLen does, but without a look at them.
func (l *Lock) IsWaitedFor() bool { return l.queue.last != nil }

// Idle reports whether the lock can be forgotten: nothing is held, wanted, in flight or subscribed to.
func (l *Lock) Idle() bool {
	return l.phase == free && l.queue.last == nil && (l.ext == nil || l.ext.idle())
}

func (x *ext) idle() bool { return !x.listening && !x.busy() }

func (x *ext) busy() bool {
	return len(x.orphans()) != 0 || !x.leaseRequests.empty() || !x.forceRequests.empty()
}

// OwnsTenure reports whether a tenure belongs to the lock: the current one, or the one that ended because of a force.
func (l *Lock) OwnsTenure(tenure uint64) bool {
	return l.tenure == tenure || l.ext != nil && l.ext.forcedTenure() == tenure
}

// IsGivenUp reports whether no caller has the lock's tenure or wants it: it is being released, or its acquire is in
// flight and will be released if it is granted. A lock that is reserved for a request for several is wanted.
func (l *Lock) IsGivenUp() bool {
	return l.phase == releasing || l.phase == acquiring && l.queue.empty() && l.inFlight != SendMultiAcquire
}

// rollsBack reports whether the tenure is being released without having had an owner.
func (l *Lock) rollsBack() bool { return l.flags&rollingBack != 0 }

// TriesOnce reports whether the next tenure is for a request that does not wait.
func (l *Lock) TriesOnce() bool {
	first := l.queue.first()
	return first != nil && first.Once
}

// BlocksCaller reports whether the caller that the next tenure is for blocks until it has it.
func (l *Lock) BlocksCaller() bool {
	first := l.queue.first()
	return first != nil && first.blocksCaller()
}

// Tenures returns the tenures that the lock knows or has to release.
func (l *Lock) Tenures() (tenures []uint64) {
	if l.tenure != 0 {
		tenures = append(tenures, l.tenure)
	}
	if x := l.ext; x != nil {
		if forced := x.forcedTenure(); forced != 0 {
			tenures = append(tenures, forced)
		}
		tenures = append(tenures, x.orphanIDs()...)
	}
	return tenures
}

// noteTenure reports the tenure of a per-request lock, so that the coordinator finds it without a search.
func (l *Lock) noteTenure(tenure uint64, fx *Effects) {
	if l.kind.PerRequest() {
		fx.NewTenures = append(fx.NewTenures, LockTenure{l, tenure})
	}
}

// HasOwner reports whether an owner holds the lock, including after its validity has ended.
func (l *Lock) HasOwner() bool { return l.phase == held && l.holds != nil }

// IsOrphan reports whether a tenure is an orphan that the lock has to release.
func (l *Lock) IsOrphan(tenure uint64) bool { return l.ext != nil && l.ext.isOrphan(tenure) }

// Busy reports whether the lock is in use. A subscription that is only kept for future waiters does not count.
func (l *Lock) Busy() bool {
	return l.phase != free || !l.queue.empty() || l.ext != nil && l.ext.busy()
}

// InFlight returns the tenure's command that is queued or in flight; None if there is none.
func (l *Lock) InFlight() Verb { return l.inFlight }

// Tenure returns the tenure in Redis for this engine, or the one being acquired; 0 when there is none.
func (l *Lock) Tenure() uint64 { return l.tenure }

// HeldAt reports whether an owner of this engine holds the lock at that time and its validity has not ended.
func (l *Lock) HeldAt(now time.Duration) bool {
	return l.phase == held && l.holds != nil && now < l.validUntil
}

// Owner returns the owner that holds the lock, or held it last in this tenure; 0 if the tenure had no owner yet.
func (l *Lock) Owner() uint64 {
	if l.holds == nil {
		return 0
	}
	return l.holds.Owner
}

// HoldCount returns how many holds an owner has at that time.
func (l *Lock) HoldCount(owner uint64, now time.Duration) (count int) {
	if owner == 0 || !l.HeldAt(now) || l.holds.Owner != owner {
		return 0
	}
	if s := l.set(); s != nil {
		return s.live - len(s.expired(now))
	}
	if now < l.holds.Until() {
		return 1
	}
	return 0
}

// Prefetch reads the lock and the first request that its command's reply concerns, so that both are in the CPU cache
// before Step. The result is meaningless: without one, the compiler would leave the reads out.
func (l *Lock) Prefetch() (sum int) {
	r := l.releases.first()
	if r == nil {
		r = l.queue.first()
	}
	if r == nil {
		return 0
	}
	if r.Completed() {
		sum++
	}
	if r.Multi != nil {
		sum++
	}
	if r.timer.Value != nil {
		sum++
	}
	return sum
}

// Wake handles the lock's timer.
func (l *Lock) Wake(now time.Duration, fx *Effects) {
	l.Step(now, &Message{Event: TimerFired}, fx)
}

// Step handles a message and then sends the commands that have become necessary. It is the only entry for messages; the
// package comment says what changes a Lock without one.
func (l *Lock) Step(now time.Duration, m *Message, fx *Effects) {
	before := l.phase
	l.expire(now, fx)
	l.reportHeldTooLong(now, fx)
	switch m.Event {
	case Requested:
		l.onRequest(now, m.Request, fx)
	case Cancel:
		l.cancel(now, m.Request, m.Cause, fx)
	case TimedOut:
		l.cancel(now, m.Request, nil, fx)
	case Replied:
		l.onReply(now, m, fx)
	case Requeued:
		l.onRequeued(now, m.Command, fx)
	case Notified:
		l.onNotified(now)
	case WriterGone:
		l.onWriterGone(now)
	case Subscribed:
		l.onSubscribed(now, fx)
	case SubscribeFailed:
		l.onSubscribeFailed(now, fx)
	case Unreachable:
		if m.Request != nil {
			l.rejectUnreachable(now, m.Request, m.Cause, fx)
		} else {
			l.onUnreachable(now, m.Cause, fx)
		}
	case Reconfirm:
		if l.phase == held {
			l.flags |= wantConfirm
		}
		if l.ext != nil {
			// The clock may have jumped: the TTL for which it sleeps, and a pause after a rejection, may be over.
			l.ext.nextTry = min(l.ext.nextTry, now)
			l.endOtherLease(now)
			if f := l.ext.failure; f != nil {
				f.retryAt = min(f.retryAt, now)
			}
		}
	case OrphanSeen:
		l.releaseOrphansNow(now)
	case ReleaseAwaited:
		l.hastenRelease(fx)
	case Displaced:
		if l.phase == held {
			l.lose(now, errDisplaced, fx)
		}
	case Evicted:
		if l.phase == held {
			l.lose(now, errForced, fx)
		}
	case Drain:
		l.onDrain(now, fx)
	case QueueHead:
		l.becomeHead(now, m.Reply != nil, fx)
	case Enqueued:
		l.onEnqueued(now, m.Request, fx)
	case Transferred:
		l.onTransferred(now, m.Request, fx)
	case Unreplicated:
		l.onUnreplicated(now, m, fx)
	case Leaked:
		l.onLeaked(now, m.Request.Hold, fx)
	case ContinueRejecting:
		l.continueRejecting(now, fx)
	case Recheck:
		// The lock was changed before this step. reconcile does what follows from that.
	}
	l.reconcile(now, fx)
	if fx.OnStep != nil {
		l.trace(m, before, fx)
	}
}

// onRequest handles a request that has just arrived.
func (l *Lock) onRequest(now time.Duration, r *Request, fx *Effects) {
	l.hasten(r, fx)
	switch r.Op {
	case Acquire:
		l.acquire(now, r, fx)
	case Unlock:
		l.unlock(now, r, fx)
	case Extend:
		l.extend(now, r, fx)
	case Force:
		l.force(now, r, fx)
	}
}

func (l *Lock) trace(m *Message, before Phase, fx *Effects) {
	s := StepTrace{Lock: l, Event: m.Event, Before: before, After: l.phase}
	switch m.Event {
	case Requested:
		s.Op = m.Request.Op
	case Replied:
		s.Verb, s.Status = m.Command.Verb, m.Reply.Status
	}
	fx.OnStep(s)
}

// reconcile compares what is in flight with what is wanted, and sends what is missing.
func (l *Lock) reconcile(now time.Duration, fx *Effects) {
	if l.canRecall() {
		l.recall(now, fx)
	}
	if l.ext != nil {
		l.endHoldsForForce(now, fx)
	}
	if l.phase == held && l.holds == nil {
		l.handOff(now, fx)
	}
	if l.canRecall() {
		l.recall(now, fx)
	}
	if l.inFlight == None {
		l.send(now, fx)
	}
	if l.ext != nil {
		l.dropExpiredOrphans(now, fx)
		l.releaseOrphans(now, fx)
		l.updateSubscription(now, fx)
	}
	if fx.ClosingSince != 0 {
		l.noteLowering(now, fx)
	}
	l.rearm(now, fx)
}

// send emits the one command that the lock's phase needs, if any.
func (l *Lock) send(now time.Duration, fx *Effects) {
	switch {
	case l.phase == acquiring && l.ext != nil && l.ext.multiRequest != nil:
		if l.ext.multiRequest.Completed() {
			l.ext.multiRequest.abandon(now, fx)
		}
	case l.phase == acquiring && l.queue.empty():
		l.leaveQueue(now, fx)
	}
	switch l.phase {
	case free:
		if l.ext != nil && !l.ext.forceRequests.empty() {
			l.sendForce(now, fx)
			return
		}
		l.sendAcquire(now, fx)
	case acquiring:
		l.sendAcquire(now, fx)
	case held:
		l.renew(now, fx)
	case releasing:
		l.sendRelease(now, fx)
	}
}

// emit appends a command of the lock to the effects. A command without a tenure is about the lock's own, which begins a
// new flight: until it is dispatched it can be taken back. A command with one is the release of an orphan, and leaves
// the flight of the lock's own command as it is.
func (l *Lock) emit(fx *Effects, c Command) {
	c.Lock, c.Key = l, l.key
	if c.Tenure == 0 {
		c.Tenure, c.Flight = l.tenure, l.flight()
		l.flags &^= dispatched
	}
	fx.Commands = append(fx.Commands, c)
}

// onReply handles the reply to a command, or its failure. For an earlier tenure only releases of orphans still matter.
func (l *Lock) onReply(now time.Duration, m *Message, fx *Effects) {
	c, reply := m.Command, m.Reply
	if !l.isInFlight(c) {
		l.onOrphanReply(now, c, reply, fx)
		return
	}
	if l.inFlight = None; l.hastened() {
		l.ext.failure.hastened = false
	}
	switch p := l.protocol(); c.Verb {
	case SendMultiAcquire:
		l.onMultiReply(now, m, fx)
	case p.acquire:
		l.onAcquireReply(now, m, fx)
	case p.renew, p.renewForNext:
		l.onRenewReply(now, m, fx)
	case p.release:
		l.onReleaseReply(now, m, fx)
	case p.force:
		l.onForceReply(now, m, fx)
	}
}

// cancel ends the wait of a request after its caller left or it timed out. A grant that the caller no longer wants is
// released.
func (l *Lock) cancel(now time.Duration, r *Request, cause error, fx *Effects) {
	if r.Completed() {
		if r.Op == Acquire && r.Err == nil && r.Hold.held() {
			l.removeHold(now, r.Hold, fx)
		}
		return
	}
	var why error
	if l.ext != nil {
		why = l.ext.lastErr()
	}
	if why == nil && cause == nil {
		why = errNoReply
	}
	switch {
	case r.rolledBack:
		fx.Complete(now, r, ErrNotReplicated, joinCauses(r.Cause, cause))
	case r.Op == Acquire && r.list == &l.queue && l.knownHeldByOther(now, r, fx):
		l.rejectHeldByOther(now, r, cause, fx)
	default:
		fx.Complete(now, r, ErrUnavailable, withCallerGone(why, cause))
	}
	l.noteMultiRequest(r)
}

// onUnreachable rejects the requests that try only once, because the server cannot be reached.
func (l *Lock) onUnreachable(now time.Duration, cause error, fx *Effects) {
	reject := func(r *Request) {
		if r.Once {
			l.rejectUnreachable(now, r, cause, fx)
		}
	}
	l.eachOnce(reject)
	l.releases.each(reject) // of a grant that was undone: its caller waits for the release
	if l.ext != nil {
		l.ext.leaseRequests.each(reject)
	}
}

// rejectUnreachable rejects a request because there is no connection to its server. If this is the command
// lock of a request for several locks, their command is taken back too.
func (l *Lock) rejectUnreachable(now time.Duration, r *Request, cause error, fx *Effects) {
	if r.rolledBack {
		fx.Complete(now, r, ErrNotReplicated, joinCauses(r.Cause, cause))
	} else {
		fx.Complete(now, r, ErrUnavailable, cause)
	}
	l.noteMultiRequest(r)
}

// knownHeldByOther reports whether, by the latest information, another holder has the lock. Until the lease in the last
// reply ends, that is what the reply said, also if the server has not replied since. That does not hold for a request
// that tries once, which has to hear from the server itself.
func (l *Lock) knownHeldByOther(now time.Duration, r *Request, fx *Effects) bool {
	switch {
	case l.phase == held:
		return true
	case !r.Once && now < l.otherLeaseEnd():
		return true
	case l.asksInVain(now, fx):
		return false
	}
	lastErr := l.ext != nil && l.ext.lastErr() != nil
	return !lastErr && (l.heldUntilReleased(r) || l.ext != nil && (l.ext.knownHeld || l.ext.yieldUntil != 0 && !fx.isDown(l.key)))
}

// heldUntilReleased reports whether the lock is being released, and its hold was unlocked after the request came. A
// request that came later has waited for the server alone, as does one behind a release for which no caller waits any
// more.
func (l *Lock) heldUntilReleased(r *Request) bool {
	unlock := l.releases.first()
	return l.phase == releasing && !l.rollsBack() && unlock != nil && r.receivedAt < unlock.receivedAt
}

// otherLeaseEnd returns the end of the lease of another holder in the last reply, as seen by the requests that wait; 0
// if they have no such reply. It takes the place of the validity, which a lock has only while this engine holds it: a
// million locks may wait. A message that the lock may be free ends it.
func (l *Lock) otherLeaseEnd() time.Duration {
	if l.phase != free && l.phase != acquiring || l.ext == nil || !l.ext.knownHeld {
		return 0
	}
	return l.validUntil
}

// endOtherLease records that what was known of another holder's lease no longer counts.
func (l *Lock) endOtherLease(now time.Duration) {
	if l.phase == free || l.phase == acquiring {
		l.validUntil = min(l.validUntil, now)
	}
}

// asksInVain reports whether the server does not reply, and what was known of the lock no longer counts. That is so if
// it was time to ask again, or if the engine is releasing or forcing the lock. Only few locks ask while a server is
// down, so most have no error of their own.
func (l *Lock) asksInVain(now time.Duration, fx *Effects) bool {
	asks := l.phase == acquiring && l.inFlight != None || l.phase == releasing || l.phase == forcing
	return asks && (fx.isDown(l.key) || l.isSilent(now, fx))
}

// isDown reports whether the server of a key is known to be down.
func (fx *Effects) isDown(key string) bool { return fx.ServerDown != nil && fx.ServerDown(key) }

// isSilent reports whether the server has not replied for some round trips since the lease of another holder ended. It
// is known to be down only after Config.CallTimeout, but until then no lease says that the lock is held.
func (l *Lock) isSilent(now time.Duration, fx *Effects) bool {
	end := l.otherLeaseEnd()
	patience := max(minSilence, 4*fx.RoundTrip) + fx.Config.ReplicaTimeout
	if end == 0 || now-end < patience {
		return false
	}
	return fx.RepliedAt == nil || now-fx.RepliedAt(l.key) >= patience
}

// onDrain rejects all requests that wait for the lock.
func (l *Lock) onDrain(now time.Duration, fx *Effects) {
	reject := func(r *Request) {
		if r.Op == Acquire {
			fx.Complete(now, r, ErrClosed, nil)
			l.noteMultiRequest(r)
		}
	}
	l.rejectAll(now, rejectedPart{err: ErrClosed}, fx)
	l.releases.each(func(r *Request) {
		if r.rolledBack {
			fx.Complete(now, r, ErrNotReplicated, r.Cause)
		}
	})
	if l.ext != nil {
		l.ext.leaseRequests.each(reject)
	}
}

// Close ends everything at once, and reports whether it finished: one turn rejects at most Effects.MaxRejections
// waiters. What is in Redis is left to expire with its lease.
func (l *Lock) Close(now time.Duration, fx *Effects) (over bool) {
	if l.phase == held {
		l.endHolds(now, ErrClosed, nil, fx)
	}
	for r := l.queue.head(); r != nil; r = l.queue.head() {
		if !fx.mayReject() {
			return false
		}
		fx.Complete(now, r, ErrClosed, nil)
	}
	reject := func(r *Request) { fx.Complete(now, r, ErrClosed, nil) }
	l.releases.each(reject)
	if l.ext != nil {
		l.ext.leaseRequests.each(reject)
		l.ext.forceRequests.each(reject)
	}
	l.wheel(fx).Cancel(&l.timer)
	return true
}
