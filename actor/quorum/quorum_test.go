package quorum

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// newBegun returns a quorum of three that has asked for all of them.
func newBegun(t *testing.T, until time.Duration, once, watched bool) *Quorum {
	q := New(3, 2)
	q.Begin(until, once, watched)
	require.Equal(t, []Action{{Kind: Request, Once: true}, {Kind: Request, Member: 1, Once: true}, {Kind: Request, Member: 2, Once: true}}, takeActions(&q))
	return &q
}

// takeActions takes the actions to be executed.
func takeActions(q *Quorum) []Action {
	taken := q.Actions
	q.Actions = nil
	return taken
}

// A quorum is acquired with a majority of its members; the requests to the other members stay.
func TestQuorum_Majority_Acquired(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	q.MemberAcquired(0, 2)
	require.Empty(t, takeActions(q))
	q.MemberAcquired(0, 0)
	require.Equal(t, []Action{{Kind: Acquired}}, takeActions(q))
	require.True(t, q.MemberAcquired(0, 1), "its request is not withdrawn")
	require.Empty(t, takeActions(q))
}

// A watched quorum requests a member again that is held by another; an unwatched one does not.
func TestQuorum_MemberHeld_WatchedRetries(t *testing.T) {
	t.Parallel()
	for _, watched := range []bool{true, false} {
		q := newBegun(t, 0, false, watched)
		q.MemberFailed(0, 1, HeldByOther)
		q.MemberAcquired(0, 0)
		q.MemberAcquired(0, 2)
		want := []Action{limitStragglers(minStragglerWait / 2), {Kind: Acquired}}
		if watched {
			want = append(want, Action{Kind: Request, Member: 1, SkipWaiterLimit: true})
		}
		require.Equal(t, want, takeActions(q))
	}
}

// Without a majority, a quorum releases all members before it queues at one of them.
func TestQuorum_NoMajority_ReleasesThenQueues(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	q.MemberAcquired(0, 0)
	q.MemberFailed(0, 1, HeldByOther)
	require.Equal(t, []Action{limitStragglers(minStragglerWait / 2)}, takeActions(q))
	q.MemberFailed(0, 2, HeldByOther)
	require.Equal(t, []Action{{Kind: Release}, {Kind: Request, Wait: maxQueueTime}}, takeActions(q), "the others queue there")

	// Its turn comes there: it waits for the others for a moment.
	q.MemberAcquired(0, 0)
	require.Equal(t, []Action{{Kind: Request, Member: 1, Wait: minStragglerWait, SkipWaiterLimit: true}, {Kind: Request, Member: 2, Wait: minStragglerWait, SkipWaiterLimit: true}}, takeActions(q))

	// In vain: it backs off before it queues there again, longer each time.
	q.MemberFailed(0, 1, HeldByOther)
	q.MemberFailed(0, 2, HeldByOther)
	require.Equal(t, []Action{limitStragglers(minStragglerWait), {Kind: Release}, {Kind: Backoff, Wait: minBackoff}}, takeActions(q))
	q.BackoffOver(0)
	require.Equal(t, []Action{{Kind: Request, Member: 0, Wait: maxQueueTime, SkipWaiterLimit: true}}, takeActions(q))
}

// limitStragglers is the Action of an attempt when as many have replied as are needed, without a decision.
func limitStragglers(wait time.Duration) Action { return Action{Kind: LimitStragglers, Wait: wait} }

// Two callers with half of the members each would both wait for the one that is dead.
func TestQuorum_RestSilent_ReleasesMembers(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	q.MemberAcquired(0, 0)
	require.Empty(t, takeActions(q), "the others may be far away")
	q.MemberFailed(0, 1, HeldByOther)
	require.Equal(t, []Action{limitStragglers(minStragglerWait / 2)}, takeActions(q))
	q.StragglersOverdue(minStragglerWait/2 - 1)
	require.Empty(t, takeActions(q), "another attempt's")
	q.StragglersOverdue(minStragglerWait / 2)
	require.Equal(t, []Action{{Kind: CancelRequest, Member: 2, NoReply: true}, {Kind: Release}, {Kind: Request, Wait: maxQueueTime}}, takeActions(q))

	// A quorum that queued waits longer, and after each such attempt all do.
	const at = time.Second
	q.MemberAcquired(at, 0)
	require.Equal(t, []Action{{Kind: Request, Member: 1, Wait: 2 * minStragglerWait, SkipWaiterLimit: true}, {Kind: Request, Member: 2, Wait: 2 * minStragglerWait, SkipWaiterLimit: true}}, takeActions(q))
	q.MemberFailed(at, 1, HeldByOther)
	require.Equal(t, []Action{limitStragglers(2 * minStragglerWait)}, takeActions(q))
	q.StragglersOverdue(at + 2*minStragglerWait)
	require.Equal(t, []Action{{Kind: CancelRequest, Member: 2, NoReply: true}, {Kind: Release}, {Kind: Backoff, Wait: minBackoff}}, takeActions(q))
	q.StragglersOverdue(2 * at)
	require.Empty(t, takeActions(q), "it rests")
}

