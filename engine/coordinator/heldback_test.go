package coordinator

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// heldBackKinds are a kind of each sort of requests that are held back.
var heldBackKinds = []string{"", "fair:"}

// pacedFlood returns a harness to which asynchronous requests of one kind came, a few per turn, with no reply so far.
func pacedFlood(t *testing.T, kind string, requests int) *coordinatorHarness {
	const perTurn = 50
	d := newSharedLaneHarness(t, MaxMessagesPerTurn)
	for i := range requests / perTurn {
		d.posts("async", fmt.Sprint(kind, "k", i, "-"), perTurn)
		d.turn()
	}
	return d
}

// answerAll replies to all batches in flight. It returns how many of their commands were for names that begin so.
func (d *coordinatorHarness) answerAll(word, prefix string) (commands int) {
	for number, b := range d.inFlight {
		for i := range b.Commands {
			if strings.HasPrefix(b.Commands[i].Key, prefix) {
				commands++
			}
		}
		d.deliverBatch([]string{fmt.Sprint(number), word})
	}
	return commands
}

// Asynchronous requests that come a few per turn are held back as well: a caller that blocks waits for a few batches,
// also where it is in one queue with them. All get their locks in the end.
func TestHeldBack_PacedFlood_BlockedCallerNext(t *testing.T) {
	const flood = 10_000
	for _, kind := range heldBackKinds {
		d := pacedFlood(t, kind, flood)
		require.Greater(t, d.unopened(), flood/2, kind)
		d.ask("lock", kind+"free")
		roundTrips := 0
		for d.turn(); !d.has("free"); d.turn() {
			require.Less(t, roundTrips, 3, kind)
			d.answerAll("done", "")
			roundTrips++
		}
		d.opens("done")
		require.Zero(t, d.unopened(), kind)
		require.EqualValues(t, flood+1, d.c.Stats().Held, kind)
	}
}

// One burst of asynchronous requests leaves the same room as many that come one after the other.
func TestHeldBack_Burst_QueueShort(t *testing.T) {
	for i, most := range []int{maxQueuedAhead, maxFairAhead} {
		d := newSharedLaneHarness(t, MaxMessagesPerTurn)
		d.posts("async", heldBackKinds[i]+"k", 10_000)
		for range 100 {
			d.turn()
			waiting := 0
			for verb := range d.c.Fallback.Queues {
				waiting += d.c.Fallback.Queues[verb].Len()
			}
			require.LessOrEqual(t, waiting, most)
		}
		require.False(t, d.c.HasMessages(), "no turn is wanted for it")
	}
}

// A flood of one sort of locks holds back no asynchronous request for a lock of the other sort.
func TestHeldBack_OtherSort_NotHeldBack(t *testing.T) {
	for i, kind := range heldBackKinds {
		d := pacedFlood(t, kind, 10_000)
		d.answerAll("done", "")
		d.ask("async", heldBackKinds[1-i]+"free")
		d.turn()
		require.True(t, d.has("free"), kind)
	}
}

// Very many callers that block, each again as soon as it has its lock, do not hold back asynchronous requests for ever.
func TestHeldBack_BlockedStream_GetsShare(t *testing.T) {
	const callers, rounds = 20 * BatchKeys, 60
	for _, kind := range heldBackKinds {
		d := pacedFlood(t, kind, 10_000)
		d.posts("lock", kind+"s-", callers)
		sent := 0
		for round := range rounds {
			d.turn()
			sent += d.answerAll("taken", "k")
			d.posts("lock", fmt.Sprint(kind, "s", round, "-"), BatchKeys-BatchKeys/backgroundShare)
		}
		require.Greater(t, sent, rounds/2*BatchKeys/backgroundShare, kind)
	}
}

