package quorum

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// begun returns a quorum of three that has asked for all of them.
func begun(t *testing.T, until time.Duration, once, watched bool) *Quorum {
	q := New(3, 2)
	q.Begin(until, once, watched)
	require.Equal(t, []Order{{What: Ask, Once: true}, {What: Ask, Member: 1, Once: true}, {What: Ask, Member: 2, Once: true}}, orders(&q))
	return &q
}

// orders takes the actions to be executed.
func orders(q *Quorum) []Order {
	taken := q.Orders
	q.Orders = nil
	return taken
}

func TestAMajorityIsEnoughAndTheRestMayCome(t *testing.T) {
	t.Parallel()
	q := begun(t, 0, false, true)
	q.Granted(0, 2)
	require.Empty(t, orders(q))
	q.Granted(0, 0)
	require.Equal(t, []Order{{What: Elect}}, orders(q))
	require.True(t, q.Granted(0, 1), "its request is not withdrawn")
	require.Empty(t, orders(q))
}

func TestAMemberThatIsRefusedIsWaitedForIfTheQuorumIsWatched(t *testing.T) {
	t.Parallel()
	for _, watched := range []bool{true, false} {
		q := begun(t, 0, false, watched)
		q.Refused(0, 1, Taken)
		q.Granted(0, 0)
		q.Granted(0, 2)
		want := []Order{hurry(othersMost / 2), {What: Elect}}
		if watched {
			want = append(want, Order{What: Ask, Member: 1, LetIn: true})
		}
		require.Equal(t, want, orders(q))
	}
}

func TestWithoutAMajorityEverythingIsGivenBackBeforeOneIsQueuedFor(t *testing.T) {
	t.Parallel()
	q := begun(t, 0, false, true)
	q.Granted(0, 0)
	q.Refused(0, 1, Taken)
	require.Equal(t, []Order{hurry(othersMost / 2)}, orders(q))
	q.Refused(0, 2, Taken)
	require.Equal(t, []Order{{What: LetGo}, {What: Ask, Member: 1, Wait: queueMost}}, orders(q))

	// Its turn comes there: it waits for the others for a moment.
	q.Granted(0, 1)
	require.Equal(t, []Order{{What: Ask, Member: 0, Wait: othersMost, LetIn: true}, {What: Ask, Member: 2, Wait: othersMost, LetIn: true}}, orders(q))

	// In vain: it backs off before it queues there again, longer each time.
	q.Refused(0, 0, Taken)
	q.Refused(0, 2, Taken)
	require.Equal(t, []Order{hurry(othersMost), {What: LetGo, Member: 1}, {What: Rest, Wait: firstRest}}, orders(q))
	q.Rested(0)
	require.Equal(t, []Order{{What: Ask, Member: 0, Wait: queueMost, LetIn: true}}, orders(q))
}

// hurry is the Order of an attempt when as many have replied as are needed, without a decision.
func hurry(wait time.Duration) Order { return Order{What: Hurry, Wait: wait} }

// Two callers with half of the members each would both wait for the one that is dead.
func TestWhatAnAttemptHasIsGivenBackWhenTheRestIsSilent(t *testing.T) {
	t.Parallel()
	q := begun(t, 0, false, true)
	q.Granted(0, 0)
	require.Empty(t, orders(q), "the others may be far away")
	q.Refused(0, 1, Taken)
	require.Equal(t, []Order{hurry(othersMost / 2)}, orders(q))
	q.Hurried(othersMost/2 - 1)
	require.Empty(t, orders(q), "another attempt's")
	q.Hurried(othersMost / 2)
	require.Equal(t, []Order{{What: Withdraw, Member: 2, Silent: true}, {What: LetGo}, {What: Ask, Member: 1, Wait: queueMost}}, orders(q))

	// A quorum that queued waits longer, and after each such attempt all do.
	const at = time.Second
	q.Granted(at, 1)
	require.Equal(t, []Order{{What: Ask, Wait: 2 * othersMost, LetIn: true}, {What: Ask, Member: 2, Wait: 2 * othersMost, LetIn: true}}, orders(q))
	q.Refused(at, 0, Taken)
	require.Equal(t, []Order{hurry(2 * othersMost)}, orders(q))
	q.Hurried(at + 2*othersMost)
	require.Equal(t, []Order{{What: Withdraw, Member: 2, Silent: true}, {What: LetGo, Member: 1}, {What: Rest, Wait: firstRest}}, orders(q))
	q.Hurried(2 * at)
	require.Empty(t, orders(q), "it rests")
}