// A quorum does not queue again at a member that does not reply any more.
func TestQuorum_MemberSilent_QueuesElsewhere(t *testing.T) {
	t.Parallel()
	for _, reason := range []Reason{Unknown, HeldByOther} {
		q := newBegun(t, 0, false, true)
		q.MemberAcquired(0, 2)
		q.MemberFailed(0, 0, HeldByOther)
		q.StragglersOverdue(minStragglerWait)
		require.Contains(t, takeActions(q), Action{Kind: Request, Wait: maxQueueTime})
		q.MemberFailed(maxQueueTime, 0, reason) // it has died, and all other callers have left
		require.Len(t, takeActions(q), 3, "all are asked again")
		q.MemberFailed(maxQueueTime, 1, HeldByOther)
		q.MemberFailed(maxQueueTime, 2, HeldByOther)
		if reason == Unknown { // it may be the one where the others queue
			require.Equal(t, []Action{limitStragglers(minStragglerWait)}, takeActions(q))
			q.StragglersOverdue(maxQueueTime + minStragglerWait)
		}
		actions := takeActions(q)
		require.Equal(t, CancelRequest, actions[0].Kind)
		require.Equal(t, Action{Kind: Backoff, Wait: minBackoff}, actions[1])
		q.BackoffOver(maxQueueTime)
		require.Equal(t, []Action{{Kind: Request, Member: 1, Wait: maxQueueTime, SkipWaiterLimit: true}}, takeActions(q))
	}
}

// A quorum that tries once waits longer for the remaining members, because it has no other attempt.
func TestQuorum_TryOnce_WaitsLongerForRest(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, true, true)
	q.MemberAcquired(0, 0)
	q.MemberFailed(0, 1, HeldByOther)
	require.Equal(t, []Action{limitStragglers(onceStragglerWait)}, takeActions(q))
	q.StragglersOverdue(onceStragglerWait)
	require.Equal(t, []Action{{Kind: CancelRequest, Member: 2, NoReply: true}, {Kind: Release}, {Kind: Failed}}, takeActions(q))
	require.True(t, q.Contested(), "two of three reply, and one of them has another holder")
}

// If there is no member to queue at, the quorum backs off, and then requests all members again.
func TestQuorum_NoReplies_BacksOff(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	for rest := minBackoff; rest <= maxBackoff; rest *= 2 {
		q.MemberFailed(0, 0, Unknown)
		q.MemberFailed(0, 2, Unknown)
		require.Equal(t, []Action{{Kind: CancelRequest, Member: 1}, {Kind: Backoff, Wait: rest}}, takeActions(q))
		q.BackoffOver(0)
		require.Len(t, takeActions(q), 3)
	}
}

// A quorum queues at a member no longer than its caller waits.
func TestQuorum_WaitLimit_BoundsQueueing(t *testing.T) {
	t.Parallel()
	q := newBegun(t, time.Second, false, true)
	q.MemberFailed(0, 0, HeldByOther)
	q.MemberFailed(300*time.Millisecond, 1, HeldByOther)
	require.Equal(t, []Action{{Kind: CancelRequest, Member: 2}, {Kind: Request, Wait: 700 * time.Millisecond}}, takeActions(q))
	q.Cancel()
	require.Equal(t, []Action{{Kind: CancelRequest}, {Kind: Failed}}, takeActions(q))
	require.True(t, q.Contested())
	require.False(t, q.MemberAcquired(0, 0), "it comes too late")
	require.Empty(t, takeActions(q))
}

