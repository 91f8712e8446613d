// Package quorum implements the state machine of several locks that are held as one: a majority of them, or all of them
// for a Multi. It is pure: it has no clock, no goroutine and no I/O.
//
// It is used like this:
//
//  1. [New] makes a [Quorum]. [Quorum.Begin] asks for all members in parallel; [Quorum.BeginHeld] starts with all of
//     them held.
//  2. After each call the caller executes the appended Actions in their order, and clears them.
//  3. The caller reports what happens to the members, one event after the other: [Quorum.MemberAcquired],
//     [Quorum.MemberFailed], [Quorum.MemberLost], [Quorum.MemberMaxHold] and [Quorum.MemberClosed]. It also reports
//     when the times that Actions ask for have elapsed: [Quorum.BackoffOver], [Quorum.StragglersOverdue] and
//     [Quorum.RetryDue].
//  4. [Quorum.Unlock] ends a quorum that is held; [Quorum.Cancel] ends one that is not held yet.
//
// An attempt that does not get enough members releases all of them. Then the quorum queues for the first member that
// replies, while it holds none, and asks for all others when it has got that one. It waits only for members after that
// one, and asks those before it once. So callers that queue for different members never wait for one another in a
// circle, and callers that see the same servers have one queue.
//
// This package is not part of lockwheel's API: any version may change it. See docs/versions.md.
package quorum

import "time"

// Quorum is one operation on several locks. It decides which of them to ask for, when enough of them are held, and when
// there are too few. Its members are locks elsewhere, each with a loop of its own. It is not safe for concurrent use.
// Times are durations since Begin. It is owned by the goroutine that makes the calls, one at a time. New makes one; the
// zero Quorum has no members.
type Quorum struct {
	Actions  []Action // to be executed in their order, and then cleared
	Acquired int      // members held when the latest attempt failed

	required      int
	once          bool          // do not wait for other holders
	watched       bool          // missing members are asked for again while the quorum is held
	until         time.Duration // when the caller's wait ends; 0: no limit
	stage         stage
	members       []membership
	acquiredAt    time.Duration // when enough members were held
	queuedFirst   int           // the member that it queued for and has; noMember: there is none
	hasQueued     bool          // it has waited in a queue: its requests are not counted for the limits on waiters from then on
	queueNext     int           // the member to queue for after a backoff; noMember: there is none
	queueFrom     int           // it has waited in vain in the queues of the members before this one
	queued        bool          // it has queued for a member: later attempts that fail are followed by a pause, not by a queue
	backoff       time.Duration // length of the next backoff
	stragglerWait time.Duration // how long it waits for the other members after it has queued for one
	attemptEnd    time.Duration // when the attempt ends; 0: members without a reply are waited for
	readerWait    time.Duration // how long it next waits for readers of the other members; 0: not
	maxReaderWait time.Duration // upper bound of readerWait
}

// noMember is the index that stands for no member.
const noMember = -1

// stage is where a Quorum is on its way from Begin to its end. The order matters: all stages before held are those of a
// quorum that its caller still waits for.
type stage uint8

const (
	acquiring  stage = iota // asking for all members, in parallel
	choosing                // the attempt has failed, and a member before those that replied may be the one to queue for
	queueing                // waiting in the queue of one, with none held
	backingOff              // backing off between attempts
	held                    // enough members are held
	ended                   // rejected, lost or unlocked: all members were released
)

// membership is what a Quorum knows of one member. The zero value is absent, and was never asked. Owned by the Quorum.
type membership struct {
	state          memberState
	reason         Reason        // the latest
	answer         answer        // what its latest reply says of its server
	retryScheduled bool          // a RetryLater is pending
	wasLost        bool          // it was held, and lost
	heldSince      time.Duration // when it was acquired; 0: with the quorum
}

// memberState is what became of the last request for a member.
type memberState uint8

const (
	absent     memberState = iota // neither asked for nor held
	requested                     // a request for it is pending
	memberHeld                    // held
)

// answer is what is known of the server of a member since the latest attempt that asked for all.
type answer uint8

const (
	unknown answer = iota // it was not given the time to reply
	alive                 // it grants the member, or says that it has another holder
	failing               // it rejects the request, or does not reply
)