// A node that is down takes the requests that were held back: they can be canceled at their locks.
func TestHeldBack_NodeDown_Taken(t *testing.T) {
	for _, kind := range heldBackKinds {
		d := newSharedLaneHarness(t, MaxMessagesPerTurn)
		d.line("1ms lock first")
		d.line("2ms 1 lost EOF")
		require.True(t, d.c.Fallback.Breaker.Down)
		d.posts("async", kind+"k", 10_000)
		d.opens("lost", "EOF")
		require.Zero(t, d.unopened(), kind)
	}
}

// A request needs no server if its owner has the lock. So it does not wait behind those that do.
func TestHeldBack_Reentry_AtOnce(t *testing.T) {
	for _, kind := range heldBackKinds {
		d := pacedFlood(t, kind, 10_000)
		d.ask("lock", kind+"mine/me")
		for range 4 {
			d.turn()
			d.answerAll("done", "")
		}
		d.turn()
		require.NotZero(t, d.unopened(), kind)
		d.ask("async", kind+"mine/me2")
		d.ask("async", kind+"other/me3")
		d.turn()
		require.True(t, d.callers[kind+"mine/me2"].latest.Completed(), kind)
		require.NoError(t, d.callers[kind+"mine/me2"].latest.Err, kind)
		require.False(t, d.callers[kind+"other/me3"].latest.Handled(), kind)
		d.opens("done")
		require.Empty(t, d.c.intake.unlocksOf, kind)
	}
}

// A request that re-enters is handled before an unlock that its owner posts after it, whether that blocks or not. So
// the owner keeps the lock, and no other caller comes between.
func TestHeldBack_ReentryThenUnlock_InOrder(t *testing.T) {
	for _, kind := range heldBackKinds {
		for _, blocks := range []bool{true, false} {
			mine, again := kind+"a/me", kind+"a/me2"
			d := newHarness(t, 1)
			d.line("1ms lock " + mine)
			d.line("2ms 1 done")
			d.line("3ms lock " + kind + "a/other")
			d.answerAll("queued", "")
			d.turn()
			d.ask("async", again)
			if blocks {
				d.ask("unlock", mine)
			} else {
				d.unlockAsync(mine)
			}
			for range 3 {
				d.turn()
				d.answerAll("done", "")
			}
			require.True(t, d.callers[mine].latest.Completed(), mine)
			require.NoError(t, d.callers[mine].latest.Err, mine)
			require.True(t, d.callers[again].latest.Completed(), again)
			require.NoError(t, d.callers[again].latest.Err, again)
			require.Equal(t, d.callers[mine].hold.Tenure, d.callers[again].hold.Tenure, "it was not released meanwhile")
			require.False(t, d.callers[kind+"a/other"].latest.Completed(), again)
			require.Empty(t, d.c.intake.unlocksOf)
		}
	}
}

// Requests that are canceled, or time out, while they are held back do not stay in memory behind those that wait: not
// more of them than of the others, however many came. The others keep their order.
func TestHeldBack_Abandoned_NotKept(t *testing.T) {
	const waiting, perRound = 2_000, 1_000
	for i, kind := range heldBackKinds {
		for _, canceled := range []bool{true, false} {
			d := newSharedLaneHarness(t, MaxMessagesPerTurn)
			list := &d.c.Fallback.asyncRequests[i]
			d.posts("async", kind+"k", waiting)
			d.turn()
			for round := range 20 {
				name := fmt.Sprint(kind, "gone", round, "-")
				d.posts("async", name, perRound)
				if canceled {
					d.posts("cancel", name, perRound)
				} else {
					for _, m := range d.messages {
						m.Value.(*actor.Request).Wait = time.Millisecond
					}
				}
				d.turn()
				for d.now += 10 * time.Millisecond; d.c.Fx.Stats.Waiting > waiting; d.turn() {
					d.now += time.Millisecond
				}
				names := []string{}
				for m := list.first; m != nil; m = m.Next {
					if r := m.Value.(*actor.Request); !r.Completed() {
						names = append(names, r.Key)
					}
				}
				live := len(names)
				require.Greater(t, live, waiting/4)
				require.LessOrEqual(t, list.n, 2*live, "%s, round %d", kind, round)
				require.Equal(t, list.n, list.work)
				for at, name := range names {
					require.Equal(t, fmt.Sprint("k", waiting-live+at), name)
				}
			}
			d.opens("done")
			require.Zero(t, d.unopened())
			require.Nil(t, list.last)
			require.EqualValues(t, waiting, d.c.Stats().Held)
		}
	}
}

