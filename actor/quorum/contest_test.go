package quorum

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A contest is a model of callers that acquire one quorum again and again, in virtual time. Each member has one holder
// and a queue, and replies after a delay.
type contest struct {
	now     time.Duration
	events  []contestEvent
	random  *rand.Rand
	members []contestMember
	callers []*contestCaller
	grants  int
	longest time.Duration // longest wait for a grant
}

// contestEvent is what happens at a time. The zero value is no event.
type contestEvent struct {
	at   time.Duration
	what func()
}

// contestMember is a member's server. The zero value has no holder.
type contestMember struct {
	holder *contestRequest
	queue  []*contestRequest
}

// contestRequest is a request of a caller for a member.
type contestRequest struct {
	caller *contestCaller
	member int
	over   bool // its caller wants it no more
}

// contestCaller acquires, holds for 5 ms, and acquires again.
type contestCaller struct {
	in       *contest
	q        Quorum
	begun    time.Duration
	round    int // the number of its calls: timers are of one of them
	held     bool
	requests [3]*contestRequest
	dead     func(member int, at time.Duration) contestDeath
}

// contestDeath is what a caller sees of a server.
type contestDeath uint8

const (
	lives  contestDeath = iota
	down                // known not to reply
	silent              // it never replies
)

// newContest returns a contest in which the callers see a server as dead says.
func newContest(seed uint64, callers int, dead func(caller, member int, at time.Duration) contestDeath) *contest {
	c := &contest{random: rand.New(rand.NewPCG(seed, 1)), members: make([]contestMember, 3)}
	for i := range callers {
		caller := &contestCaller{in: c, dead: func(member int, at time.Duration) contestDeath { return dead(i, member, at) }}
		c.callers = append(c.callers, caller)
		c.after(c.delay(), caller.begin)
	}
	return c
}

func (c *contest) after(d time.Duration, what func()) {
	e := contestEvent{c.now + d, what}
	i, _ := slices.BinarySearchFunc(c.events, e, func(a, b contestEvent) int { return cmp.Or(cmp.Compare(a.at, b.at), -1) })
	c.events = slices.Insert(c.events, i, e)
}

// delay is how long a request or a reply takes.
func (c *contest) delay() time.Duration {
	return 100*time.Microsecond + time.Duration(c.random.IntN(400))*time.Microsecond
}

// run lets the contest go on until that time. The longest wait includes those that go on.
func (c *contest) run(until time.Duration) {
	for len(c.events) > 0 && c.events[0].at <= until {
		e := c.events[0]
		c.events = c.events[1:]
		c.now = e.at
		e.what()
	}
	for _, caller := range c.callers {
		if !caller.held {
			c.longest = max(c.longest, until-caller.begun)
		}
	}
}

func (k *contestCaller) begin() {
	k.q, k.begun, k.held = New(3, 2), k.in.now, false
	k.round++
	k.apply(func(time.Duration) { k.q.Begin(0, false, true) })
}

// apply passes an event to the quorum and executes its actions.
func (k *contestCaller) apply(event func(now time.Duration)) {
	event(k.in.now - k.begun)
	for len(k.q.Actions) > 0 {
		for _, a := range takeActions(&k.q) {
			k.execute(a)
		}
	}
}

// timer passes an event after a time, if the call is still the same.
func (k *contestCaller) timer(after time.Duration, event func(now time.Duration)) {
	round := k.round
	k.in.after(after, func() {
		if k.round == round {
			k.apply(event)
		}
	})
}

