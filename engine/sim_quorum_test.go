package engine

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/actor/quorum"
)

// simSeats is the number of locks in a quorum.
const simSeats = 3

// simVoter is a user of quorums: the real actor of one, and locks on several engines, as the root package's group
// has them. Each lock has a name of its own, so that what happens to one server is what happens to one name. Events
// of the loops reach the actor some time later, in any order.
type simVoter struct {
	w      *simWorld
	number int
	seats  [simSeats]simSeat
	actor  quorum.Quorum
	active bool          // it asks, or has a majority
	held   bool          // it has a majority
	lease  time.Duration // 0: watched
	begun  time.Duration
	since  time.Duration    // since when nothing has been missing, or it is held and watched
	elect  time.Duration    // when it got its majority
	tired  bool             // it makes no new requests
	stolen map[int]*simHold // by their seats: the holds with which its majority went
	hoards time.Duration    // since when it has had locks without being held, though as many members have replied as it needs; 0: it does not
	asked  int              // requests since counts
	counts time.Duration
	owner  uint64 // its owner number
	thinks func()
}

// simSeat is one lock of a quorum.
type simSeat struct {
	v      *simVoter
	at     int
	caller *simCaller // on the engine that the lock belongs to
	ask    *simAsk    // the request that is to bring it
	hold   *simHold
	barred bool // it was rejected permanently
}

func newSimVoter(w *simWorld, number int) *simVoter {
	v := &simVoter{w: w, number: number}
	v.thinks = v.thought
	v.think()
	return v
}

func (v *simVoter) String() string { return fmt.Sprintf("quorum %d", v.number) }

func (v *simVoter) tracef(format string, args ...any) {
	if v.w.trace != nil {
		v.w.trace.add(v.w.now, v.String(), format, args...)
	}
}

func (v *simVoter) busy() bool { return v.active }

func (v *simVoter) think() {
	v.w.after(v.w.spread(10*time.Microsecond, max(v.w.plan.think, time.Millisecond)), v.thinks)
}

func (v *simVoter) thought() {
	if v.w.tired {
		return
	}
	v.think()
	if v.w.may(v.String(), "wish") {
		v.act()
	}
}

func (v *simVoter) act() {
	w := v.w
	switch {
	case !v.active:
		v.begin(v.wish())
	case !v.held:
		if w.chance(0.1) {
			v.tell(v.actor.GiveUp)
		}
	case w.chance(0.3):
		v.enter(&v.seats[w.random.IntN(simSeats)])
	case w.chance(0.3):
		v.extend()
	case w.chance(0.5):
		v.leave()
	}
}

// simWish is how a majority is requested.
type simWish struct {
	once  bool
	lease time.Duration // 0: watched
	wait  time.Duration // 0: no limit
}

func (v *simVoter) wish() (how simWish) {
	w := v.w
	if how.once = w.chance(w.plan.once); !how.once && w.chance(0.3) {
		how.wait = w.spread(time.Millisecond, 4*w.plan.lease)
	}
	if w.chance(w.plan.fixed) {
		how.lease = v.someLease()
	}
	return how
}

func (v *simVoter) someLease() time.Duration {
	return max(v.w.plan.fixedLease(v.w), v.w.plan.usableLease())
}

// begin mirrors Multi.majority.
func (v *simVoter) begin(how simWish) {
	w := v.w
	v.w.quorums++
	v.owner = actor.ThreadOwner | actor.QuorumOwner | uint64(v.w.quorums)
	v.actor, v.active, v.held, v.lease, v.begun = quorum.New(simSeats, simSeats/2+1), true, false, how.lease, w.now
	for i := range v.seats {
		s := &v.seats[i]
		*s = simSeat{v: v, at: i}
		s.caller = &simCaller{e: w.engines[(v.number+i)%len(w.engines)], number: 100 + 10*v.number + i, probes: s.decided}
	}
	if how.wait != 0 {
		begun := v.begun
		w.after(how.wait, func() { v.later(begun, v.actor.GiveUp) })
	}
	if w.names[0].kind == actor.Write {
		v.actor.Write(how.lease)
	}
	v.tracef("wants a majority: %+v", how)
	v.tell(func() { v.actor.Begin(how.wait, how.once, how.lease == 0) })
}

func (v *simVoter) now() time.Duration { return v.w.now - v.begun }

