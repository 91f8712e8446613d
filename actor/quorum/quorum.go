// Package quorum has the actor of several locks that are held as one. It knows no clock, no goroutine and no server.
package quorum

import "time"

// Quorum decides what becomes of one wish for several locks: which of them to ask for, when there are enough of
// them, and when there are not any more. Its members are locks elsewhere, each with a loop of its own. It is told
// what becomes of them, one event after the other, and says in Orders what is to be done.
//
// One that begins with Gathered has its members already. One that begins with Begin asks for all in parallel. If it
// does not get enough it gives everything back, queues for one that is taken, holding none, and asks for all when
// its turn comes there.
type Quorum struct {
	Orders []Order // to be carried out in their order, and then cleared
	Had    int     // members that the latest attempt had when it failed

	need    int
	once    bool          // do not wait for others
	watched bool          // members that are missing are wanted while it is held
	until   time.Duration // when the caller's wait is over; 0: it has no bound
	stage   stage
	members []membership
	elected time.Duration // when there were enough of them
	first   int           // the member that it queued for and has; none
	waited  bool          // it has been let in by a queue
	next    int           // the member to queue for after a rest; none
	queued  bool          // it did before
	rest    time.Duration // how long the next one is
	brief   time.Duration // how long whoever queued for a member waits for the others
	late    time.Duration // when the attempt is over; 0: what has not answered yet is waited for
	stand   time.Duration // how long it waits for readers of the others next time; 0: for none
	longest time.Duration // how long at most
}

// none is no member.
const none = -1

type stage uint8

const (
	asking   stage = iota // all members, in parallel
	queueing              // for one, with none held
	resting               // between attempts
	held                  // by enough of them
	apart                 // refused, lost or left: all was given back
)

type membership struct {
	state   memberState
	refusal Refusal       // the latest
	barred  bool          // a Recall is under way
	missed  bool          // it was here, and gone
	since   time.Duration // when it came; 0: with the quorum
}

type memberState uint8

const (
	away  memberState = iota
	asked             // a request for it is under way
	here              // held
)

// Refusal says why a member is not there.
type Refusal uint8

const (
	Unsure Refusal = iota // nobody knows: no answer, or it was lost
	Taken                 // by somebody else
	Barred                // for a reason that no time changes, but somebody may
	Shut                  // its engine is closed
	Full                  // as many wait there as may
)

// Order is one thing that a quorum wants done.
type Order struct {
	What   OrderKind
	Member int           // of what concerns one
	Wait   time.Duration // Ask: how long at most, 0 for as long as it is wanted; Rest: how long at most; Hurry: how long
	Once   bool          // Ask: do not wait for others
	LetIn  bool          // Ask: it has waited in a queue before, or is held: it is not refused because too many wait
	Silent bool          // Withdraw: it had no answer when the others had
}

// Unheld reports whether a request is of a quorum that is not held. Whatever that has is kept from others meanwhile, so
// it does not wait for a server that is known not to answer.
func (o *Order) Unheld() bool { return o.Once || o.Wait > 0 }

// OrderKind is the verb of an Order.
type OrderKind uint8

const (
	Ask      OrderKind = iota // for the member. What becomes of it is told: Granted or Refused
	Withdraw                  // the request for the member: nothing more is told of it, and a grant is given back
	LetGo                     // release the member, without waiting for the answer
	Rest                      // tell Rested after most of the time
	Hurry                     // tell Hurried after that time
	Confirm                   // have the member confirmed now, as it is
	Recall                    // tell Recalled when it is time to ask for a barred member once more
	Elect                     // tell the caller that the quorum is held
	Dismiss                   // tell the caller that it is not, and why
	Lose                      // tell its users that it is lost, with that member
)

const (
	// queueMost is how long a quorum stands in one member's queue before it asks all again: that member may have
	// died meanwhile.
	queueMost = 2 * time.Second
	// othersMost is how long whoever came first at one member waits for the others: the last holder releases them
	// at about the same time.
	othersMost = 50 * time.Millisecond
	// briefMost is how long at most, after attempts that some members did not answer in time: they may be far away.
	briefMost = 8 * othersMost
	// Patience is how long a quorum that is not held keeps what it has, at most, once as many have answered as it needs.
	Patience = briefMost
	// onlyChance is how long an attempt waits for those that have not answered, if it is the only one.
	onlyChance = 5 * othersMost
	// standMost is how long whoever writes and came first at one member waits for those who read the others, at most.
	standMost = queueMost
	// leastQueue is the shortest wait worth queueing for.
	leastQueue = time.Millisecond
	// Settling is how much later than the majority a member may come and still count as one of those that began.
	Settling = othersMost
	// Rests between attempts.
	firstRest, longestRest = 4 * time.Millisecond, 256 * time.Millisecond
)

// New makes a quorum that is held while so many of its members are.
func New(members, need int) Quorum {
	return Quorum{need: need, members: make([]membership, members), first: none, next: none, rest: firstRest, brief: othersMost}
}

// Gathered is the beginning of a quorum that has all of its members already.
func (q *Quorum) Gathered() {
	for i := range q.members {
		q.members[i].state = here
	}
	q.stage = held
}

// Begin asks for the members. until is when the caller's wait is over, 0 if it is not bounded; once: it does not
// wait for others. Members of a watched quorum are wanted for as long as it is held. Moments are since then.
func (q *Quorum) Begin(until time.Duration, once, watched bool) {
	q.until, q.once, q.watched = until, once, watched
	q.attempt(0)
}