func (k *contestCaller) execute(a Action) {
	c := k.in
	switch a.Kind {
	case Request:
		r := &contestRequest{caller: k, member: a.Member}
		k.requests[a.Member] = r
		k.send(r, a)
	case CancelRequest, Release:
		k.drop(a.Member)
	case Backoff:
		k.timer(a.Wait/2+time.Duration(c.random.Int64N(int64(a.Wait/2))), k.q.BackoffOver)
	case LimitStragglers:
		k.timer(a.Wait, k.q.StragglersOverdue)
	case Acquired:
		k.held = true
		c.grants++
		c.longest = max(c.longest, c.now-k.begun)
		k.timer(5*time.Millisecond, func(time.Duration) {
			k.q.Unlock()
			for i := range k.requests {
				k.drop(i)
			}
			c.after(c.delay(), k.begin)
		})
	}
}

// drop gives back what a request has or will have.
func (k *contestCaller) drop(member int) {
	r := k.requests[member]
	if k.requests[member] = nil; r != nil {
		r.over = true
		k.in.after(k.in.delay(), func() { k.in.release(r) })
	}
}

func (c *contest) release(r *contestRequest) {
	m := &c.members[r.member]
	m.queue = slices.DeleteFunc(m.queue, func(other *contestRequest) bool { return other == r })
	if m.holder != r {
		return
	}
	if m.holder = nil; len(m.queue) > 0 {
		m.holder, m.queue = m.queue[0], m.queue[1:]
		c.reply(m.holder, func(now time.Duration) { m.holder.caller.q.MemberAcquired(now, r.member) })
	}
}

// reply reports a result to the caller, unless it wants it no more by then.
func (c *contest) reply(r *contestRequest, event func(now time.Duration)) {
	c.after(c.delay(), func() {
		if !r.over {
			r.caller.apply(event)
		}
	})
}

// send asks a server for a member. Like an engine, it does not send a request of a quorum without a majority to a
// server that is known to be down.
func (k *contestCaller) send(r *contestRequest, a Action) {
	c, i := k.in, a.Member
	fail := func(why Reason) func(time.Duration) {
		return func(now time.Duration) { k.requests[i] = nil; k.q.MemberFailed(now, i, why) }
	}
	switch k.dead(i, c.now) {
	case down:
		if a.Unheld() {
			c.reply(r, fail(Unknown))
		}
		return
	case silent:
		if a.Wait > 0 {
			c.after(a.Wait, func() {
				if !r.over && k.requests[i] == r {
					k.apply(fail(HeldByOther))
				}
			})
		}
		return
	}
	c.after(c.delay(), func() {
		m := &c.members[i]
		switch {
		case r.over:
		case m.holder == nil:
			m.holder = r
			c.reply(r, func(now time.Duration) { k.q.MemberAcquired(now, i) })
		case a.Once:
			c.reply(r, fail(HeldByOther))
		default:
			if m.queue = append(m.queue, r); a.Wait == 0 {
				return
			}
			c.after(a.Wait, func() {
				if !r.over && m.holder != r {
					m.queue = slices.DeleteFunc(m.queue, func(other *contestRequest) bool { return other == r })
					k.apply(fail(HeldByOther))
				}
			})
		}
	})
}

// Callers of one quorum go on when a minority of its servers is gone: they have one queue, at the first server that
// replies. If half of them queued at each of two servers, the two with their turn would each wait for the other one.
func TestQuorum_MemberGone_ContendersGoOn(t *testing.T) {
	t.Parallel()
	for name, see := range map[string]func(gone int) func(caller, member int, at time.Duration) contestDeath{
		"none": func(int) func(int, int, time.Duration) contestDeath {
			return func(int, int, time.Duration) contestDeath { return lives }
		},
		"down": func(gone int) func(int, int, time.Duration) contestDeath {
			return func(_, member int, _ time.Duration) contestDeath {
				return map[bool]contestDeath{member == gone: down}[true]
			}
		},
		"dies, and is silent for 3 s": func(gone int) func(int, int, time.Duration) contestDeath {
			return func(_, member int, at time.Duration) contestDeath {
				switch {
				case member != gone || at < time.Second:
					return lives
				case at < 4*time.Second:
					return silent
				}
				return down
			}
		},
		"down for a third of the callers": func(gone int) func(int, int, time.Duration) contestDeath {
			return func(caller, member int, _ time.Duration) contestDeath {
				return map[bool]contestDeath{member == gone && caller%3 == 0: down}[true]
			}
		},
		"another one is down for each third": func(int) func(int, int, time.Duration) contestDeath {
			return func(caller, member int, _ time.Duration) contestDeath {
				return map[bool]contestDeath{member == caller%3: down}[true]
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(3) {
				for gone := range 3 {
					for _, callers := range []int{2, 6, 18} {
						c := newContest(seed, callers, see(gone))
						c.run(10 * time.Second)
						t.Logf("seed %d, member %d, %d callers: %d grants, longest wait %v", seed, gone, callers, c.grants, c.longest)
						require.GreaterOrEqual(t, c.grants, 1000, "seed %d, member %d, %d callers", seed, gone, callers)
						require.Less(t, c.longest, 3*time.Second, "seed %d, member %d, %d callers", seed, gone, callers)
					}
				}
			}
		})
	}
}

