package coordinator

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// A caller that cancels a grant and tries next is not rejected because of its own grant: it gets the lock. Both
// messages come in one turn.
func TestCancelOrder_GrantCanceledThenTry_Granted(t *testing.T) {
	for _, share := range []int{MaxMessagesPerTurn, inOrderShare - 1} { // in the lane inOrder, and in lanes of their own
		for _, kind := range heldBackKinds {
			d := newHarness(t, 1)
			d.c.LimitTurn(share)
			d.line("1ms async " + kind + "a")
			require.Contains(t, d.line("2ms 1 done"), "a granted")
			require.Contains(t, d.line("3ms cancel "+kind+"a; try "+kind+"a/2"), "2: release", kind)
			require.Contains(t, d.line("4ms 2 done"), "3: acquire", kind)
			require.Equal(t, kind+"a/2 granted", d.line("5ms 3 done"), kind)
		}
	}
}

// The same holds for a caller that cancels a request which waits: the request is in the way of no later one. A fair
// lock has asked the server for a place, which the canceled request leaves.
func TestCancelOrder_WaitCanceledThenTry_AsksServer(t *testing.T) {
	d := newHarness(t, 1)
	d.line("1ms async fair:a")
	d.line("2ms 1 queued")
	d.line("3ms cancel fair:a; try fair:a/2")
	require.NotNil(t, d.callers["fair:a"].latest.Err)
	require.False(t, d.callers["fair:a/2"].latest.Completed())
}

// A writer that was canceled before a reader tries keeps it out no longer, and neither does it count as one that waits.
func TestCancelOrder_WriterCanceledThenReaderTries_NotRejected(t *testing.T) {
	d := newHarness(t, 1)
	d.line("1ms write a")
	d.line("2ms 1 taken")
	d.line("3ms cancel a; tryread a/2")
	require.NotNil(t, d.callers["a"].latest.Err)
	require.False(t, d.callers["a/2"].latest.Completed())
}

// A canceled request counts neither for Config.MaxWaiting nor for Config.MaxWaitingPerLock from its cancellation on. A
// cancellation of a request with a result makes no room.
func TestCancelOrder_LimitReached_CanceledMakesRoom(t *testing.T) {
	for _, limits := range [][2]int{{2, 100}, {100, 2}} {
		for _, kind := range allKinds {
			for _, together := range []bool{false, true} {
				k := newLimitedHarness(t, limits[0], limits[1], takenElsewhere)
				first, second := waitRequests(kind, "a", 0), waitRequests(kind, "a", 0)
				first.Async, second.Async, first.Ready, second.Ready = true, true, make(chan struct{}, 1), make(chan struct{}, 1)
				k.turn(first, second)
				next, late := waitRequests(kind, "a", 0), waitRequests(kind, "a", 0)
				cancel := &LoopMessage{Value: CancelRequest{first, errors.New("left")}}
				if together {
					cancel.Value = CancelAllRequest{[]*actor.Request{first}, errors.New("left")}
				}
				cancel.Next = &LoopMessage{Value: next, Next: &LoopMessage{Value: late}}
				k.exchange(cancel)
				require.True(t, first.Completed())
				require.False(t, next.Completed(), "%v, %v", limits, kind)
				require.Equal(t, actor.ErrTooManyWaiters, late.Err, "%v, %v", limits, kind)
				require.EqualValues(t, 2, k.c.Stats().Waiting)

				again := waitRequests(kind, "a", 0)
				k.exchange(&LoopMessage{Value: CancelRequest{first, errors.New("left")}, Next: &LoopMessage{Value: again}})
				require.Equal(t, actor.ErrTooManyWaiters, again.Err, "%v, %v", limits, kind)
				require.EqualValues(t, 2, k.c.Fx.WantedLocks)
			}
		}
	}
}

// A flood of cancellations has its share of a turn. First tries of others leave in the turn in which they come.
func TestCancelOrder_Flood_TriesLeaveAtOnce(t *testing.T) {
	const flood = 20 * MaxMessagesPerTurn
	d := newSharedLaneHarness(t, MaxMessagesPerTurn)
	d.posts("async", "k", flood)
	d.opens("taken")
	d.posts("cancel", "k", flood)
	d.ask("try", "free")
	require.Contains(t, d.line("1s lock other"), "free other")
	const most = MaxMessagesPerTurn + MaxMessagesPerTurn/inOrderShare // those that come first are handled in order
	require.Equal(t, flood-most, d.unopened(), fmt.Sprint("at most ", most, " of them in a turn"))
}