// Reason is the reason why a member is not held.
type Reason uint8

const (
	Unknown     Reason = iota // no reply, or it was lost; also the reason of a member that is held
	HeldByOther               // it has another holder
	Rejected                  // the server rejects it; time alone does not change that, but an operator may
	Closed                    // its engine is closed
	Full                      // the limit of waiters there is reached
	Forced                    // it was unlocked by force
)

// Action is one action that the caller of the quorum must execute.
type Action struct {
	Kind            ActionKind
	Member          int           // index of the member, for actions that concern one
	Wait            time.Duration // Request: longest wait, 0: while it is wanted; Backoff: longest time; LimitStragglers: time
	Once            bool          // Request: do not wait for other holders
	SkipWaiterLimit bool          // Request: the quorum is held or has waited in a queue, so no limit of waiters rejects the request
	NoReply         bool          // CancelRequest: there was no reply from it when the others had replied
}

// Unheld reports whether the action Request is of a quorum that is not held. What such a quorum has is kept from other
// callers, so its requests do not wait for a server that is known not to reply.
func (o *Action) Unheld() bool { return o.Once || o.Wait > 0 }

// ActionKind is the action of an Action.
type ActionKind uint8

const (
	Request         ActionKind = iota // request the member; report the result with MemberAcquired or MemberFailed
	CancelRequest                     // cancel the request for the member: report nothing more of it, and release a grant
	Release                           // release the member, without waiting for the reply
	Backoff                           // call BackoffOver after most of Wait
	LimitStragglers                   // call StragglersOverdue after Wait
	Confirm                           // confirm the member now, with its present lease
	RetryLater                        // call RetryDue when it is time to ask for a Rejected member again
	RetryAfterLease                   // call RetryDue after a lease: the member was unlocked by force
	Acquired                          // notify the caller that the quorum is held
	Failed                            // notify the caller that it is not held, and why
	Lost                              // notify its users that it is lost, because of that member
)

const (
	// maxQueueTime is how long a quorum waits in one member's queue before it asks for all again: that member may have
	// failed meanwhile.
	maxQueueTime = 2 * time.Second
	// minStragglerWait is how long a quorum that got its turn at one member waits for the others. The last holder
	// releases them at about the same time.
	minStragglerWait = 50 * time.Millisecond
	// maxStragglerWait is the upper bound of that wait. It grows after attempts in which some members did not reply in
	// time, because they may be far away.
	maxStragglerWait = 8 * minStragglerWait
	// MaxPartialHold is how long a quorum that is not held keeps its members at most, once as many have replied as it
	// needs.
	MaxPartialHold = maxStragglerWait
	// giveWayWait is how long a quorum that did not queue waits for the others, if it is not the first in line.
	giveWayWait = minStragglerWait / 10
	// onceStragglerWait is how long an attempt waits for members without a reply, if it is the only attempt.
	onceStragglerWait = 5 * minStragglerWait
	// readerWaitCap is how long a writer that got its turn at one member waits for readers of the others at most.
	readerWaitCap = maxQueueTime
	// minQueueTime is the shortest wait worth queueing for.
	minQueueTime = time.Millisecond
	// JoinWindow is how much later than the majority a member may come and still count as one of the first members.
	JoinWindow = minStragglerWait
	// minBackoff and maxBackoff bound the backoff between attempts.
	minBackoff, maxBackoff = 4 * time.Millisecond, 256 * time.Millisecond
)

// New returns a quorum that is held while at least need of its members are.
func New(members, need int) Quorum {
	return Quorum{required: need, members: make([]membership, members), queuedFirst: noMember, queueNext: noMember, backoff: minBackoff, stragglerWait: minStragglerWait}
}

// BeginHeld starts a quorum that holds all of its members already, watched or with a lease.
func (q *Quorum) BeginHeld(watched bool) {
	q.watched = watched
	for i := range q.members {
		q.members[i].state = memberHeld
	}
	q.stage = held
}

// Begin asks for the members. until is when the caller's wait ends, 0 if it has no limit. With once it does not wait
// for other holders. Missing members of a watched quorum are asked for while it is held. Times are counted from this
// call.
func (q *Quorum) Begin(until time.Duration, once, watched bool) {
	q.until, q.once, q.watched = until, once, watched
	q.attempt(0)
}

