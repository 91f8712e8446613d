// Package quorum implements the state machine of several locks that are held as one. It is pure: it has no clock, no
// goroutine and no I/O.
//
// It is used like this:
//
//  1. [New] makes a [Quorum]. [Quorum.Begin] asks for all members in parallel; [Quorum.Gathered] starts with all of them
//     held.
//  2. After each call the caller executes the appended Orders in their order, and clears them.
//  3. The caller reports what happens to the members, one event after the other: [Quorum.Granted], [Quorum.Refused],
//     [Quorum.Gone] and [Quorum.Spent]. It also reports when the times that Orders ask for have elapsed:
//     [Quorum.Rested], [Quorum.Hurried] and [Quorum.Recalled].
//  4. [Quorum.Leave] ends a quorum that is held; [Quorum.GiveUp] ends one that is not held yet.
//
// An attempt that does not get enough members releases all of them. Then the quorum queues for one member with another
// holder, while it holds none, and asks for all again when it has got that one.
package quorum

import "time"

// Quorum is one operation on several locks. It decides which of them to ask for, when enough of them are held, and when
// there are too few. Its members are locks elsewhere, each with a loop of its own. It is not safe for concurrent use.
// Times are durations since Begin.
type Quorum struct {
	Orders []Order // to be executed in their order, and then cleared
	Had    int     // members held when the latest attempt failed

	need    int
	once    bool          // do not wait for other holders
	watched bool          // missing members are asked for again while the quorum is held
	until   time.Duration // when the caller's wait ends; 0: no limit
	stage   stage
	members []membership
	elected time.Duration // when enough members were held
	first   int           // the member that it queued for and has; none: there is none
	waited  bool          // it has waited in a queue
	next    int           // the member to queue for after a backoff; none: there is none
	queued  bool          // it has queued for a member before
	rest    time.Duration // length of the next backoff
	brief   time.Duration // how long it waits for the other members after it has queued for one
	late    time.Duration // when the attempt ends; 0: members without a reply are waited for
	stand   time.Duration // how long it next waits for readers of the other members; 0: not
	longest time.Duration // upper bound of stand
}

// none is the index that stands for no member.
const none = -1

type stage uint8

const (
	asking   stage = iota // asking for all members, in parallel
	queueing              // waiting in the queue of one, with none held
	resting               // backing off between attempts
	held                  // enough members are held
	apart                 // rejected, lost or unlocked: all members were released
)

type membership struct {
	state   memberState
	refusal Refusal       // the latest
	barred  bool          // a Recall is pending
	missed  bool          // it was held, and lost
	since   time.Duration // when it was acquired; 0: with the quorum
}

type memberState uint8

const (
	away  memberState = iota
	asked             // a request for it is pending
	here              // held
)

// Refusal is the reason why a member is not held.
type Refusal uint8

const (
	Unsure Refusal = iota // unknown: no reply, or it was lost
	Taken                 // it has another holder
	Barred                // the server rejects it; time alone does not change that, but an operator may
	Shut                  // its engine is closed
	Full                  // the limit of waiters there is reached
)

// Order is one action that the caller of the quorum must execute.
type Order struct {
	What   OrderKind
	Member int           // index of the member, for actions that concern one
	Wait   time.Duration // Ask: longest wait, 0: while it is wanted; Rest: longest time; Hurry: time
	Once   bool          // Ask: do not wait for other holders
	LetIn  bool          // Ask: the quorum is held or has waited in a queue, so no limit of waiters rejects the request
	Silent bool          // Withdraw: there was no reply from it when the others had replied
}

// Unheld reports whether an Ask is of a quorum that is not held. What such a quorum has is kept from other callers, so
// its requests do not wait for a server that is known not to reply.
func (o *Order) Unheld() bool { return o.Once || o.Wait > 0 }

// OrderKind is the action of an Order.
type OrderKind uint8