// tell mirrors group.tell.
func (v *simVoter) tell(event func()) {
	event()
	for len(v.actor.Orders) > 0 {
		orders := v.actor.Orders
		v.actor.Orders = nil
		for _, o := range orders {
			v.carryOut(o)
		}
	}
	v.right()
}

// carryOut mirrors group.carryOut.
func (v *simVoter) carryOut(o quorum.Order) {
	s, w := &v.seats[o.Member], v.w
	switch o.What {
	case quorum.Ask:
		s.asks(o)
	case quorum.Withdraw:
		if s.ask != nil {
			s.caller.giveUp(s.ask)
			s.ask = nil
		}
	case quorum.LetGo:
		s.letGo()
	case quorum.Rest:
		begun := v.begun
		w.after(w.between(o.Wait/2, o.Wait), func() { v.later(begun, func() { v.actor.Rested(v.now()) }) })
	case quorum.Hurry:
		begun := v.begun
		w.after(o.Wait, func() { v.later(begun, func() { w.saw(sawHurried); v.actor.Hurried(v.now()) }) })
	case quorum.Recall:
		begun := v.begun
		w.after(s.caller.e.config.Renew, func() { v.later(begun, func() { w.saw(sawRecalled); v.actor.Recalled(s.at) }) })
	case quorum.Confirm:
		if s.hold != nil && !s.caller.e.dead {
			s.caller.change(s.hold, AskConfirm, 0)
		}
	case quorum.Elect:
		v.elected()
	case quorum.Dismiss:
		v.tracef("is refused a majority")
		w.saw(sawDismissed)
		v.active = false
	case quorum.Lose:
		v.tracef("has lost its majority")
		w.saw(sawMajorityLost)
		v.active, v.held = false, false
	}
}

// later is for timers, which may fire when the quorum is over.
func (v *simVoter) later(begun time.Duration, event func()) {
	if v.begun == begun {
		v.tell(event)
	}
}

func (s *simSeat) asks(o quorum.Order) {
	c, w := s.caller, s.v.w
	if c.e.dead {
		s.v.actor.Refused(s.v.now(), s.at, quorum.Shut)
		return
	}
	s.v.unhurried()
	a := c.newAsk(actor.Acquire, s.at)
	a.Kind = w.names[s.at].kind
	a.Lease, a.Wait, a.Once, a.IfUp = s.v.lease, o.Wait, o.Once, o.Unheld()
	a.Owner, a.Own = s.v.owner, true
	s.ask = a
	c.want(a)
}

// decided mirrors member.decided.
func (s *simSeat) decided(a *simAsk) {
	s.caller.asks = without(s.caller.asks, a)
	if a.taken = true; s.ask != a {
		return
	}
	s.ask = nil
	v := s.v
	v.tell(func() {
		if a.Err != nil {
			why := simRefusalOf(a.Err)
			s.barred = why == quorum.Barred
			v.actor.Refused(v.now(), s.at, why)
			return
		}
		if v.held {
			v.w.saw(sawJoined)
		}
		if a.hold.grant.Owner != a.Owner {
			v.w.fail("%s has a lock as owner %d, which it did not ask for: %s", v, a.hold.grant.Owner, a)
		}
		s.barred, s.hold = false, a.hold
		v.actor.Granted(v.now(), s.at)
		if !a.hold.grant.Ask(nil, &actor.Signal{Watch: s}) {
			s.HoldEnded(&a.hold.grant)
		}
	})
}

// simRefusalOf mirrors the root package's refusalOf.
func simRefusalOf(err error) quorum.Refusal {
	switch err {
	case actor.ErrNotAcquired:
		return quorum.Taken
	case actor.ErrUnavailable:
		return quorum.Unsure
	case actor.ErrClosed:
		return quorum.Shut
	}
	if err == actor.ErrTooManyWaiters {
		return quorum.Full
	}
	return quorum.Barred
}

// HoldEnded is called by the loop. The quorum learns of it soon.
func (s *simSeat) HoldEnded(grant *actor.Hold) {
	begun := s.v.begun
	s.v.w.after(s.v.w.between(0, 50*time.Microsecond), func() {
		if s.v.begun != begun || s.hold == nil || &s.hold.grant != grant {
			return
		}
		if actor.Spent(grant.Signal().Cause) {
			s.v.w.saw(sawSpent)
			if s.gone(s.v.actor.Spent); s.v.held && s.v.lease == 0 {
				s.v.w.fail("%s is held on, though the time of its owner is over", s.v)
			}
		} else {
			s.missed(s.hold)
		}
	})
}