// SetWriter makes a quorum one of writers; lease is the length of each hold, 0: while the quorum is held. Readers do
// not all leave at the same time, but none joins at a member where a writer of its engine waits. So a quorum that has
// waited in vain waits there for twice as long the next time. SetWriter must be called before Begin.
func (q *Quorum) SetWriter(lease time.Duration) {
	q.readerWait, q.maxReaderWait = minStragglerWait, readerWaitCap
	if lease != 0 {
		q.maxReaderWait = max(minStragglerWait, min(readerWaitCap, lease/8)) // or the lease of what it got first would end meanwhile
	}
}

// attempt asks for all members except the one that it already has.
func (q *Quorum) attempt(now time.Duration) {
	q.stage, q.attemptEnd = acquiring, 0
	for i := range q.members {
		switch {
		case q.queuedFirst == noMember:
			q.members[i].answer = unknown
			q.request(i, Action{Once: true})
		case i < q.queuedFirst: // a caller that has it may wait for the one that this quorum has
			q.request(i, Action{Once: true})
		case i > q.queuedFirst:
			q.request(i, Action{Wait: max(q.stragglerWait, q.readerWait)})
		}
	}
	q.evaluate(now)
}

func (q *Quorum) request(i int, how Action) {
	q.members[i].state = requested
	how.SkipWaiterLimit = q.hasQueued || q.stage == held
	how.Kind, how.Member = Request, i
	q.emit(how)
}

func (q *Quorum) emit(o Action) { q.Actions = append(q.Actions, o) }

// MemberAcquired handles the grant of a member, and reports whether the quorum takes it.
func (q *Quorum) MemberAcquired(now time.Duration, i int) bool {
	m := &q.members[i]
	if m.state != requested {
		return false
	}
	m.state, m.reason, m.answer, m.heldSince = memberHeld, Unknown, alive, 0
	if q.stage == held && (m.wasLost || now-q.acquiredAt > JoinWindow) {
		m.heldSince = now
	}
	switch q.stage {
	case queueing:
		q.queuedFirst, q.hasQueued = i, true
		q.attempt(now)
	case choosing: // it is released: callers that came before wait in its queue
		q.choose(now)
	case acquiring:
		q.evaluate(now)
	case held:
		if m.heldSince != 0 {
			q.confirmOthers(i)
		}
	}
	return true
}

// confirmOthers orders a confirmation of all other members when one was acquired late. Without it, the last
// confirmation of the others is older than the late member, so the late one would not count if another was lost.
func (q *Quorum) confirmOthers(newest int) {
	for i := range q.members {
		if i != newest && q.members[i].state == memberHeld {
			q.emit(Action{Kind: Confirm, Member: i})
		}
	}
}

// MemberFailed handles the rejection of a request for a member.
func (q *Quorum) MemberFailed(now time.Duration, i int, why Reason) {
	m := &q.members[i]
	if m.state != requested {
		return
	}
	m.state, m.reason, m.answer = absent, why, failing
	if why == HeldByOther {
		m.answer = alive
	}
	switch {
	case q.stage == queueing && why == Full:
		q.fail(now)
	case q.stage == queueing:
		if q.hasQueued = true; why == HeldByOther {
			q.queueFrom = i + 1 // its holder may be one that has no majority, and keeps it for long
		}
		q.attempt(now)
	default:
		q.onMissing(now, i)
	}
}

// MemberLost handles the end of a member's hold that was not ordered; known is until when the hold is known to have
// lasted. Mostly that is found out later, one member after the other. A member that was acquired again meanwhile does
// not prove that there was a majority all the time.
func (q *Quorum) MemberLost(now time.Duration, i int, known time.Duration) {
	q.memberLost(now, i, known, Unknown)
}

// MemberForced is MemberLost for a member that was unlocked by force. A held quorum asks for it again only after a
// lease: an operator forces one member after the other, and could not take away a quorum that acquires each at once.
func (q *Quorum) MemberForced(now time.Duration, i int, known time.Duration) {
	q.memberLost(now, i, known, Forced)
}