// A lock of one server that is held for long under the same name keeps no caller of the quorum from the other servers
// for longer than one wait in a queue.
func TestQuorum_MemberHeldForLong_OthersUsed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		for held := range 3 {
			c := newContest(seed, 6, func(int, int, time.Duration) contestDeath { return lives })
			c.members[held].holder = &contestRequest{member: held}
			c.run(10 * time.Second)
			t.Logf("seed %d, member %d: %d grants, longest wait %v", seed, held, c.grants, c.longest)
			require.Less(t, c.longest, 3*time.Second, "seed %d, member %d", seed, held)
		}
	}
}

// All callers queue at the first member that replies, whichever reply came first. So the reply of an earlier one is
// waited for, for a moment, with nothing held.
func TestQuorum_EarlierReplyLate_QueuesThere(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{"granted", "held", "fails", "none"} {
		q := newBegun(t, 0, false, true)
		q.MemberFailed(0, 2, HeldByOther)
		q.MemberFailed(0, 1, HeldByOther)
		require.Equal(t, []Action{limitStragglers(minStragglerWait / 2)}, takeActions(q))
		want := []Action{{Kind: Request, Wait: maxQueueTime}}
		switch reply {
		case "granted":
			require.True(t, q.MemberAcquired(time.Millisecond, 0))
			want = append([]Action{{Kind: Release}}, want...)
		case "held":
			q.MemberFailed(time.Millisecond, 0, HeldByOther)
		case "fails":
			q.MemberFailed(time.Millisecond, 0, Unknown)
			want[0].Member = 1
		case "none":
			q.StragglersOverdue(minStragglerWait / 2)
			want = []Action{{Kind: CancelRequest, NoReply: true}, {Kind: Request, Member: 1, Wait: maxQueueTime}}
		}
		require.Equal(t, want, takeActions(q), reply)
	}
}

// What an attempt has is released before it waits for the reply of an earlier member.
func TestQuorum_EarlierReplyLate_NothingHeld(t *testing.T) {
	t.Parallel()
	q := New(5, 3)
	q.Begin(0, false, true)
	takeActions(&q)
	q.MemberAcquired(0, 4)
	q.MemberFailed(0, 1, HeldByOther)
	q.MemberFailed(0, 2, Unknown)
	takeActions(&q)
	q.MemberFailed(0, 3, HeldByOther)
	require.Equal(t, []Action{{Kind: Release, Member: 4}}, takeActions(&q), "member 0 may still reply")
	q.Cancel()
	require.Equal(t, []Action{{Kind: CancelRequest}, {Kind: Failed}}, takeActions(&q))
	require.Equal(t, 1, q.Acquired)
	require.True(t, q.Contested())
}