func TestNobodyQueuesForAMemberThatDoesNotAnswerAnyMore(t *testing.T) {
	t.Parallel()
	for _, told := range []Refusal{Unsure, Taken} {
		q := begun(t, 0, false, true)
		q.Granted(0, 2)
		q.Refused(0, 0, Taken)
		q.Hurried(othersMost)
		orders(q)
		q.Refused(queueMost, 0, told) // it has died, and all other callers have left
		require.Len(t, orders(q), 3, "all are asked again")
		q.Refused(queueMost, 1, Taken)
		q.Refused(queueMost, 2, Taken)
		require.Equal(t, []Order{{What: Withdraw}, {What: Rest, Wait: firstRest}}, orders(q))
		q.Rested(queueMost)
		require.Equal(t, []Order{{What: Ask, Member: 1, Wait: queueMost, LetIn: true}}, orders(q))
	}
}

func TestTheOnlyAttemptWaitsLongerForTheRest(t *testing.T) {
	t.Parallel()
	q := begun(t, 0, true, true)
	q.Granted(0, 0)
	q.Refused(0, 1, Taken)
	require.Equal(t, []Order{hurry(onlyChance)}, orders(q))
	q.Hurried(onlyChance)
	require.Equal(t, []Order{{What: Withdraw, Member: 2, Silent: true}, {What: LetGo}, {What: Dismiss}}, orders(q))
	require.False(t, q.Contested())
}

func TestWithNobodyToQueueForItRestsAndAsksAllAgain(t *testing.T) {
	t.Parallel()
	q := begun(t, 0, false, true)
	for rest := firstRest; rest <= longestRest; rest *= 2 {
		q.Refused(0, 0, Unsure)
		q.Refused(0, 2, Unsure)
		require.Equal(t, []Order{{What: Withdraw, Member: 1}, {What: Rest, Wait: rest}}, orders(q))
		q.Rested(0)
		require.Len(t, orders(q), 3)
	}
}

func TestItQueuesForNoLongerThanItsCallerWaits(t *testing.T) {
	t.Parallel()
	q := begun(t, time.Second, false, true)
	q.Refused(0, 0, Taken)
	q.Refused(300*time.Millisecond, 1, Taken)
	require.Equal(t, []Order{{What: Withdraw, Member: 2}, {What: Ask, Wait: 700 * time.Millisecond}}, orders(q))
	q.GiveUp()
	require.Equal(t, []Order{{What: Withdraw}, {What: Dismiss}}, orders(q))
	require.True(t, q.Contested())
	require.False(t, q.Granted(0, 0), "it comes too late")
	require.Empty(t, orders(q))
}

func TestWhoDoesNotWaitIsToldAtOnce(t *testing.T) {
	t.Parallel()
	q := begun(t, 0, true, true)
	q.Granted(0, 0)
	q.Refused(0, 1, Taken)
	q.Refused(0, 2, Unsure)
	require.Equal(t, []Order{hurry(onlyChance), {What: LetGo}, {What: Dismiss}}, orders(q))
	require.Equal(t, 1, q.Had)
	require.False(t, q.Contested(), "one of three is not a majority")
}

func TestNobodyWaitsForWhatIsRefusedForGood(t *testing.T) {
	t.Parallel()
	q := begun(t, 0, false, true)
	q.Refused(0, 0, Barred)
	q.Refused(0, 2, Shut)
	require.Equal(t, []Order{{What: Withdraw, Member: 1}, {What: Dismiss}}, orders(q))
	require.True(t, q.Hopeless())
}

func TestAMinorityMayGoAndIsAskedForAgain(t *testing.T) {
	t.Parallel()
	q := begun(t, 0, false, true)
	for i := range 3 {
		q.Granted(0, i)
	}
	orders(q)
	q.Gone(0, 1, 0)
	require.Equal(t, []Order{{What: Ask, Member: 1, LetIn: true}}, orders(q))

	// After a permanent rejection it is asked for later, once, and not at all if its engine is closed.
	q.Refused(0, 1, Barred)
	require.Equal(t, []Order{{What: Recall, Member: 1}}, orders(q))
	q.Recalled(1)
	require.Equal(t, []Order{{What: Ask, Member: 1, LetIn: true}}, orders(q))
	q.Refused(0, 1, Shut)
	require.Empty(t, orders(q))
}

// The member was taken away right after the majority was reached, and acquired again at once.
func TestAMemberThatWasMissedIsNoneOfThoseThatBegan(t *testing.T) {
	t.Parallel()
	q := begun(t, 0, false, true)
	for i := range 3 {
		q.Granted(1, i)
	}
	q.Gone(2, 0, 1)
	q.Granted(3, 0)
	orders(q)
	q.Gone(4, 1, 1)
	require.Equal(t, Lose, orders(q)[0].What)
}