// A quorum that tries once fails as soon as a majority is out of reach.
func TestQuorum_TryOnce_FailsAtOnce(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, true, true)
	q.MemberAcquired(0, 0)
	q.MemberFailed(0, 1, HeldByOther)
	q.MemberFailed(0, 2, Unknown)
	require.Equal(t, []Action{limitStragglers(onceStragglerWait), {Kind: Release}, {Kind: Failed}}, takeActions(q))
	require.Equal(t, 1, q.Acquired)
	require.True(t, q.Contested(), "two of three reply, and one of them has another holder")

	q = newBegun(t, 0, true, true)
	q.MemberFailed(0, 1, HeldByOther)
	q.MemberFailed(0, 0, Unknown)
	require.True(t, q.Contested(), "the third may reply")
	q = newBegun(t, 0, true, true)
	q.MemberFailed(0, 2, Unknown)
	q.MemberFailed(0, 0, Unknown)
	require.False(t, q.Contested())
}

// A quorum that is given up tells how many members it had, at that moment or when its latest attempt failed.
func TestQuorum_Canceled_CountsAcquired(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	q.MemberAcquired(0, 0)
	q.Cancel()
	require.Equal(t, 1, q.Acquired)

	q = newBegun(t, 0, false, true)
	q.MemberAcquired(0, 0)
	q.MemberFailed(0, 1, HeldByOther)
	q.MemberFailed(0, 2, HeldByOther)
	q.Cancel() // it has released the member, and queues for another
	require.Equal(t, 1, q.Acquired)
}

// A quorum that released the member for which it queued has to request that member again, too.
func TestQuorum_FailsAtItsTurn_AllRequested(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	q.MemberFailed(0, 0, HeldByOther)
	q.MemberFailed(0, 1, HeldByOther)
	q.MemberAcquired(time.Second, 0)
	takeActions(q)
	q.MemberFailed(time.Second, 1, Unknown)
	q.MemberFailed(time.Second, 2, Unknown)
	released := takeActions(q)
	require.Equal(t, []Action{{Kind: Release}, {Kind: Backoff, Wait: minBackoff}}, released[len(released)-2:])
	q.BackoffOver(2 * time.Second)
	var want []Action
	for i := range 3 {
		want = append(want, Action{Kind: Request, Member: i, Once: true, SkipWaiterLimit: true})
	}
	require.Equal(t, want, takeActions(q))
}

// A quorum fails at once if a majority of its members rejects the request permanently.
func TestQuorum_MajorityRejected_FailsAtOnce(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	q.MemberFailed(0, 0, Rejected)
	q.MemberFailed(0, 2, Closed)
	require.Equal(t, []Action{{Kind: CancelRequest, Member: 1}, {Kind: Failed}}, takeActions(q))
	require.True(t, q.Impossible())
}

// A quorum that loses a minority of its members is kept, and requests them again.
func TestQuorum_MinorityLost_Rerequested(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	for i := range 3 {
		q.MemberAcquired(0, i)
	}
	takeActions(q)
	q.MemberLost(0, 1, 0)
	require.Equal(t, []Action{{Kind: Request, Member: 1, SkipWaiterLimit: true}}, takeActions(q))

	// After a permanent rejection it is asked for later, once, and not at all if its engine is closed.
	q.MemberFailed(0, 1, Rejected)
	require.Equal(t, []Action{{Kind: RetryLater, Member: 1}}, takeActions(q))
	q.RetryDue(1)
	require.Equal(t, []Action{{Kind: Request, Member: 1, SkipWaiterLimit: true}}, takeActions(q))
	q.MemberFailed(0, 1, Closed)
	require.Empty(t, takeActions(q))
}

// A member that was unlocked by force is asked for again after a lease. Meanwhile a second one ends the quorum.
func TestQuorum_MemberForced_RerequestedAfterLease(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	for i := range 3 {
		q.MemberAcquired(0, i)
	}
	takeActions(q)
	q.MemberForced(1, 1, 1)
	require.Equal(t, []Action{{Kind: RetryAfterLease, Member: 1}}, takeActions(q))
	q.SetWatched(true)
	require.Empty(t, takeActions(q))
	q.RetryDue(1)
	require.Equal(t, []Action{{Kind: Request, Member: 1, SkipWaiterLimit: true}}, takeActions(q))
	q.MemberAcquired(2, 1)
	takeActions(q)
	q.MemberForced(3, 0, 3)
	q.MemberForced(3, 2, 3)
	require.Contains(t, takeActions(q), Action{Kind: Lost, Member: 2})
}