// A quorum waits only for members after the one that it queued for. The caller that has an earlier one may wait for it.
func TestQuorum_TurnAtLaterMember_EarlierOnce(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	q.MemberFailed(0, 0, Unknown)
	q.MemberFailed(0, 1, HeldByOther)
	q.MemberAcquired(0, 1)
	require.Equal(t, []Action{
		{Kind: Request, Once: true, SkipWaiterLimit: true},
		{Kind: Request, Member: 2, Wait: minStragglerWait, SkipWaiterLimit: true},
	}, takeActions(q)[2:])
}

// A quorum that did not queue, and finds a member before its own held, releases these soon: it is not its turn. After a
// wait in vain at that member it may be held by a caller without a majority.
func TestQuorum_EarlierHeld_GivesWaySoon(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	q.MemberAcquired(0, 2)
	q.MemberFailed(0, 0, HeldByOther)
	require.Equal(t, []Action{limitStragglers(giveWayWait)}, takeActions(q))
	q.StragglersOverdue(giveWayWait)
	takeActions(q)
	q.MemberFailed(maxQueueTime, 0, HeldByOther)
	require.Len(t, takeActions(q), 3, "all are asked")
	q.MemberAcquired(maxQueueTime, 2)
	q.MemberFailed(maxQueueTime, 0, HeldByOther)
	require.Equal(t, []Action{limitStragglers(minStragglerWait)}, takeActions(q))
}

// After a wait in vain a quorum queues at a later member, but at none from which on there is no majority.
func TestQuorum_QueuedInVain_NextMember(t *testing.T) {
	t.Parallel()
	for _, last := range []Reason{HeldByOther, Unknown} {
		q := newBegun(t, 0, false, true)
		q.MemberFailed(0, 2, last)
		q.MemberFailed(0, 0, HeldByOther)
		takeActions(q)
		q.MemberFailed(maxQueueTime, 0, HeldByOther)
		takeActions(q)
		q.MemberAcquired(maxQueueTime, 1)
		q.MemberFailed(maxQueueTime, 2, last)
		q.MemberFailed(maxQueueTime, 0, HeldByOther)
		takeActions(q)
		q.BackoffOver(maxQueueTime)
		want := map[Reason]int{HeldByOther: 1, Unknown: 0}[last]
		require.Equal(t, []Action{{Kind: Request, Member: want, Wait: maxQueueTime, SkipWaiterLimit: true}}, takeActions(q))
	}
}

// What another caller holds until the wait ends is contested, though one server is gone: the others are enough.
func TestQuorum_MinorityFails_Contested(t *testing.T) {
	t.Parallel()
	queued := func() *Quorum {
		q := newBegun(t, time.Minute, false, true)
		q.MemberFailed(0, 1, Unknown)
		q.MemberFailed(0, 0, HeldByOther)
		require.Contains(t, takeActions(q), Action{Kind: Request, Wait: maxQueueTime})
		return q
	}
	q := queued()
	q.Cancel()
	require.True(t, q.Contested(), "it waited in a queue")

	// Its turn has come: it waits for the other one.
	q = queued()
	q.MemberAcquired(time.Second, 0)
	q.MemberFailed(time.Second, 1, Unknown)
	takeActions(q)
	q.Cancel()
	require.Equal(t, []Action{{Kind: CancelRequest, Member: 2}, {Kind: Release}, {Kind: Failed}}, sortRequests(takeActions(q)))
	require.Equal(t, 1, q.Acquired)
	require.True(t, q.Contested())
}

// A server that replied before, and where the quorum waits in a queue, is not one without a reply.
func TestQuorum_WaitsInQueue_NotSilent(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	q.MemberFailed(0, 2, HeldByOther)
	q.MemberFailed(0, 0, HeldByOther)
	q.MemberAcquired(0, 0)
	takeActions(q)
	q.MemberFailed(0, 1, Unknown)
	takeActions(q)
	q.StragglersOverdue(minStragglerWait)
	require.Equal(t, Action{Kind: CancelRequest, Member: 2}, takeActions(q)[0])
	q.Cancel()
	require.True(t, q.Contested())
}