// The keys of all three were deleted at the same time, and the loss of each is found only at its next renewal. In
// between another client could have had a majority.
func TestAMemberThatCameBackIsNoProofForTheTimeBefore(t *testing.T) {
	t.Parallel()
	const at = time.Second
	electedThenGone := func() *Quorum {
		q := begun(t, 0, false, true)
		for i := range 3 {
			q.Granted(at, i)
		}
		q.Gone(10*at, 1, 5*at)
		q.Granted(11*at, 1)
		orders(q)
		return q
	}
	q := electedThenGone()
	q.Gone(14*at, 2, 8*at)
	require.Equal(t, []Order{{What: Lose, Member: 2}, {What: LetGo, Member: 0}, {What: LetGo, Member: 1}}, sorted(orders(q)))

	q = electedThenGone()
	q.Gone(24*at, 2, 18*at)
	require.Equal(t, []Order{{What: Ask, Member: 2, LetIn: true}}, orders(q), "it was still there when the other one had come back")
}

// Replies of one attempt come one after the other.
func TestAMemberThatComesRightAfterTheMajorityIsOneOfThoseThatBegan(t *testing.T) {
	t.Parallel()
	const elected = 3 * time.Second
	for late, want := range map[time.Duration]OrderKind{Settling: Ask, Settling + 1: Lose} {
		q := begun(t, 0, false, true)
		q.Granted(time.Second, 0)
		q.Granted(elected, 1)
		q.Granted(elected+late, 2)
		orders(q)
		q.Gone(10*time.Second, 0, 0)
		require.Equal(t, want, orders(q)[0].What, late)
	}
}

func TestItIsLostWithItsMajorityBeforeTheRestIsLetGo(t *testing.T) {
	t.Parallel()
	q := begun(t, 0, false, true)
	q.Granted(0, 0)
	q.Granted(0, 1)
	orders(q)
	q.Gone(0, 0, 0)
	require.Equal(t, []Order{{What: Lose}, {What: LetGo, Member: 1}, {What: Withdraw, Member: 2}}, sorted(orders(q)))
	q.Gone(0, 1, 0)
	q.Leave()
	q.GiveUp()
	require.Empty(t, orders(q), "it ends once")
}

// sorted puts the orders after the first into the order of members, because their order does not matter.
func sorted(orders []Order) []Order {
	if len(orders) == 3 && orders[1].Member > orders[2].Member {
		orders[1], orders[2] = orders[2], orders[1]
	}
	return orders
}

func TestWhoLeavesKeepsNothingUnderWay(t *testing.T) {
	t.Parallel()
	q := begun(t, 0, false, true)
	q.Granted(0, 0)
	q.Granted(0, 1)
	orders(q)
	q.Leave()
	require.Equal(t, []Order{{What: Withdraw, Member: 2}}, orders(q), "the others are unlocked by who leaves")
}

func TestMembersAreWantedOnlyWhileItIsWatched(t *testing.T) {
	t.Parallel()
	q := begun(t, 0, false, true)
	q.Granted(0, 0)
	q.Granted(0, 1)
	orders(q)
	q.Watch(false)
	require.Equal(t, []Order{{What: Withdraw, Member: 2}}, orders(q))
	q.Watch(true)
	require.Equal(t, []Order{{What: Ask, Member: 2, LetIn: true}}, orders(q))
}

// A quorum that began with Gathered needs all members, and asks for none.
func TestOfAGatheredOneTheFirstLossEndsAll(t *testing.T) {
	t.Parallel()
	q := New(3, 3)
	q.Gathered()
	q.Gone(0, 1, 0)
	require.Equal(t, []Order{{What: Lose, Member: 1}, {What: LetGo}, {What: LetGo, Member: 2}}, orders(&q))
}

// A late member does not count for earlier times, so the others must be confirmed when it comes.
func TestTheOthersAreConfirmedWhenAMemberComesLate(t *testing.T) {
	t.Parallel()
	const elected = time.Second
	for _, watched := range []bool{true, false} {
		q := begun(t, 0, false, watched)
		q.Granted(elected, 0)
		q.Granted(elected, 1)
		orders(q)
		q.Granted(10*elected, 2)
		require.Equal(t, []Order{{What: Confirm, Member: 0}, {What: Confirm, Member: 1}}, orders(q))
		q.Gone(20*elected, 0, 11*elected)
		for _, o := range orders(q) {
			require.NotEqual(t, Lose, o.What, "the others were there")
		}
	}
	q := begun(t, 0, false, true)
	for i := range 3 {
		q.Granted(elected+time.Duration(i)*Settling/2, i)
	}
	require.NotContains(t, orders(q), Order{What: Confirm, Member: 0}, "all began together")
}