const (
	Ask      OrderKind = iota // request the member; report the result with Granted or Refused
	Withdraw                  // cancel the request for the member: report nothing more of it, and release a grant
	LetGo                     // release the member, without waiting for the reply
	Rest                      // call Rested after most of Wait
	Hurry                     // call Hurried after Wait
	Confirm                   // confirm the member now, with its present lease
	Recall                    // call Recalled when it is time to ask for a barred member again
	Elect                     // notify the caller that the quorum is held
	Dismiss                   // notify the caller that it is not held, and why
	Lose                      // notify its users that it is lost, because of that member
)

const (
	// queueMost is how long a quorum waits in one member's queue before it asks for all again: that member may have
	// failed meanwhile.
	queueMost = 2 * time.Second
	// othersMost is how long a quorum that got its turn at one member waits for the others. The last holder releases
	// them at about the same time.
	othersMost = 50 * time.Millisecond
	// briefMost is the upper bound of that wait. It grows after attempts in which some members did not reply in time,
	// because they may be far away.
	briefMost = 8 * othersMost
	// Patience is how long a quorum that is not held keeps its members at most, once as many have replied as it needs.
	Patience = briefMost
	// onlyChance is how long an attempt waits for members without a reply, if it is the only attempt.
	onlyChance = 5 * othersMost
	// standMost is how long a writer that got its turn at one member waits for readers of the others at most.
	standMost = queueMost
	// leastQueue is the shortest wait worth queueing for.
	leastQueue = time.Millisecond
	// Settling is how much later than the majority a member may come and still count as one of the first members.
	Settling = othersMost
	// Bounds of the backoff between attempts.
	firstRest, longestRest = 4 * time.Millisecond, 256 * time.Millisecond
)

// New returns a quorum that is held while at least need of its members are.
func New(members, need int) Quorum {
	return Quorum{need: need, members: make([]membership, members), first: none, next: none, rest: firstRest, brief: othersMost}
}

