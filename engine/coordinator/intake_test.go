package coordinator

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// newSharedLaneHarness returns a harness with a coordinator that handles at most share messages of a lane per turn.
func newSharedLaneHarness(t *testing.T, share int) *coordinatorHarness {
	d := newHarness(t, SendersPerNode)
	d.c.LimitTurn(share)
	return d
}

// posts posts n messages of one kind.
func (d *coordinatorHarness) posts(what, name string, n int) {
	for i := range n {
		d.ask(what, fmt.Sprint(name, i))
	}
}

// opens runs turns until all messages are handled and nothing is due at once, and replies to all batches with words. It
// returns the largest number of messages that a turn handled.
func (d *coordinatorHarness) opens(words ...string) (most int) {
	for turns := 0; ; turns++ {
		require.Less(d.t, turns, 2_000)
		before := d.unopened() + len(d.messages)
		d.turn()
		most = max(most, before-d.unopened())
		for number := range d.inFlight {
			d.deliverBatch(append([]string{fmt.Sprint(number)}, words...))
		}
		if len(d.messages) == 0 && !d.c.HasMessages() {
			return most
		}
	}
}

func (d *coordinatorHarness) unopened() (n int) { return d.c.MessagesLeft() }

// However much is posted, a turn handles the same amount.
func TestIntake_AnyLoad_TurnBounded(t *testing.T) {
	most := func(n int) int {
		d := newSharedLaneHarness(t, MaxMessagesPerTurn)
		d.posts("lock", "a", n)
		d.posts("async", "b", n)
		d.posts("cancel", "a", n/2)
		return d.opens("taken")
	}
	few, many := most(2_000), most(20_000)
	require.Positive(t, few)
	require.LessOrEqual(t, many, (lanes+1)*MaxMessagesPerTurn)
}

// A blocking call comes before non-blocking requests, except for a bounded number of them, whatever was posted before
// it.
func TestIntake_AsyncFlood_CallersFirst(t *testing.T) {
	for _, flood := range []int{5_000, 50_000} {
		t.Run(fmt.Sprint(flood), func(t *testing.T) {
			d := newSharedLaneHarness(t, MaxMessagesPerTurn)
			d.posts("async", "k", flood)
			d.turn()
			d.ask("lock", "waits")
			before := 0
			for found := false; !found; {
				d.turn()
				require.NotEmpty(t, d.inFlight)
				for number, b := range d.inFlight {
					for i := range b.Commands {
						found = found || b.Commands[i].Key == "waits"
					}
					before += len(b.Commands)
					d.deliverBatch([]string{fmt.Sprint(number), "taken"})
				}
			}
			require.LessOrEqual(t, before, maxQueuedAhead+MaxMessagesPerTurn+2*SendersPerNode*BatchKeys)
		})
	}
}

// Pub/sub messages and confirmations do not delay replies.
func TestIntake_MessageFlood_RepliesFirst(t *testing.T) {
	d := newSharedLaneHarness(t, MaxMessagesPerTurn)
	d.line("1ms lock held")
	const flood = 20 * MaxMessagesPerTurn
	for range flood {
		d.queueMessage(&LoopMessage{Value: ChannelSubscribed{Channel: channelNamed("y"), Conn: 1}})
	}
	require.Contains(t, d.line("2ms 1 done"), "held granted")
	require.Equal(t, flood-MaxMessagesPerTurn, d.unopened(), "and they wait for no answer")
}

// Callers that ask for counters do not delay replies, nor requests of others.
func TestIntake_StatsFlood_OthersFirst(t *testing.T) {
	d := newSharedLaneHarness(t, MaxMessagesPerTurn)
	d.line("1ms lock held")
	const flood = 20 * MaxMessagesPerTurn
	for range flood {
		r := &actor.Request{Ready: make(chan struct{}, 1)}
		d.queueMessage(&LoopMessage{Value: StatsRequest{Request: r, Stats: &Stats{}}})
	}
	require.Contains(t, d.line("2ms 1 done"), "held granted")
	require.Equal(t, flood-MaxMessagesPerTurn, d.unopened(), "and they wait for no counters")
}