// With any events in any order:
//   - no member is requested or released twice,
//   - the caller is notified once,
//   - at the end nothing is held and no request is pending.
func TestAnyOrderOfEventsLeavesNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20_000) {
		q, random := New(5, 3), rand.New(rand.NewPCG(seed, 1))
		var state [5]memberState
		told, over := 0, false
		obey := func() {
			for _, o := range orders(&q) {
				switch o.What {
				case Ask:
					require.Equal(t, away, state[o.Member], "seed %d", seed)
					state[o.Member] = asked
				case Withdraw:
					require.Equal(t, asked, state[o.Member], "seed %d", seed)
					state[o.Member] = away
				case LetGo:
					require.Equal(t, here, state[o.Member], "seed %d", seed)
					state[o.Member] = away
				case Confirm:
					require.Equal(t, here, state[o.Member], "seed %d", seed)
				case Elect:
					told++
				case Dismiss:
					told, over = told+1, true
				case Lose:
					over = true
				}
			}
		}
		q.Begin(0, random.IntN(4) == 0, random.IntN(2) == 0)
		obey()
		for range 60 {
			i := random.IntN(len(state))
			switch what := random.IntN(13); {
			case what < 4 && state[i] == asked:
				state[i] = here
				require.True(t, q.Granted(0, i), "seed %d", seed)
			case what < 7 && state[i] == asked:
				state[i] = away
				q.Refused(0, i, Refusal(random.IntN(4)))
			case what == 7 && state[i] == here:
				state[i] = away
				q.Gone(0, i, 0)
			case what == 8:
				q.Rested(0)
			case what == 11:
				q.Hurried(time.Minute)
			case what == 9:
				q.Recalled(i)
			case what == 10:
				q.Watch(random.IntN(2) == 0)
			}
			obey()
		}
		q.GiveUp()
		obey()
		if !over {
			q.Leave()
			obey()
			for i := range state {
				if state[i] == here {
					state[i] = away
				}
			}
		}
		require.Equal(t, [5]memberState{}, state, "seed %d", seed)
		require.Equal(t, 1, told, "seed %d", seed)
	}
}

// A member that was asked for again would be held for the same time once more.
func TestAWatchedQuorumEndsWithTheTimeOfItsOwner(t *testing.T) {
	t.Parallel()
	for _, watched := range []bool{true, false} {
		q := begun(t, 0, false, watched)
		for i := range 3 {
			q.Granted(0, i)
		}
		require.Equal(t, []Order{{What: Elect}}, orders(q))
		q.Spent(0, 1)
		if watched {
			require.Equal(t, []Order{{What: Lose, Member: 1}, {What: LetGo}, {What: LetGo, Member: 2}}, orders(q))
			continue
		}
		require.Empty(t, orders(q), "a lease of its own is not bounded: that member only missed it")
		q.Spent(0, 2)
		require.Equal(t, []Order{{What: Lose, Member: 2}, {What: LetGo}}, orders(q))
	}
}

// A quorum of writers waits at one member for its turn, and then at all others at once. Meanwhile no reader of their
// engines begins to read there.
func TestAQuorumWhoWritesWaitsForThoseWhoRead(t *testing.T) {
	t.Parallel()
	for _, lease := range []time.Duration{0, time.Second, time.Millisecond} {
		q := New(3, 2)
		q.Write(lease)
		q.Begin(0, false, lease == 0)
		most := standMost
		if lease != 0 {
			most = max(lease/8, othersMost)
		}
		for stand := othersMost; ; stand = min(2*stand, most) {
			if q.stage == asking {
				q.Refused(0, 0, Taken)
				q.Refused(0, 1, Taken)
			}
			q.Rested(0)
			orders(&q)
			q.Granted(0, q.next)
			for _, o := range orders(&q) {
				require.Equal(t, Ask, o.What)
				require.Equal(t, stand, o.Wait, lease)
			}
			if stand == most {
				break
			}
			q.Refused(stand, 1, Taken)
			q.Refused(stand, 2, Taken)
		}
	}
}

// A quorum that may not wait at one member waits at no other, where it would keep what others need. One that has waited
// before is let in.
func TestAQuorumThatMayNotWaitForAMemberIsRefused(t *testing.T) {
	t.Parallel()
	q := begun(t, 0, false, true)
	q.Refused(0, 0, Full)
	q.Granted(0, 1)
	q.Refused(0, 2, Taken)
	require.True(t, q.Crowded())
	require.Contains(t, orders(q), Order{What: Dismiss})

	// It may find that out when it queues.
	q = begun(t, 0, false, true)
	q.Granted(0, 0)
	q.Refused(0, 1, Taken)
	q.Refused(0, 2, Taken)
	orders(q)
	q.Refused(0, 1, Full)
	require.Equal(t, []Order{{What: Dismiss}}, orders(q))

	// With a majority it is held all the same, and asks for the missing member, where it is let in.
	q = begun(t, 0, false, true)
	q.Refused(0, 0, Full)
	q.Granted(0, 1)
	q.Granted(0, 2)
	require.Contains(t, orders(q), Order{What: Ask, Member: 0, LetIn: true})
}