// The member was taken away right after the majority was reached, and acquired again at once.
func TestQuorum_ReacquiredMember_NotInitial(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	for i := range 3 {
		q.MemberAcquired(1, i)
	}
	q.MemberLost(2, 0, 1)
	q.MemberAcquired(3, 0)
	takeActions(q)
	q.MemberLost(4, 1, 1)
	require.Equal(t, Lost, takeActions(q)[0].Kind)
}

// A member that was re-entered was confirmed before the quorum began, and is lost before it is confirmed again.
func TestQuorum_MemberConfirmedBefore_OthersHoldIt(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	for i := range 3 {
		q.MemberAcquired(1, i)
	}
	takeActions(q)
	q.MemberLost(2, 0, -time.Second)
	require.Equal(t, []Action{{Kind: Request, Member: 0, SkipWaiterLimit: true}}, takeActions(q))
}

// The keys of all three were deleted at the same time, and the loss of each is found only at its next renewal. In
// between another client could have had a majority.
func TestQuorum_ReacquiredMember_NoPastProof(t *testing.T) {
	t.Parallel()
	const at = time.Second
	acquiredThenLost := func() *Quorum {
		q := newBegun(t, 0, false, true)
		for i := range 3 {
			q.MemberAcquired(at, i)
		}
		q.MemberLost(10*at, 1, 5*at)
		q.MemberAcquired(11*at, 1)
		takeActions(q)
		return q
	}
	q := acquiredThenLost()
	q.MemberLost(14*at, 2, 8*at)
	require.Equal(t, []Action{{Kind: Lost, Member: 2}, {Kind: Release, Member: 0}, {Kind: Release, Member: 1}}, sortRequests(takeActions(q)))

	q = acquiredThenLost()
	q.MemberLost(24*at, 2, 18*at)
	require.Equal(t, []Action{{Kind: Request, Member: 2, SkipWaiterLimit: true}}, takeActions(q), "it was still there when the other one had come back")
}

// Replies of one attempt come one after the other.
func TestQuorum_JoinWindow_MemberIsInitial(t *testing.T) {
	t.Parallel()
	const acquired = 3 * time.Second
	for late, want := range map[time.Duration]ActionKind{JoinWindow: Request, JoinWindow + 1: Lost} {
		q := newBegun(t, 0, false, true)
		q.MemberAcquired(time.Second, 0)
		q.MemberAcquired(acquired, 1)
		q.MemberAcquired(acquired+late, 2)
		takeActions(q)
		q.MemberLost(10*time.Second, 0, 0)
		require.Equal(t, want, takeActions(q)[0].Kind, late)
	}
}

// A quorum that loses its majority is reported lost before its remaining members are released.
func TestQuorum_MajorityLost_ReportedFirst(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	q.MemberAcquired(0, 0)
	q.MemberAcquired(0, 1)
	takeActions(q)
	q.MemberLost(0, 0, 0)
	require.Equal(t, []Action{{Kind: Lost}, {Kind: Release, Member: 1}, {Kind: CancelRequest, Member: 2}}, sortRequests(takeActions(q)))
	q.MemberLost(0, 1, 0)
	q.Unlock()
	q.Cancel()
	require.Empty(t, takeActions(q), "it ends once")
}

// sortRequests puts the orders after the first into the order of members, because their order does not matter.
func sortRequests(orders []Action) []Action {
	if len(orders) == 3 && orders[1].Member > orders[2].Member {
		orders[1], orders[2] = orders[2], orders[1]
	}
	return orders
}

// An unlock cancels the requests that are still pending.
func TestQuorum_Unlock_CancelsRequests(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	q.MemberAcquired(0, 0)
	q.MemberAcquired(0, 1)
	takeActions(q)
	q.Unlock()
	require.Equal(t, []Action{{Kind: CancelRequest, Member: 2}}, takeActions(q), "the others are unlocked by who leaves")
}

// Missing members are requested only while the quorum is watched.
func TestQuorum_Unwatched_RequestsNoMembers(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	q.MemberAcquired(0, 0)
	q.MemberAcquired(0, 1)
	takeActions(q)
	q.SetWatched(false)
	require.Equal(t, []Action{{Kind: CancelRequest, Member: 2}}, takeActions(q))
	q.SetWatched(true)
	require.Equal(t, []Action{{Kind: Request, Member: 2, SkipWaiterLimit: true}}, takeActions(q))
}

