package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/actor/quorum"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// simMembers is the number of locks in a quorum.
const simMembers = 3

// simQuorumUser is a user of quorums: the real actor of one, and locks on several engines, as the root package's group
// has them. Each lock has a name of its own, so that what happens to one server is what happens to one name. Events
// of the loops reach the actor some time later, in any order.
type simQuorumUser struct {
	w            *simWorld
	number       int
	members      [simMembers]simMember
	actor        quorum.Quorum
	active       bool          // it asks, or has a majority
	held         bool          // it has a majority
	lease        time.Duration // 0: watched
	begun        time.Duration
	since        time.Duration    // since when nothing has been missing, or it is held and watched
	acquiredAt   time.Duration    // when it got its majority
	draining     bool             // it makes no new requests
	takenMembers map[int]*simHold // by their seats: the holds with which its majority went
	hoardsSince  time.Duration    // since when it has had locks without being held, though as many members have replied as it needs; 0: it does not
	requestCount int              // requests since counts
	countedAt    time.Duration
	owner        uint64 // its owner number
	onThinkTime  func()
}

// simMember is one lock of a quorum.
type simMember struct {
	v        *simQuorumUser
	at       int
	caller   *simCaller  // on the engine that the lock belongs to
	request  *simRequest // the request that is to bring it
	hold     *simHold
	rejected bool // it was rejected permanently

	retriesAt time.Duration // when it is asked for again after it was forced away. True time
}

func newSimQuorumUser(w *simWorld, number int) *simQuorumUser {
	v := &simQuorumUser{w: w, number: number}
	v.onThinkTime = v.thought
	v.thinkTime()
	return v
}

func (v *simQuorumUser) String() string { return fmt.Sprintf("quorum %d", v.number) }

func (v *simQuorumUser) tracef(format string, args ...any) {
	if v.w.trace != nil {
		v.w.trace.add(v.w.now, v.String(), format, args...)
	}
}

func (v *simQuorumUser) busy() bool { return v.active }

func (v *simQuorumUser) thinkTime() {
	v.w.after(v.w.spread(10*time.Microsecond, max(v.w.plan.think, time.Millisecond)), v.onThinkTime)
}

func (v *simQuorumUser) thought() {
	if v.w.draining {
		return
	}
	v.thinkTime()
	if v.w.may(v.String(), "wish") {
		v.act()
	}
}

func (v *simQuorumUser) act() {
	w := v.w
	switch {
	case !v.active:
		v.begin(v.acquireMode())
	case !v.held:
		if w.chance(0.1) {
			v.apply(v.actor.Cancel)
		}
	case w.chance(0.3):
		v.enter(&v.members[w.random.IntN(simMembers)])
	case w.chance(0.3):
		v.extend()
	case w.chance(0.5):
		v.leave()
	}
}

// simAcquireMode is how a majority is requested.
type simAcquireMode struct {
	once  bool
	lease time.Duration // 0: watched
	wait  time.Duration // 0: no limit
}

func (v *simQuorumUser) acquireMode() (how simAcquireMode) {
	w := v.w
	if how.once = w.chance(w.plan.tryOnce); !how.once && w.chance(0.3) {
		how.wait = w.spread(time.Millisecond, 4*w.plan.lease)
	}
	if w.chance(w.plan.fixed) {
		how.lease = v.someLease()
	}
	return how
}

func (v *simQuorumUser) someLease() time.Duration {
	return max(v.w.plan.fixedLease(v.w), v.w.plan.usableLease())
}

// begin mirrors Multi.majority.
func (v *simQuorumUser) begin(how simAcquireMode) {
	w := v.w
	v.w.quorums++
	v.owner = actor.ThreadOwner | actor.QuorumOwner | uint64(v.w.quorums)
	v.actor, v.active, v.held, v.lease, v.begun = quorum.New(simMembers, simMembers/2+1), true, false, how.lease, w.now
	for i := range v.members {
		s := &v.members[i]
		*s = simMember{v: v, at: i}
		s.caller = &simCaller{e: w.engines[(v.number+i)%len(w.engines)], number: 100 + 10*v.number + i, onResult: s.onResult}
	}
	if how.wait != 0 {
		begun := v.begun
		w.after(how.wait, func() { v.later(begun, v.actor.Cancel) })
	}
	if w.names[0].kind == actor.Write {
		v.actor.SetWriter(how.lease)
	}
	v.tracef("wants a majority: %+v", how)
	v.apply(func() { v.actor.Begin(how.wait, how.once, how.lease == 0) })
}

func (v *simQuorumUser) now() time.Duration { return v.w.now - v.begun }

// apply mirrors lockSet.tell.
func (v *simQuorumUser) apply(event func()) {
	event()
	for len(v.actor.Actions) > 0 {
		orders := v.actor.Actions
		v.actor.Actions = nil
		for _, o := range orders {
			v.execute(o)
		}
	}
	v.check()
}