// Gathered starts a quorum that holds all of its members already.
func (q *Quorum) Gathered() {
	for i := range q.members {
		q.members[i].state = here
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

// Write makes a quorum one of writers; lease is the length of each hold, 0: while the quorum is held. Readers do not
// all leave at the same time, but none joins at a member where a writer of its engine waits. So a quorum that has
// waited in vain waits there for twice as long the next time. Write must be called before Begin.
func (q *Quorum) Write(lease time.Duration) {
	q.stand, q.longest = othersMost, standMost
	if lease != 0 {
		q.longest = max(othersMost, min(standMost, lease/8)) // or the lease of what it got first would end meanwhile
	}
}

// attempt asks for all members except the one that it already has.
func (q *Quorum) attempt(now time.Duration) {
	q.stage, q.late = asking, 0
	for i := range q.members {
		if i != q.first {
			q.ask(i, Order{Once: q.first == none, Wait: q.patience()})
		}
	}
	q.count(now)
}

func (q *Quorum) patience() time.Duration {
	if q.first == none {
		return 0
	}
	return max(q.brief, q.stand)
}

func (q *Quorum) ask(i int, how Order) {
	q.members[i].state = asked
	how.LetIn = q.waited || q.stage == held
	how.What, how.Member = Ask, i
	q.order(how)
}

func (q *Quorum) order(o Order) { q.Orders = append(q.Orders, o) }

// Granted handles the grant of a member, and reports whether the quorum takes it.
func (q *Quorum) Granted(now time.Duration, i int) bool {
	m := &q.members[i]
	if m.state != asked {
		return false
	}
	m.state, m.refusal, m.since = here, Unsure, 0
	if q.stage == held && (m.missed || now-q.elected > Settling) {
		m.since = now
	}
	switch q.stage {
	case queueing:
		q.first, q.waited = i, true
		q.attempt(now)
	case asking:
		q.count(now)
	case held:
		if m.since != 0 {
			q.confirm(i)
		}
	}
	return true
}

// confirm orders a confirmation of all other members when one was acquired late. Without it, the last confirmation of
// the others is older than the late member, so the late one would not count if another was lost.
func (q *Quorum) confirm(late int) {
	for i := range q.members {
		if i != late && q.members[i].state == here {
			q.order(Order{What: Confirm, Member: i})
		}
	}
}

// Refused handles the rejection of a request for a member.
func (q *Quorum) Refused(now time.Duration, i int, why Refusal) {
	m := &q.members[i]
	if m.state != asked {
		return
	}
	m.state, m.refusal = away, why
	switch {
	case q.stage == queueing && why == Full:
		q.fail(now)
	case q.stage == queueing:
		q.waited = true
		q.attempt(now)
	default:
		q.missing(now, i)
	}
}

// Gone handles the end of a member's hold that was not ordered; known is until when the hold is known to have lasted.
// Mostly that is found out later, one member after the other. A member that was acquired again meanwhile does not prove
// that there was a majority all the time.
func (q *Quorum) Gone(now time.Duration, i int, known time.Duration) {
	m := &q.members[i]
	if m.state != here {
		return
	}
	m.state, m.refusal, m.missed = away, Unsure, q.stage == held
	if q.stage == held && q.hereSince(known) < q.need {
		q.lose(i)
		return
	}
	q.missing(now, i)
}

// hereSince returns the number of members that have been held since that time or longer.
func (q *Quorum) hereSince(moment time.Duration) (n int) {
	for i := range q.members {
		if m := &q.members[i]; m.state == here && m.since <= moment {
			n++
		}
	}
	return n
}

// Spent handles the end of a member's hold because its owner must not have it for longer. A new request for it would
// have a new owner, so a watched quorum ends.
func (q *Quorum) Spent(now time.Duration, i int) {
	if q.stage != held || !q.watched || q.members[i].state != here {
		q.Gone(now, i, now)
		return
	}
	q.members[i].state = away
	q.lose(i)
}

// lose ends a quorum because of the loss of a member.
func (q *Quorum) lose(i int) {
	q.order(Order{What: Lose, Member: i}) // first: the quorum is over before a member is released
	q.part()
}

// missing handles that a member which was held or asked for is missing now.
func (q *Quorum) missing(now time.Duration, i int) {
	switch {
	case q.stage == asking:
		q.count(now)
	case q.stage == held:
		q.want(i)
	}
}

// want asks for a missing member, if the quorum is watched.
func (q *Quorum) want(i int) {
	m := &q.members[i]
	switch {
	case !q.watched || m.state != away || m.refusal == Shut:
	case m.refusal != Barred:
		q.ask(i, Order{})
	case !m.barred:
		m.barred = true
		q.order(Order{What: Recall, Member: i})
	}
}

// Recalled handles that it is time to ask for a barred member again.
func (q *Quorum) Recalled(i int) {
	m := &q.members[i]
	m.barred = false
	if q.stage == held && m.refusal == Barred {
		m.refusal = Unsure
		q.want(i)
	}
}

// Rested handles the end of a backoff.
func (q *Quorum) Rested(now time.Duration) {
	if q.stage == resting {
		q.queue(now)
	}
}

// Leave ends a quorum that its caller has unlocked. The caller releases the members.
func (q *Quorum) Leave() {
	if q.stage == held {
		q.stage = apart
		q.withdraw()
	}
}

// GiveUp handles the end of the caller's wait. It has no effect on a quorum that is held.
func (q *Quorum) GiveUp() {
	if q.stage < held {
		if q.stage == asking {
			q.Had = q.in(here)
		}
		q.part()
		q.order(Order{What: Dismiss})
	}
}

// Watched reports whether missing members are asked for again.
func (q *Quorum) Watched() bool { return q.watched }

// Watch sets whether missing members are asked for from now on.
func (q *Quorum) Watch(on bool) {
	q.watched = on
	if q.stage != held {
		return
	}
	if !on {
		q.withdraw()
	}
	for i := range q.members {
		if on && q.members[i].refusal == Barred {
			q.members[i].refusal = Unsure // the user asks explicitly, so the cause may have been removed
		}
		q.want(i)
	}
}

// count ends an attempt as soon as the pending requests cannot change its outcome.
func (q *Quorum) count(now time.Duration) {
	switch {
	case q.in(here) >= q.need:
		q.elect(now)
	case q.in(away) > len(q.members)-q.need:
		q.fail(now)
	case q.late == 0 && q.in(here)+q.in(away) >= q.need:
		wait := q.straggling()
		q.late = now + wait
		q.order(Order{What: Hurry, Wait: wait})
	}
}

// straggling returns how long to wait for members without a reply when as many have replied as are needed. They may be
// dead, and no other caller can get what this attempt holds. Two callers with half of the members each would both wait
// for the server that never replies. A quorum that waited in a queue for its turn comes first.
func (q *Quorum) straggling() time.Duration {
	switch {
	case q.once:
		return onlyChance
	case q.first == none:
		return q.brief / 2
	}
	return q.brief
}

// Hurried handles the end of the time of a Hurry.
func (q *Quorum) Hurried(now time.Duration) {
	if q.stage != asking || q.late == 0 || now < q.late {
		return // it was for an earlier attempt
	}
	for i := range q.members {
		if m := &q.members[i]; m.state == asked {
			m.state, m.refusal = away, Unsure
			q.order(Order{What: Withdraw, Member: i, Silent: true})
		}
	}
	q.brief = min(2*q.brief, briefMost)
	q.fail(now)
}

// in returns the number of members in a state.
func (q *Quorum) in(state memberState) (n int) {
	for i := range q.members {
		if q.members[i].state == state {
			n++
		}
	}
	return n
}

func (q *Quorum) elect(now time.Duration) {
	q.stage, q.elected = held, now
	q.order(Order{What: Elect})
	for i := range q.members {
		q.want(i)
	}
}

// fail releases everything after an attempt, and decides how to go on.
func (q *Quorum) fail(now time.Duration) {
	q.Had = q.in(here)
	for i := range q.members {
		if m := &q.members[i]; m.state == asked {
			m.refusal = Unsure // even if it once had another holder: it may be dead, so do not queue for it
		}
	}
	if q.once || q.Hopeless() || q.Crowded() {
		q.part()
		q.order(Order{What: Dismiss})
		return
	}
	if q.first != none {
		q.stand = min(2*q.stand, q.longest)
	}
	q.giveBack()
	q.next = q.taken()
	if q.next == none || q.queued { // the attempts have already cost other callers time
		q.stage = resting
		q.order(Order{What: Rest, Wait: q.rest})
		q.rest = min(2*q.rest, longestRest)
		return
	}
	q.queue(now)
}

// queue waits in the queue of a member with another holder, if there is one and enough time.
func (q *Quorum) queue(now time.Duration) {
	limit := queueMost
	if q.until != 0 {
		limit = min(limit, q.until-now)
	}
	q.first = none
	if q.next == none || limit < leastQueue {
		q.attempt(now)
		return
	}
	q.stage, q.queued = queueing, true
	q.ask(q.next, Order{Wait: limit})
}

// taken returns the first member that has another holder; none if there is none.
func (q *Quorum) taken() int {
	for i := range q.members {
		if q.members[i].refusal == Taken {
			return i
		}
	}
	return none
}

// part ends the quorum: afterwards nothing is held or asked for.
func (q *Quorum) part() {
	q.stage = apart
	q.giveBack()
}

func (q *Quorum) giveBack() {
	q.withdraw()
	for i := range q.members {
		if q.members[i].state == here {
			q.members[i].state = away
			q.order(Order{What: LetGo, Member: i})
		}
	}
}

func (q *Quorum) withdraw() {
	for i := range q.members {
		if q.members[i].state == asked {
			q.members[i].state = away
			q.order(Order{What: Withdraw, Member: i})
		}
	}
}

// Hopeless reports whether so many members were permanently rejected that there can never be enough.
func (q *Quorum) Hopeless() bool { return q.refused(Barred)+q.refused(Shut) > len(q.members)-q.need }

// Crowded reports whether the limit of waiters is reached at a member. Then the quorum does not queue for another
// member: callers in the queues of different members would keep one each, and none would have enough.
func (q *Quorum) Crowded() bool { return q.refused(Full) > 0 }

// Contested reports whether there are too few members because other holders have some.
func (q *Quorum) Contested() bool {
	n := q.refused(Taken)
	return n > 0 && n+q.refused(Barred)+q.refused(Shut) > len(q.members)-q.need
}

func (q *Quorum) refused(why Refusal) (n int) {
	for i := range q.members {
		if q.members[i].refusal == why {
			n++
		}
	}
	return n
}