// A quorum that began with BeginHeld needs all members, and asks for none.
func TestQuorum_BeginHeld_FirstLossEndsAll(t *testing.T) {
	t.Parallel()
	q := New(3, 3)
	q.BeginHeld(true)
	q.MemberLost(0, 1, 0)
	require.Equal(t, []Action{{Kind: Lost, Member: 1}, {Kind: Release}, {Kind: Release, Member: 2}}, takeActions(&q))
}

// A late member does not count for earlier times, so the others must be confirmed when it comes.
func TestQuorum_LateMember_OthersConfirmed(t *testing.T) {
	t.Parallel()
	const acquired = time.Second
	for _, watched := range []bool{true, false} {
		q := newBegun(t, 0, false, watched)
		q.MemberAcquired(acquired, 0)
		q.MemberAcquired(acquired, 1)
		takeActions(q)
		q.MemberAcquired(10*acquired, 2)
		require.Equal(t, []Action{{Kind: Confirm, Member: 0}, {Kind: Confirm, Member: 1}}, takeActions(q))
		q.MemberLost(20*acquired, 0, 11*acquired)
		for _, o := range takeActions(q) {
			require.NotEqual(t, Lost, o.Kind, "the others were there")
		}
	}
	q := newBegun(t, 0, false, true)
	for i := range 3 {
		q.MemberAcquired(acquired+time.Duration(i)*JoinWindow/2, i)
	}
	require.NotContains(t, takeActions(q), Action{Kind: Confirm, Member: 0}, "all began together")
}

// With any events in any order:
//   - no member is requested or released twice,
//   - the caller is notified once,
//   - at the end nothing is held and no request is pending.
func TestQuorum_AnyEventOrder_LeavesNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20_000) {
		q, random := New(5, 3), rand.New(rand.NewPCG(seed, 1))
		var state [5]memberState
		reason, over := 0, false
		execute := func() {
			for _, o := range takeActions(&q) {
				switch o.Kind {
				case Request:
					require.Equal(t, absent, state[o.Member], "seed %d", seed)
					state[o.Member] = requested
				case CancelRequest:
					require.Equal(t, requested, state[o.Member], "seed %d", seed)
					state[o.Member] = absent
				case Release:
					require.Equal(t, memberHeld, state[o.Member], "seed %d", seed)
					state[o.Member] = absent
				case Confirm:
					require.Equal(t, memberHeld, state[o.Member], "seed %d", seed)
				case Acquired:
					reason++
				case Failed:
					reason, over = reason+1, true
				case Lost:
					over = true
				}
			}
		}
		q.Begin(0, random.IntN(4) == 0, random.IntN(2) == 0)
		execute()
		for range 60 {
			i := random.IntN(len(state))
			switch what := random.IntN(13); {
			case what < 4 && state[i] == requested:
				state[i] = memberHeld
				require.True(t, q.MemberAcquired(0, i), "seed %d", seed)
			case what < 7 && state[i] == requested:
				state[i] = absent
				q.MemberFailed(0, i, Reason(random.IntN(4)))
			case what == 7 && state[i] == memberHeld:
				state[i] = absent
				q.MemberLost(0, i, 0)
			case what == 8:
				q.BackoffOver(0)
			case what == 11:
				q.StragglersOverdue(time.Minute)
			case what == 9:
				q.RetryDue(i)
			case what == 10:
				q.SetWatched(random.IntN(2) == 0)
			}
			execute()
		}
		q.Cancel()
		execute()
		if !over {
			q.Unlock()
			execute()
			for i := range state {
				if state[i] == memberHeld {
					state[i] = absent
				}
			}
		}
		require.Equal(t, [5]memberState{}, state, "seed %d", seed)
		require.Equal(t, 1, reason, "seed %d", seed)
	}
}

// A member that was asked for again would be held for the same time once more.
func TestQuorum_MemberMaxHold_EndsWatched(t *testing.T) {
	t.Parallel()
	for _, watched := range []bool{true, false} {
		q := newBegun(t, 0, false, watched)
		for i := range 3 {
			q.MemberAcquired(0, i)
		}
		require.Equal(t, []Action{{Kind: Acquired}}, takeActions(q))
		q.MemberMaxHold(0, 1)
		if watched {
			require.Equal(t, []Action{{Kind: Lost, Member: 1}, {Kind: Release}, {Kind: Release, Member: 2}}, takeActions(q))
			continue
		}
		require.Empty(t, takeActions(q), "a lease of its own is not bounded: that member only missed it")
		q.MemberMaxHold(0, 2)
		require.Equal(t, []Action{{Kind: Lost, Member: 2}, {Kind: Release}}, takeActions(q))
	}
}