// missed runs when the hold of a seat has ended by itself.
func (s *simSeat) missed(h *simHold) {
	known := h.e.clock.when(h.known()) - s.v.begun
	s.gone(func(now time.Duration, i int) { s.v.actor.Gone(now, i, known) })
}

func (s *simSeat) gone(event func(now time.Duration, i int)) {
	s.hold = nil
	s.v.tell(func() { event(s.v.now(), s.at) })
}

// letGo mirrors Hold.letGo.
func (s *simSeat) letGo() {
	if h := s.hold; h != nil && !s.caller.e.dead {
		s.caller.change(h, actor.Unlock, 0)
	}
	s.hold = nil
}

// bereave notifies quorums that one of their engines has died.
func (w *simWorld) bereave(e *simEngine) {
	for _, v := range w.voters {
		for i := range v.seats {
			s := &v.seats[i]
			if s.caller == nil || s.caller.e != e {
				continue
			}
			if s.ask != nil {
				s.ask = nil
				v.tell(func() { v.actor.Refused(v.now(), i, quorum.Shut) })
			}
			if s.hold != nil {
				s.missed(s.hold)
			}
		}
	}
}

func (v *simVoter) elected() {
	v.tracef("has a majority")
	v.w.saw(sawElected)
	v.held, v.since, v.elect = true, v.w.now, v.w.now
	v.alone()
	if v.tired {
		v.w.after(v.w.between(0, time.Millisecond), v.tidy)
	}
}

// leave mirrors Hold.Unlock.
func (v *simVoter) leave() {
	v.tracef("leaves")
	v.active, v.held = false, false
	v.tell(func() {
		v.actor.Leave()
		for i := range v.seats {
			v.seats[i].letGo()
		}
	})
}

// enter locks one of the locks alone, with the context of the quorum: one that is held, or one that is missing. As
// soon as the quorum has the lock, a request that waits with its context is granted, too. Conversely, if that
// request has the lock, the quorum gets it unless something else prevents that.
func (v *simVoter) enter(s *simSeat) {
	w, owner := v.w, v.owner
	if s.hold != nil {
		owner = s.hold.grant.Owner
	}
	if s.caller.e.dead {
		return
	}
	c := &simCaller{e: s.caller.e, number: s.caller.number + 5}
	c.probes = func(a *simAsk) {
		c.asks = without(c.asks, a)
		if a.taken = true; a.Tag != actor.Acquire || a.Err != nil || c.e.dead {
			return
		}
		w.saw(sawEntered)
		if f := s.ask; f != nil && f.Owner == a.Owner && f.asked < a.asked && !f.Decided() && a.hold.grant.Owner != f.Owner {
			w.fail("%s keeps its quorum waiting for a stranger's lock: %s", c.e.name, a.hold)
		}
		w.after(w.spread(time.Millisecond, w.plan.lease), func() {
			if !c.e.dead {
				c.change(a.hold, actor.Unlock, 0)
			}
		})
	}
	a := c.newAsk(actor.Acquire, s.at)
	a.Kind, a.Owner, a.Wait = w.names[s.at].kind, owner, w.spread(time.Millisecond, 2*w.plan.lease)
	v.tracef("is entered at %s", w.plan.names[s.at])
	c.want(a)
}

// extend mirrors Hold.Extend.
func (v *simVoter) extend() {
	if v.lease = 0; v.w.chance(0.5) {
		v.lease = v.someLease()
	}
	v.since = v.w.now
	v.tracef("extends to %v", v.lease)
	v.tell(func() { v.actor.Watch(v.lease == 0) })
	for i := range v.seats {
		if s := &v.seats[i]; s.hold != nil && !s.caller.e.dead {
			s.caller.change(s.hold, actor.Extend, v.lease)
		}
	}
}

// tidy is for the end: a quorum with a majority unlocks it, and one that still waits will.
func (v *simVoter) tidy() {
	if v.tired = true; v.held {
		v.leave()
	}
}

// known returns until when an ended hold was known to be held. If a hold has not ended, its engine has died and its
// keys stay.
func (h *simHold) known() time.Duration {
	if end := h.grant.Signal(); end != nil && end.Err != nil {
		return end.Known
	}
	return h.grant.Until()
}