func (q *Quorum) memberLost(now time.Duration, i int, known time.Duration, why Reason) {
	m := &q.members[i]
	if m.state != memberHeld {
		return
	}
	m.state, m.reason, m.wasLost = absent, Unknown, q.stage == held
	if q.stage == held {
		m.reason = why
	}
	if q.stage == held && q.countHeldSince(known) < q.required {
		q.lose(i)
		return
	}
	q.onMissing(now, i)
}

// countHeldSince returns the number of members that have been held since that time or longer. That can be before the
// quorum began, if its members are re-entered or handed off: it has those held with it then.
func (q *Quorum) countHeldSince(moment time.Duration) (n int) {
	moment = max(moment, 0)
	for i := range q.members {
		if m := &q.members[i]; m.state == memberHeld && m.heldSince <= moment {
			n++
		}
	}
	return n
}

// MemberMaxHold handles the end of a member's hold because its owner must not have it for longer. A new request for it
// would have a new owner, so a watched quorum ends.
func (q *Quorum) MemberMaxHold(now time.Duration, i int) {
	if q.stage != held || !q.watched || q.members[i].state != memberHeld {
		q.MemberLost(now, i, now)
		return
	}
	q.members[i].state = absent
	q.lose(i)
}

// lose ends a quorum because of the loss of a member.
func (q *Quorum) lose(i int) {
	q.emit(Action{Kind: Lost, Member: i}) // first: the quorum is over before a member is released
	q.end()
}

// MemberClosed handles that the engine of a member closes, before the quorum is held. It reports whether the member is
// closed by that: a request for it, and a hold, end by themselves. A quorum that waits in one member's queue asks no
// other, so it would not notice that too few are left.
func (q *Quorum) MemberClosed(i int) bool {
	m := &q.members[i]
	if q.stage >= held || m.state != absent {
		return false
	}
	m.reason, m.answer = Closed, failing
	if q.stage != acquiring && q.Impossible() {
		q.end()
		q.emit(Action{Kind: Failed})
	}
	return true
}

// onMissing handles that a member which was held or asked for is missing now.
func (q *Quorum) onMissing(now time.Duration, i int) {
	switch {
	case q.stage == acquiring:
		q.evaluate(now)
	case q.stage == choosing:
		q.choose(now)
	case q.stage == held:
		q.reacquire(i)
	}
}

// reacquire asks for a missing member, if the quorum is watched.
func (q *Quorum) reacquire(i int) {
	m := &q.members[i]
	switch {
	case !q.watched || m.state != absent || m.reason == Closed:
	case m.reason != Rejected && m.reason != Forced:
		q.request(i, Action{})
	case !m.retryScheduled:
		m.retryScheduled = true
		kind := RetryLater
		if m.reason == Forced {
			kind = RetryAfterLease
		}
		q.emit(Action{Kind: kind, Member: i})
	}
}

// RetryDue handles that it is time to ask for a Rejected or Forced member again.
func (q *Quorum) RetryDue(i int) {
	m := &q.members[i]
	m.retryScheduled = false
	if q.stage == held && (m.reason == Rejected || m.reason == Forced) {
		m.reason = Unknown
		q.reacquire(i)
	}
}

// BackoffOver handles the end of a backoff.
func (q *Quorum) BackoffOver(now time.Duration) {
	if q.stage == backingOff {
		q.queue(now)
	}
}

// Unlock ends a quorum that its caller has unlocked. The caller releases the members.
func (q *Quorum) Unlock() {
	if q.stage == held {
		q.stage = ended
		q.cancelRequests()
	}
}

// Cancel handles the end of the caller's wait. It has no effect on a quorum that is held.
func (q *Quorum) Cancel() {
	if q.stage < held {
		if q.stage == acquiring {
			q.Acquired = q.countIn(memberHeld)
		}
		for i := range q.members {
			if m := &q.members[i]; m.state == requested && m.answer != failing && i > q.queuedFirst && q.queuedFirst != noMember {
				m.reason = HeldByOther // it has waited there until now
			}
		}
		q.end()
		q.emit(Action{Kind: Failed})
	}
}

// Watched reports whether missing members are asked for again.
func (q *Quorum) Watched() bool { return q.watched }