// Cancellations do not delay unlocks.
func TestIntake_CancelFlood_UnlocksFirst(t *testing.T) {
	d := newSharedLaneHarness(t, MaxMessagesPerTurn)
	d.line("1ms lock held")
	d.line("2ms 1 done")
	const flood = 20_000
	d.posts("async", "k", flood)
	d.opens("taken")
	d.posts("cancel", "k", flood)
	require.Contains(t, d.line("1s unlock held"), "release held")
	require.Less(t, d.unopened(), flood)
	require.NotZero(t, d.unopened())
	d.opens("gone")
	require.EqualValues(t, 0, d.c.Stats().Waiting)
}

// Unlocks of callers that do not block do not delay those of callers that do, and end in a number of turns that is
// proportional to theirs.
func TestIntake_AsyncUnlockFlood_CallersFirst(t *testing.T) {
	const flood = 20 * MaxMessagesPerTurn
	d := newSharedLaneHarness(t, MaxMessagesPerTurn)
	d.posts("lock", "k", flood)
	d.line("1ms lock held")
	d.opens("done")
	for i := range flood {
		d.ask("unlock", fmt.Sprint("k", i))
		d.callers[fmt.Sprint("k", i)].latest.Async = true
	}
	handled := func() bool { return !d.c.Locks.Get("held").HasOwner() }
	d.ask("unlock", "held")
	d.turn()
	require.True(t, handled())
	require.GreaterOrEqual(t, d.unopened(), flood-2*MaxMessagesPerTurn)
	turns := 0
	for ; d.unopened() > 0; turns++ {
		d.turn()
	}
	require.LessOrEqual(t, turns, flood/MaxMessagesPerTurn)
}

// A turn handles no more of the cancellations that are posted together than of those posted one by one.
func TestIntake_CanceledTogether_TurnBounded(t *testing.T) {
	leave := func(n int) (turns int) {
		d := newSharedLaneHarness(t, MaxMessagesPerTurn)
		d.posts("async", "k", n)
		d.opens("taken")
		var all []*actor.Request
		for r := range d.names {
			all = append(all, r)
		}
		for some := range slices.Chunk(all, MaxMessagesPerTurn) {
			d.queueMessage(&LoopMessage{Value: CancelAllRequest{some, errors.New("canceled")}})
		}
		for left := d.c.Stats().Waiting; left > 0; turns++ {
			d.turn()
			require.LessOrEqual(t, left-d.c.Stats().Waiting, int64(MaxMessagesPerTurn))
			left = d.c.Stats().Waiting
		}
		return turns
	}
	require.Equal(t, 4, leave(4*MaxMessagesPerTurn))
	require.Equal(t, 40, leave(40*MaxMessagesPerTurn))
}

// While there are no more messages than a turn handles, non-blocking requests keep their place, but for that in a
// batch.
func TestIntake_FewRequests_InOrder(t *testing.T) {
	d := newSharedLaneHarness(t, MaxMessagesPerTurn)
	require.Equal(t, "1: acquire b a c", d.line("1ms async a; lock b; async c"))
	d = newSharedLaneHarness(t, 2)
	require.Equal(t, "1: acquire b a c d", d.line("1ms async a; lock b; async c; async d; async e; lock f"))
	require.Equal(t, "2: acquire f e", d.line("1ms timer"))
}

// Non-blocking requests do not overtake each other, also where requests for several locks use up a turn's share.
func TestIntake_AsyncBehindMulti_InOrder(t *testing.T) {
	d := newSharedLaneHarness(t, 2)
	require.Equal(t, "1: joint a+b; 2: acquire c d", d.line("1ms lock a+b; async c; async d"))
}

// A request that is canceled before the loop handles it is rejected, and no command is sent for it.
func TestIntake_Cancel_OvertakesRequest(t *testing.T) {
	d := newSharedLaneHarness(t, 1)
	require.Equal(t, "1: acquire a; c redis unavailable: canceled", d.line("1ms lock a; lock b; lock c; cancel c"))
	require.Equal(t, "2: acquire b", d.line("1ms timer"))
	require.Equal(t, "nothing", d.line("1ms timer"), "its message")
	require.False(t, d.c.HasMessages())
	require.EqualValues(t, 2, d.c.Stats().Waiting)
}

