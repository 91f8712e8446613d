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
	next    int           // the member to queue for after a rest; none
	queued  bool          // it did before
	rest    time.Duration // how long the next one is
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
)

// Order is one thing that a quorum wants done.
type Order struct {
	What   OrderKind
	Member int           // of what concerns one
	Wait   time.Duration // Ask: how long at most, 0 for as long as it is wanted; Rest: how long at most
	Once   bool          // Ask: do not wait for others
}

// OrderKind is the verb of an Order.
type OrderKind uint8

const (
	Ask      OrderKind = iota // for the member. What becomes of it is told: Granted or Refused
	Withdraw                  // the request for the member: nothing more is told of it, and a grant is given back
	LetGo                     // release the member, without waiting for the answer
	Rest                      // tell Rested after most of the time
	Recall                    // tell Recalled when it is time to ask for a barred member once more
	Elect                     // tell the caller that the quorum is held
	Dismiss                   // tell the caller that it is not, and why
	Lose                      // tell its users that it is lost, with that member
)

const (
	// queueMost is how long a quorum stands in one member's queue before it asks all again: that member may have
	// died meanwhile.
	queueMost = 5 * time.Second
	// othersMost is how long whoever came first at one member waits for the others: the last holder releases them
	// at about the same time.
	othersMost = 50 * time.Millisecond
	// leastQueue is the shortest wait worth queueing for.
	leastQueue = time.Millisecond
	// Settling is how much later than the majority a member may come and still count as one of those that began.
	Settling = othersMost
	// Rests between attempts.
	firstRest, longestRest = 4 * time.Millisecond, 256 * time.Millisecond
)

// New makes a quorum that is held while so many of its members are.
func New(members, need int) Quorum {
	return Quorum{need: need, members: make([]membership, members), first: none, next: none, rest: firstRest}
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

// attempt asks for all members but the one that it has.
func (q *Quorum) attempt(now time.Duration) {
	q.stage = asking
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
	return othersMost
}

func (q *Quorum) ask(i int, how Order) {
	q.members[i].state = asked
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
		q.first = i
		q.attempt(now)
	case asking:
		q.count(now)
	}
	return true
}

// Refused tells that the request for a member was refused.
func (q *Quorum) Refused(now time.Duration, i int, why Refusal) {
	m := &q.members[i]
	if m.state != asked {
		return
	}
	m.state, m.refusal = away, why
	if q.stage == queueing {
		q.attempt(now)
		return
	}
	q.missing(now, i)
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

// count ends an attempt as soon as what is unknown changes nothinq.
func (q *Quorum) count(now time.Duration) {
	switch {
	case q.in(here) >= q.need:
		q.elect(now)
	case q.in(away) > len(q.members)-q.need:
		q.fail(now)
	}
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
	if q.once || q.Hopeless() {
		q.part()
		q.order(Order{What: Dismiss})
		return
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