// SetWatched sets whether missing members are asked for from now on.
func (q *Quorum) SetWatched(on bool) {
	q.watched = on
	if q.stage != held {
		return
	}
	if !on {
		q.cancelRequests()
	}
	for i := range q.members {
		if m := &q.members[i]; on && (m.reason == Rejected || m.reason == Forced && !m.retryScheduled) {
			m.reason = Unknown // the user asks explicitly, so the cause may have been removed
		}
		q.reacquire(i)
	}
}

// evaluate ends an attempt as soon as the pending requests cannot change its outcome.
func (q *Quorum) evaluate(now time.Duration) {
	switch {
	case q.countIn(memberHeld) >= q.required:
		q.onAcquired(now)
	case q.countIn(absent) > len(q.members)-q.required:
		q.Acquired = q.countIn(memberHeld)
		q.choose(now)
	case q.countIn(memberHeld)+q.countIn(absent) >= q.required:
		q.limitStragglers(now)
	}
}

// limitStragglers orders the end of the attempt, once.
func (q *Quorum) limitStragglers(now time.Duration) {
	if q.attemptEnd == 0 {
		wait := q.stragglerLimit()
		q.attemptEnd = now + wait
		q.emit(Action{Kind: LimitStragglers, Wait: wait})
	}
}

// stragglerLimit returns how long to wait for members without a reply when as many have replied as are needed. They may
// be dead, and no other caller can get what this attempt holds. Two callers with half of the members each would both
// wait for the server that never replies. A quorum that waited in a queue for its turn comes first.
func (q *Quorum) stragglerLimit() time.Duration {
	switch {
	case q.once:
		return onceStragglerWait
	case q.queuedFirst != noMember:
		return q.stragglerWait
	case q.stage == acquiring && q.queueFrom == 0 && q.givesWay():
		return giveWayWait
	}
	return q.stragglerWait / 2
}

// givesWay reports whether a member before all that this quorum has is held by another: that holder, or the caller with
// its turn there, may need one that this quorum has.
func (q *Quorum) givesWay() bool {
	first := q.firstAlive(0)
	return first != noMember && q.members[first].reason == HeldByOther
}

// StragglersOverdue handles the end of the time of a LimitStragglers.
func (q *Quorum) StragglersOverdue(now time.Duration) {
	if q.stage > choosing || q.attemptEnd == 0 || now < q.attemptEnd {
		return // it was for an earlier attempt
	}
	if q.stage == acquiring {
		q.Acquired = q.countIn(memberHeld)
	}
	for i := range q.members {
		if m := &q.members[i]; m.state == requested {
			noReply := i < q.queuedFirst || m.answer != alive || q.queuedFirst == noMember // or it waits there in a queue
			m.state, m.reason = absent, HeldByOther
			if noReply {
				m.reason, m.answer = Unknown, failing
			}
			q.emit(Action{Kind: CancelRequest, Member: i, NoReply: noReply})
		}
	}
	q.stragglerWait = min(2*q.stragglerWait, maxStragglerWait)
	q.fail(now)
}

// countIn returns the number of members in a state.
func (q *Quorum) countIn(state memberState) (n int) {
	for i := range q.members {
		if q.members[i].state == state {
			n++
		}
	}
	return n
}

func (q *Quorum) onAcquired(now time.Duration) {
	q.stage, q.acquiredAt = held, now
	q.emit(Action{Kind: Acquired})
	for i := range q.members {
		q.reacquire(i)
	}
}

// choose ends an attempt that has failed, once the member to queue for is known. That is the first one that replies,
// for all callers, whichever reply came first: a caller with its turn at a later member would wait for this one behind
// its queue, and the caller with its turn at this one would wait for the later one.
func (q *Quorum) choose(now time.Duration) {
	first := q.firstAlive(q.queueFrom)
	if q.once || q.TooManyWaiters() || q.Impossible() || first == noMember || !q.anyRequested(q.queueFrom, first) {
		q.fail(now)
		return
	}
	for i := range q.members {
		switch m := &q.members[i]; {
		case m.state == memberHeld:
			m.state = absent
			q.emit(Action{Kind: Release, Member: i})
		case m.state == requested && (i < q.queueFrom || i > first):
			m.state, m.reason = absent, Unknown
			q.emit(Action{Kind: CancelRequest, Member: i})
		}
	}
	q.stage = choosing
	q.limitStragglers(now)
}