// A node with a full queue takes no more non-blocking requests at first, and all of them in the end. A node that is
// down takes all of them: they can be canceled there.
func TestIntake_QueueFull_AsyncHeldBack(t *testing.T) {
	const flood = 20 * maxQueuedAhead
	d := newSharedLaneHarness(t, MaxMessagesPerTurn)
	d.posts("async", "k", flood)
	for range 100 {
		d.turn()
	}
	require.LessOrEqual(t, d.c.Fallback.Queues[actor.SendAcquire].Len(), maxQueuedAhead+MaxMessagesPerTurn)
	require.False(t, d.c.HasMessages(), "no turn is wanted for it")
	d.opens("taken")
	require.Zero(t, d.unopened())

	d = newSharedLaneHarness(t, MaxMessagesPerTurn)
	d.line("1ms lock first")
	d.line("2ms 1 lost EOF")
	d.posts("async", "k", flood)
	d.opens("lost", "EOF")
	require.Zero(t, d.unopened())
}

// Close and Shutdown complete every request that was not handled yet, each once.
func TestIntake_EngineEnds_RequestsRejected(t *testing.T) {
	for _, how := range []string{"close", "shutdown"} {
		t.Run(how, func(t *testing.T) {
			d := newSharedLaneHarness(t, 1)
			d.posts("lock", "a", 50)
			d.posts("async", "b", 50)
			d.ask("cancel", "b49")
			d.ask(how, how)
			verdicts := 0
			for d.turn(); d.c.HasMessages(); d.turn() {
				verdicts++
			}
			for number := range d.inFlight {
				d.deliverBatch([]string{fmt.Sprint(number), "taken"})
			}
			d.now += time.Second
			d.opens("gone")
			require.Zero(t, d.c.Stats().Waiting)
			for who := range d.callers {
				require.True(t, d.callers[who].latest.Completed(), who)
			}
		})
	}
}

// Messages for a node that no longer owns slots are handled all the same.
func TestIntake_NodeRemoved_MessagesHandled(t *testing.T) {
	d := newSharedLaneHarness(t, 1)
	n := NewNode("gone", d.c.Fx.Config.Lease)
	d.c.Nodes = append(d.c.Nodes, n)
	r := &actor.Request{Op: actor.Acquire, Key: "a", Name: "a", Hold: &actor.Hold{}, Async: true}
	d.names[r] = "a"
	n.asyncRequests[plainRequests].push(&LoopMessage{Value: r})
	d.c.removeEmptyNodes()
	require.Contains(t, d.c.Nodes, n)
	require.Equal(t, "nothing", d.line("1ms timer"), "it waits at the owner of its slot")
	require.Equal(t, "1: acquire a", d.line("1ms timer"))
	require.Empty(t, n.asyncRequests[plainRequests])
}

// A request outside the full queue of a silent server times out as it should, also behind requests without a limit.
func TestIntake_QueueFull_WaitEndsInTime(t *testing.T) {
	const wait = 100 * time.Millisecond
	for _, bounded := range []actor.Request{{Wait: wait}, {Once: true}, {Once: true, Wait: wait}} {
		d := newSharedLaneHarness(t, MaxMessagesPerTurn)
		d.posts("async", "k", 20*maxQueuedAhead)
		for d.turn(); d.c.HasMessages(); d.turn() {
		}
		d.ask("async", "bounded")
		r := d.callers["bounded"].latest
		r.Once, r.Wait = bounded.Once, bounded.Wait
		end := d.now + cmp.Or(bounded.Wait, d.c.Fx.Config.CallTimeout) + 10*time.Millisecond
		d.turn()
		require.False(t, r.Handled())
		for !r.Completed() {
			due, ok := d.c.Next()
			require.True(t, ok)
			d.now = max(d.now, due)
			require.LessOrEqual(t, d.now, end)
			d.turn()
		}
		require.Equal(t, actor.ErrUnavailable, r.Err)
		d.opens("taken")
		require.Zero(t, d.unopened())
	}
}