// execute mirrors lockSet.execute.
func (v *simQuorumUser) execute(o quorum.Action) {
	s, w := &v.members[o.Member], v.w
	switch o.Kind {
	case quorum.Request:
		s.sendRequest(o)
	case quorum.CancelRequest:
		if s.request != nil {
			s.caller.cancel(s.request)
			s.request = nil
		}
	case quorum.Release:
		s.releaseAsync()
	case quorum.Backoff:
		begun := v.begun
		w.after(w.between(o.Wait/2, o.Wait), func() { v.later(begun, func() { v.actor.BackoffOver(v.now()) }) })
	case quorum.LimitStragglers:
		begun := v.begun
		w.after(o.Wait, func() { v.later(begun, func() { w.cover(coverQuorumHurried); v.actor.StragglersOverdue(v.now()) }) })
	case quorum.RetryLater:
		begun := v.begun
		w.after(s.caller.e.config.RenewInterval, func() { v.later(begun, func() { w.cover(coverMemberRetried); v.actor.RetryDue(s.at) }) })
	case quorum.RetryAfterLease:
		begun := v.begun
		s.retriesAt = w.now + s.caller.e.config.Lease
		w.after(s.caller.e.config.Lease, func() { v.later(begun, func() { v.actor.RetryDue(s.at) }) })
	case quorum.Confirm:
		if s.hold != nil && !s.caller.e.dead {
			s.caller.change(s.hold, coordinator.AskConfirm, 0)
		}
	case quorum.Acquired:
		v.onAcquired()
	case quorum.Failed:
		v.tracef("is refused a majority")
		w.cover(coverQuorumFailed)
		v.active = false
	case quorum.Lost:
		v.tracef("has lost its majority")
		w.cover(coverMajorityLost)
		v.active, v.held = false, false
	}
}

// later is for timers, which may fire when the quorum is over.
func (v *simQuorumUser) later(begun time.Duration, event func()) {
	if v.begun == begun {
		v.apply(event)
	}
}

func (s *simMember) sendRequest(o quorum.Action) {
	c, w := s.caller, s.v.w
	if c.e.dead {
		s.v.actor.MemberFailed(s.v.now(), s.at, quorum.Closed)
		return
	}
	s.v.checkBackoff()
	a := c.newRequest(actor.Acquire, s.at)
	a.Kind = w.names[s.at].kind
	a.Lease, a.Wait, a.Once, a.FailIfDown = s.v.lease, o.Wait, o.Once, o.Unheld()
	a.Owner, a.OfQuorum = s.v.owner, true
	s.request = a
	c.want(a)
}

// onResult mirrors member.onResult.
func (s *simMember) onResult(a *simRequest) {
	s.caller.requests = without(s.caller.requests, a)
	if a.delivered = true; s.request != a {
		return
	}
	s.request = nil
	v := s.v
	v.apply(func() {
		if a.Err != nil {
			why := simFailureOf(a.Err)
			s.rejected = why == quorum.Rejected
			v.actor.MemberFailed(v.now(), s.at, why)
			return
		}
		if v.held {
			v.w.cover(coverMemberJoined)
		}
		if a.hold.grant.Owner != a.Owner {
			v.w.fail("%s has a lock as owner %d, which it did not ask for: %s", v, a.hold.grant.Owner, a)
		}
		s.rejected, s.hold = false, a.hold
		v.actor.MemberAcquired(v.now(), s.at)
		if !a.hold.grant.Install(nil, &actor.HoldSignal{Watcher: s}) {
			s.HoldEnded(&a.hold.grant)
		}
	})
}

// simFailureOf mirrors the root package's refusalOf.
func simFailureOf(err error) quorum.Reason {
	switch err {
	case actor.ErrNotAcquired:
		return quorum.HeldByOther
	case actor.ErrUnavailable:
		return quorum.Unknown
	case actor.ErrClosed:
		return quorum.Closed
	}
	if err == actor.ErrTooManyWaiters {
		return quorum.Full
	}
	return quorum.Rejected
}

// HoldEnded is called by the loop. The quorum learns of it soon.
func (s *simMember) HoldEnded(grant *actor.Hold) {
	begun := s.v.begun
	s.v.w.after(s.v.w.between(0, 50*time.Microsecond), func() {
		if s.v.begun != begun || s.hold == nil || &s.hold.grant != grant {
			return
		}
		if actor.IsMaxHold(grant.Signal().Cause) {
			s.v.w.cover(coverMaxHold)
			if s.gone(s.v.actor.MemberMaxHold); s.v.held && s.v.lease == 0 {
				s.v.w.fail("%s is held on, though the time of its owner is over", s.v)
			}
		} else {
			s.onHoldEnded(s.hold)
		}
	})
}

// onHoldEnded runs when the hold of a seat has ended by itself.
func (s *simMember) onHoldEnded(h *simHold) {
	known := h.e.clock.when(h.known()) - s.v.begun
	lost := s.v.actor.MemberLost
	if actor.IsUnlockedByForce(h.grant.Signal().Cause) {
		lost = s.v.actor.MemberForced
	}
	s.gone(func(now time.Duration, i int) { lost(now, i, known) })
}