// cancelFlood returns a harness that handles share messages of a lane per turn. These callers have been granted locks
// that they have not taken, and very many cancellations are posted.
func cancelFlood(t *testing.T, share int, who ...string) *coordinatorHarness {
	flood := 20 * share
	d := newSharedLaneHarness(t, share)
	for _, w := range who {
		d.ask("async", w)
	}
	d.opens("done")
	d.posts("async", "k", flood)
	d.opens("taken")
	d.posts("cancel", "k", flood)
	return d
}

// However many cancellations wait before that of a caller, its next call is handled after it.
func TestCancelOrder_CancelFlood_SameNameInOrder(t *testing.T) {
	for _, kind := range heldBackKinds {
		d := cancelFlood(t, smallShare, kind+"a")
		d.ask("cancel", kind+"a")
		d.ask("try", kind+"a/2")
		d.ask("try", kind+"b")
		d.turn()
		require.Greater(t, d.unopened(), 15*smallShare)
		require.Zero(t, d.c.Stats().Held, "it is being released")
		require.False(t, d.callers[kind+"a/2"].latest.Completed(), kind)
		d.opens("done")
		require.NoError(t, d.callers[kind+"a/2"].latest.Err, kind)
		require.True(t, d.callers[kind+"a/2"].latest.Completed(), kind)
		require.Empty(t, d.c.intake.lateCancels)
		require.Zero(t, d.c.AsyncCancelsLeft())
	}
	d := cancelFlood(t, smallShare, "a")
	d.ask("cancel", "a")
	d.turn()
	require.NotZero(t, d.c.Stats().Held, "without a later call it waits")
	d.ask("lock", "a+b")
	d.turn()
	require.Zero(t, d.c.Stats().Held, "a request for several locks is one for each name")
}

// A turn handles early no more cancellations than its share, and of one name no more than an eighth of that. All are
// handled in the end, each once.
func TestCancelOrder_ManyCaughtUp_TurnBounded(t *testing.T) {
	const most = smallShare / caughtUpShare
	for _, ofName := range []int{1, most, most + 1} {
		const names = 3 * smallShare
		var who []string
		for i := range names {
			for n := range ofName {
				who = append(who, fmt.Sprint("r", i, "/", n))
			}
		}
		d := newSharedLaneHarness(t, smallShare)
		for _, w := range who {
			d.ask("read", w)
		}
		d.opens("done")
		d.posts("async", "k", 20*smallShare)
		d.opens("taken")
		d.posts("cancel", "k", 20*smallShare)
		for _, w := range who {
			d.ask("cancel", w)
		}
		d.posts("trywrite", "r", names)
		held := int64(len(who))
		require.Equal(t, held, d.c.Stats().Held)
		for turns := 0; len(d.messages) > 0 || d.c.HasMessages(); turns++ {
			require.Less(t, turns, 1000)
			d.turn()
			now := d.c.Stats().Held
			require.LessOrEqual(t, held-now, int64(2*smallShare), "one share early, and one in the lane")
			if turns == 0 {
				require.Equal(t, ofName <= most, now < held)
			}
			held = now
		}
		require.Zero(t, held)
		require.EqualValues(t, len(who), d.c.Fx.Stats.Released)
		require.Empty(t, d.c.intake.lateCancels)
	}
}

// What noted the names of very many cancellations is not kept, and a close leaves nothing of it.
func TestCancelOrder_VeryManyNames_MemoryNotKept(t *testing.T) {
	for flood, kept := range map[int]bool{maxKeptNames: true, 2 * maxKeptNames: false} {
		d := cancelFlood(t, flood/20+1)
		d.turn()
		require.NotEmpty(t, d.c.intake.lateCancels)
		d.opens("gone")
		require.Empty(t, d.c.intake.lateCancels)
		require.Equal(t, kept, d.c.intake.lateCancels != nil, flood)
	}
	d := cancelFlood(t, smallShare, "a")
	d.ask("close", "close")
	for d.turn(); d.c.HasMessages() || !d.callers["close"].latest.Completed(); d.turn() {
		d.now += 1e7
	}
	require.Empty(t, d.c.intake.lateCancels)
}