// firstAlive returns the index of the first member from that one on that has replied; noMember if there is none.
func (q *Quorum) firstAlive(from int) int {
	for i := from; i < len(q.members); i++ {
		if q.members[i].answer == alive {
			return i
		}
	}
	return noMember
}

// anyRequested reports whether a request is pending for one of the members from one on to the one before end.
func (q *Quorum) anyRequested(from, end int) bool {
	for i := from; i < end; i++ {
		if q.members[i].state == requested {
			return true
		}
	}
	return false
}

// fail releases everything after an attempt, and decides how to go on.
func (q *Quorum) fail(now time.Duration) {
	for i := range q.members {
		if m := &q.members[i]; m.state == requested {
			m.reason = Unknown // even if it once had another holder: it may be dead, so do not queue for it
		}
	}
	if q.once || q.Impossible() || q.TooManyWaiters() {
		q.end()
		q.emit(Action{Kind: Failed})
		return
	}
	if q.queuedFirst != noMember {
		q.readerWait = min(2*q.readerWait, q.maxReaderWait)
	}
	q.releaseAll()
	q.queueNext = q.memberToQueueFor()
	if q.queueNext == noMember || q.queued { // the attempts have already cost other callers time
		q.stage = backingOff
		q.emit(Action{Kind: Backoff, Wait: q.backoff})
		q.backoff = min(2*q.backoff, maxBackoff)
		return
	}
	q.queue(now)
}

// queue waits in the queue of a member with another holder, if there is one and enough time.
func (q *Quorum) queue(now time.Duration) {
	limit := maxQueueTime
	if q.until != 0 {
		limit = min(limit, q.until-now)
	}
	q.queuedFirst = noMember
	if q.queueNext == noMember || limit < minQueueTime {
		q.attempt(now)
		return
	}
	q.stage, q.queued = queueing, true
	q.request(q.queueNext, Action{Wait: limit})
}

// memberToQueueFor returns the index of the first member that replies, also if this quorum had that one: others queue
// there. After a wait in vain it is one of the next members, if a majority is possible from there on. It returns
// noMember if no member has another holder.
func (q *Quorum) memberToQueueFor() int {
	if q.countReason(HeldByOther) == 0 {
		return noMember
	}
	if i := q.firstAlive(q.queueFrom); i != noMember && q.countNotFailing(i) >= q.required {
		return i
	}
	q.queueFrom = 0
	return q.firstAlive(0)
}

// countNotFailing returns the number of members from that one on that are not known to fail.
func (q *Quorum) countNotFailing(from int) (n int) {
	for i := from; i < len(q.members); i++ {
		if q.members[i].answer != failing {
			n++
		}
	}
	return n
}

// end ends the quorum: afterwards nothing is held or asked for.
func (q *Quorum) end() {
	q.stage = ended
	q.releaseAll()
}

func (q *Quorum) releaseAll() {
	q.cancelRequests()
	for i := range q.members {
		if q.members[i].state == memberHeld {
			q.members[i].state = absent
			q.emit(Action{Kind: Release, Member: i})
		}
	}
}

func (q *Quorum) cancelRequests() {
	for i := range q.members {
		if q.members[i].state == requested {
			q.members[i].state = absent
			q.emit(Action{Kind: CancelRequest, Member: i})
		}
	}
}

// Impossible reports whether so many members were permanently rejected that there can never be enough.
func (q *Quorum) Impossible() bool {
	return q.countReason(Rejected)+q.countReason(Closed) > len(q.members)-q.required
}

// TooManyWaiters reports whether the limit of waiters is reached at a member. Then the quorum does not queue for
// another member: callers in the queues of different members would keep one each, and none would have enough.
func (q *Quorum) TooManyWaiters() bool { return q.countReason(Full) > 0 }

// Contested reports whether there are too few members because other holders have some: the servers that do not fail
// are enough, or the others were rejected for good.
func (q *Quorum) Contested() bool {
	n := q.countReason(HeldByOther)
	return n > 0 && (q.countNotFailing(0) >= q.required || n+q.countReason(Rejected)+q.countReason(Closed) > len(q.members)-q.required)
}

func (q *Quorum) countReason(why Reason) (n int) {
	for i := range q.members {
		if q.members[i].reason == why {
			n++
		}
	}
	return n
}