func (s *simMember) gone(event func(now time.Duration, i int)) {
	s.hold = nil
	s.v.apply(func() { event(s.v.now(), s.at) })
}

// releaseAsync mirrors Hold.releaseAsync.
func (s *simMember) releaseAsync() {
	if h := s.hold; h != nil && !s.caller.e.dead {
		s.caller.change(h, actor.Unlock, 0)
	}
	s.hold = nil
}

// memberDied notifies quorums that one of their engines has died.
func (w *simWorld) memberDied(e *simEngine) {
	for _, v := range w.quorumUsers {
		for i := range v.members {
			s := &v.members[i]
			if s.caller == nil || s.caller.e != e {
				continue
			}
			if s.request != nil {
				s.request = nil
				v.apply(func() { v.actor.MemberFailed(v.now(), i, quorum.Closed) })
			}
			if s.hold != nil {
				s.onHoldEnded(s.hold)
			}
		}
	}
}

func (v *simQuorumUser) onAcquired() {
	v.tracef("has a majority")
	v.w.cover(coverQuorumAcquired)
	v.held, v.since, v.acquiredAt = true, v.w.now, v.w.now
	v.alone()
	if v.draining {
		v.w.after(v.w.between(0, time.Millisecond), v.tidy)
	}
}

// leave mirrors Hold.Unlock.
func (v *simQuorumUser) leave() {
	v.tracef("leaves")
	v.active, v.held = false, false
	v.apply(func() {
		v.actor.Unlock()
		for i := range v.members {
			v.members[i].releaseAsync()
		}
	})
}

// enter locks one of the locks, alone or with another one, with the context of the quorum. It is one that is held, or
// one that is missing. As soon as the quorum has the lock, a request that waits with its context is granted, too.
// Conversely, if that request has the lock, the quorum gets it unless something else prevents that.
func (v *simQuorumUser) enter(s *simMember) {
	w, owner := v.w, v.owner
	if s.hold != nil {
		owner = s.hold.grant.Owner
	}
	if s.caller.e.dead {
		return
	}
	c := &simCaller{e: s.caller.e, number: s.caller.number + 5}
	c.onResult = func(a *simRequest) {
		c.requests = without(c.requests, a)
		if a.delivered = true; a.Op != actor.Acquire || a.Err != nil || c.e.dead {
			return
		}
		w.cover(coverMemberEntered)
		h := a.of()[slices.IndexFunc(a.of(), func(h *simHold) bool { return h.name == s.at })]
		if f := s.request; f != nil && f.Owner == owner && f.requestedAt < a.requestedAt && !f.Completed() && h.grant.Owner != f.Owner {
			w.fail("%s keeps its quorum waiting for a stranger's lock: %s", c.e.name, h)
		}
		w.after(w.spread(time.Millisecond, w.plan.lease), func() {
			for _, h := range a.of() {
				if !c.e.dead {
					c.change(h, actor.Unlock, 0)
				}
			}
		})
	}
	a := (*simRequest)(nil)
	if w.names[s.at].kind == actor.Plain && len(w.plain) > 1 && w.chance(0.3) {
		a = c.askSeveral([]int{s.at, w.anotherPlain(s.at)})
		a.Multi.Parts[slices.IndexFunc(a.parts, func(h *simHold) bool { return h.name == s.at })].Owner = owner
	} else {
		a = c.newRequest(actor.Acquire, s.at)
		a.Kind, a.Owner = w.names[s.at].kind, owner
	}
	a.Wait = w.spread(time.Millisecond, 2*w.plan.lease)
	v.tracef("is entered at %s", w.plan.names[s.at])
	c.want(a)
}

// anotherPlain returns another plain lock; there must be one.
func (w *simWorld) anotherPlain(name int) int {
	others := slices.DeleteFunc(slices.Clone(w.plain), func(other int) bool { return other == name })
	return simPick(w, others)
}

// extend mirrors Hold.Extend.
func (v *simQuorumUser) extend() {
	if v.lease = 0; v.w.chance(0.5) {
		v.lease = v.someLease()
	}
	v.since = v.w.now
	v.tracef("extends to %v", v.lease)
	v.apply(func() { v.actor.SetWatched(v.lease == 0) })
	for i := range v.members {
		if s := &v.members[i]; s.hold != nil && !s.caller.e.dead {
			s.caller.change(s.hold, actor.Extend, v.lease)
		}
	}
}

// tidy is for the end: a quorum with a majority unlocks it, and one that still waits will.
func (v *simQuorumUser) tidy() {
	if v.draining = true; v.held {
		v.leave()
	}
}

// known returns until when an ended hold was known to be held. If a hold has not ended, its engine has died and its
// keys stay.
func (h *simHold) known() time.Duration {
	if end := h.grant.Signal(); end != nil && end.Err != nil {
		return end.HeldUntil
	}
	return h.grant.Until()
}