// Write makes a quorum one that writes what others read, of which each hold lasts so long; 0: while it is held. Readers do
// not all leave at one moment, but none comes to a member where a writer of its engine waits: a quorum that has waited
// in vain stands there for twice as long the next time. It is to be called before Begin.
func (q *Quorum) Write(lease time.Duration) {
	q.stand, q.longest = othersMost, standMost
	if lease != 0 {
		q.longest = max(othersMost, min(standMost, lease/8)) // what it has first lasts no longer because of that
	}
}

// attempt asks for all members but the one that it has.
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

// Granted tells that the request for a member was granted, and reports whether the quorum takes it.
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

// confirm has the others confirmed when a member has come late: until then they are known to be held for less long than it
// is, so that it would not count if one of them was missed.
func (q *Quorum) confirm(late int) {
	for i := range q.members {
		if i != late && q.members[i].state == here {
			q.order(Order{What: Confirm, Member: i})
		}
	}
}

// Refused tells that the request for a member was refused.
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

// Gone tells that the hold of a member has ended, without an order, and until when it is known to have been held. That
// is mostly found out later, one member after the other: one that came back meanwhile is no proof that there was a
// majority all the time.
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

// hereSince counts the members that have been held since that moment at least.
func (q *Quorum) hereSince(moment time.Duration) (n int) {
	for i := range q.members {
		if m := &q.members[i]; m.state == here && m.since <= moment {
			n++
		}
	}
	return n
}

// Spent tells that the hold of a member has ended because its owner may not have it for longer. Asked for again the
// member would be a new owner's, so a quorum that is watched ends with it.
func (q *Quorum) Spent(now time.Duration, i int) {
	if q.stage != held || !q.watched || q.members[i].state != here {
		q.Gone(now, i, now)
		return
	}
	q.members[i].state = away
	q.lose(i)
}

// lose ends a quorum because of a member.
func (q *Quorum) lose(i int) {
	q.order(Order{What: Lose, Member: i}) // first: it is over before anything is released
	q.part()
}

// missing is what the quorum does without a member that it had, or asked for.
func (q *Quorum) missing(now time.Duration, i int) {
	switch {
	case q.stage == asking:
		q.count(now)
	case q.stage == held:
		q.want(i)
	}
}

// want has a member come that is missing, if the quorum is watched.
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

// Recalled tells that it is time to ask for a barred member once more.
func (q *Quorum) Recalled(i int) {
	m := &q.members[i]
	m.barred = false
	if q.stage == held && m.refusal == Barred {
		m.refusal = Unsure
		q.want(i)
	}
}

// Rested tells that a rest is over.
func (q *Quorum) Rested(now time.Duration) {
	if q.stage == resting {
		q.queue(now)
	}
}

// Leave is the end of a quorum that its caller has unlocked, and whose members he releases.
func (q *Quorum) Leave() {
	if q.stage == held {
		q.stage = apart
		q.withdraw()
	}
}

// GiveUp tells that the caller's wait is over. It changes nothing about a quorum that is held.
func (q *Quorum) GiveUp() {
	if q.stage < held {
		if q.stage == asking {
			q.Had = q.in(here)
		}
		q.part()
		q.order(Order{What: Dismiss})
	}
}

// Watched reports whether members that are missing are wanted.
func (q *Quorum) Watched() bool { return q.watched }

// Watch says whether members that are missing are wanted from now on.
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
			q.members[i].refusal = Unsure // its user asks, so there may be a reason
		}
		q.want(i)
	}
}

// count ends an attempt as soon as what is unknown changes nothing.
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

// straggling is how long members are waited for that have not answered when as many have as are needed. They may be
// dead, and what the attempt has got nobody else can have: two callers who have got half each would both wait for
// the server that never answers. Whoever stood in a queue for its turn comes first.
func (q *Quorum) straggling() time.Duration {
	switch {
	case q.once:
		return onlyChance
	case q.first == none:
		return q.brief / 2
	}
	return q.brief
}

// Hurried tells that the time of a Hurry is over.
func (q *Quorum) Hurried(now time.Duration) {
	if q.stage != asking || q.late == 0 || now < q.late {
		return // it was for another attempt
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

// in counts the members in a state.
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

// fail gives everything back after an attempt, and decides how to go on.
func (q *Quorum) fail(now time.Duration) {
	q.Had = q.in(here)
	for i := range q.members {
		if m := &q.members[i]; m.state == asked {
			m.refusal = Unsure // also if it was taken once: it may be dead, and is not to be queued for
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
	if q.next == none || q.queued { // it has cost the others something
		q.stage = resting
		q.order(Order{What: Rest, Wait: q.rest})
		q.rest = min(2*q.rest, longestRest)
		return
	}
	q.queue(now)
}

// queue stands in the queue of a member that is taken, if there is time and one that is.
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

// taken is the first member that somebody else has.
func (q *Quorum) taken() int {
	for i := range q.members {
		if q.members[i].refusal == Taken {
			return i
		}
	}
	return none
}

// part is the end: nothing is held or asked for afterwards.
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

// Hopeless reports whether so many members were refused for good that there can never be enough.
func (q *Quorum) Hopeless() bool { return q.refused(Barred)+q.refused(Shut) > len(q.members)-q.need }

// Crowded reports whether it may not wait for one of its members. It does not wait for another one then: those who stand in the queues of
// different members keep one each, and none of them would have enough.
func (q *Quorum) Crowded() bool { return q.refused(Full) > 0 }

// Contested reports whether there are not enough because somebody else has some.
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