// A quorum of writers waits at one member for its turn, and then at all others at once. Meanwhile no reader of their
// engines begins to read there.
func TestQuorum_Writer_WaitsForReaders(t *testing.T) {
	t.Parallel()
	for _, lease := range []time.Duration{0, time.Second, time.Millisecond} {
		q := New(3, 2)
		q.SetWriter(lease)
		q.Begin(0, false, lease == 0)
		most := readerWaitCap
		if lease != 0 {
			most = max(lease/8, minStragglerWait)
		}
		for stand := minStragglerWait; ; stand = min(2*stand, most) {
			if q.stage == acquiring {
				q.MemberFailed(0, 0, HeldByOther)
				q.MemberFailed(0, 1, HeldByOther)
			}
			q.BackoffOver(0)
			takeActions(&q)
			q.MemberAcquired(0, q.queueNext)
			for _, o := range takeActions(&q) {
				require.Equal(t, Request, o.Kind)
				require.Equal(t, stand, o.Wait, lease)
			}
			if stand == most {
				break
			}
			q.MemberFailed(stand, 1, HeldByOther)
			q.MemberFailed(stand, 2, HeldByOther)
		}
	}
}

// A quorum that may not wait at one member waits at no other, where it would keep what others need. One that has waited
// before is let in.
func TestQuorum_MemberFull_Rejected(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	q.MemberFailed(0, 0, Full)
	q.MemberAcquired(0, 1)
	q.MemberFailed(0, 2, HeldByOther)
	require.True(t, q.TooManyWaiters())
	require.Contains(t, takeActions(q), Action{Kind: Failed})

	// It may find that out when it queues.
	q = newBegun(t, 0, false, true)
	q.MemberAcquired(0, 0)
	q.MemberFailed(0, 1, HeldByOther)
	q.MemberFailed(0, 2, HeldByOther)
	takeActions(q)
	q.MemberFailed(0, 0, Full)
	require.Equal(t, []Action{{Kind: Failed}}, takeActions(q))

	// With a majority it is held all the same, and asks for the missing member, where it is let in.
	q = newBegun(t, 0, false, true)
	q.MemberFailed(0, 0, Full)
	q.MemberAcquired(0, 1)
	q.MemberAcquired(0, 2)
	require.Contains(t, takeActions(q), Action{Kind: Request, Member: 0, SkipWaiterLimit: true})
}

// A caller that has waited for long notices soon that the servers are back.
func TestQuorum_ManyFailures_BackoffHasMaximum(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	for range 20 {
		q.MemberFailed(0, 0, Unknown)
		q.MemberFailed(0, 2, Unknown)
		for _, a := range takeActions(q) {
			require.LessOrEqual(t, a.Wait, maxBackoff)
		}
		q.BackoffOver(0)
		require.Len(t, takeActions(q), 3)
	}
}

// A quorum that waits in a member's queue ends when too few members are left beside those that close.
func TestQuorum_OthersCloseInQueue_Ends(t *testing.T) {
	t.Parallel()
	q := newBegun(t, 0, false, true)
	q.MemberFailed(0, 1, HeldByOther)
	require.False(t, q.MemberClosed(0), "its request ends by itself")
	q.MemberFailed(0, 0, HeldByOther)
	require.Contains(t, takeActions(q), Action{Kind: Request, Wait: maxQueueTime})
	require.True(t, q.MemberClosed(1))
	require.Empty(t, takeActions(q), "two are a majority")
	require.False(t, q.MemberClosed(0), "it waits there")
	require.True(t, q.MemberClosed(2))
	require.Equal(t, []Action{{Kind: CancelRequest}, {Kind: Failed}}, takeActions(q))
	require.True(t, q.Impossible())
	require.False(t, q.MemberClosed(0), "it has ended")
	require.Empty(t, takeActions(q))

	q = newBegun(t, 0, false, true)
	q.MemberAcquired(0, 0)
	q.MemberAcquired(0, 1)
	q.MemberFailed(0, 2, HeldByOther)
	takeActions(q)
	require.False(t, q.MemberClosed(2), "it is held")
	require.Empty(t, takeActions(q))
}