// However many requests re-enter, those of callers that block come first, and a turn is bounded.
func TestHeldBack_ReentryFlood_CallersFirst(t *testing.T) {
	const flood = 20 * MaxMessagesPerTurn
	d := newSharedLaneHarness(t, MaxMessagesPerTurn)
	d.line("1ms lock mine/me")
	d.line("2ms 1 done")
	d.posts("async", "k", 2*MaxMessagesPerTurn)
	d.posts("async", "mine/me", flood)
	d.turn()
	d.ask("lock", "free")
	before := d.unopened() + len(d.messages)
	d.turn()
	require.True(t, d.has("free"))
	require.LessOrEqual(t, before-d.unopened(), lanes*MaxMessagesPerTurn)
	d.opens("done")
	require.EqualValues(t, flood+2*MaxMessagesPerTurn+2, d.c.Stats().Held)
}

// A request that was held back has its limit from when it came, also if it is handled just before that: a try one
// CallTimeout and not two, whether it acquires the lock or re-enters it by then.
func TestHeldBack_HandledLate_OneLimit(t *testing.T) {
	for _, c := range []struct {
		reenters bool
		once     bool
		wait     time.Duration
	}{
		{once: true},
		{once: true, wait: 2500 * time.Millisecond},
		{reenters: true, once: true},
		{reenters: true, once: true, wait: 2500 * time.Millisecond},
		{wait: 2500 * time.Millisecond},
		{reenters: true, wait: 2500 * time.Millisecond},
	} {
		d := pacedFlood(t, "", 10_000)
		d.ask("async", "mine/me2")
		r := d.callers["mine/me2"].latest
		r.Once, r.Wait, r.Lease = c.once, c.wait, time.Hour // a lease for which a re-entry asks the server
		end := d.now + cmp.Or(c.wait, d.c.Fx.Config.CallTimeout) + 10*time.Millisecond
		d.turn()
		if c.reenters {
			d.ask("lock", "mine/me")
			for d.turn(); !d.callers["mine/me"].latest.Completed(); d.turn() {
				d.answerAll("done", "")
			}
		}
		require.False(t, r.Handled(), c)
		d.now += 2 * time.Second
		for ; !r.Handled(); d.turn() {
			d.answerAll("done", "")
		}
		for !r.Completed() {
			due, ok := d.c.Next()
			require.True(t, ok, c)
			d.now = max(d.now, due)
			require.LessOrEqual(t, d.now, end, c)
			d.turn()
		}
		require.Equal(t, actor.ErrUnavailable, r.Err, c)
	}
}

// Requests that are held back at a node when another becomes the owner of their names are held back there, too.
func TestHeldBack_OwnerChanges_QueueShort(t *testing.T) {
	for _, kind := range heldBackKinds {
		d := pacedFlood(t, kind, 10_000)
		d.queueMessage(&LoopMessage{Value: MasterChanged{"next:1"}})
		for range 100 {
			d.turn()
			waiting := 0
			for verb := range d.c.Fallback.Queues {
				waiting += d.c.Fallback.Queues[verb].Len()
			}
			require.LessOrEqual(t, waiting, 2*maxQueuedAhead, kind)
			if kind != "" {
				require.LessOrEqual(t, waiting, 3*maxFairAhead, kind)
			}
		}
		require.Greater(t, d.unopened(), 5000)
		d.opens("done")
		require.Zero(t, d.unopened(), kind)
	}
}
