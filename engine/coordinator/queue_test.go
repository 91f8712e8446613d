package coordinator

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// pop removes and returns the oldest command of a list.
func (q *queue) pop(list *chain) actor.Command {
	oldest := *list.oldest()
	q.drop(list)
	return oldest
}

// pieces returns the number of pieces, empty ones included.
func (q *queue) pieces() (n int) {
	for _, p := range []*piece{q.lists[awaited].head, q.lists[unawaited].head, q.lists[repeated].head, q.freePieces} {
		for ; p != nil; p = p.next {
			n++
		}
	}
	return n
}

// The queue is first in, first out, and frees the memory of a burst.
func TestQueue_FIFO_FreesMemory(t *testing.T) {
	var q queue
	pushed, popped := uint64(0), uint64(0)
	for round := range 10_000 {
		for range 1 + round%7 {
			pushed++
			q.push(0, &actor.Command{Tenure: pushed})
		}
		for range 1 + (round*3)%7 {
			if q.Len() == 0 {
				break
			}
			popped++
			require.Equal(t, popped, q.pop(&q.lists[awaited]).Tenure)
		}
		require.EqualValues(t, pushed-popped, q.Len())
		require.EqualValues(t, pushed-popped, q.urgent)
	}
	for range 2 * maxKeptPieces * pieceCommands {
		q.push(0, &actor.Command{})
	}
	for q.Len() > 0 {
		q.pop(&q.lists[awaited])
	}
	require.LessOrEqual(t, q.pieces(), maxKeptPieces+1)
	require.Zero(t, q.urgent)
	// Never empty, and yet it does not grow.
	q = queue{}
	q.push(0, &actor.Command{})
	for range 100_000 {
		q.push(0, &actor.Command{})
		q.pop(&q.lists[awaited])
	}
	require.LessOrEqual(t, q.pieces(), 2)
}

// A sweep keeps the wanted commands in their order, whatever is removed and added meanwhile, and ends after a bounded
// number of steps.
func TestQueueSweep_KeepsOrder(t *testing.T) {
	for _, n := range []int{1, 31, 32, 33, 64, 1000, 10_000} {
		for _, every := range []int{1, 2, 3, 40} {
			c := New(harnessConfig(), SendersPerNode)
			q := &c.Fallback.Queues[actor.SendState]
			var left []uint64
			push := func(number int) {
				r := &actor.Request{}
				gone := number%every == 0
				if gone {
					r.SetDispatched(true)
					q.Stale++
				} else {
					left = append(left, uint64(number))
				}
				q.push(0, &actor.Command{Verb: actor.SendState, Request: r, Tenure: uint64(number)})
			}
			for i := range n {
				push(i)
			}
			c.intake.pieceBudget = 1
			c.startSweep(c.Fallback, actor.SendState)
			turns := 0
			for ; c.activeSweeps > 0; turns++ {
				if c.sweep(); turns%5 == 0 && q.lists[awaited].oldest() != nil {
					if oldest := q.pop(&q.lists[awaited]); len(left) > 0 && oldest.Tenure == left[0] {
						left = left[1:]
					} else {
						q.Stale--
					}
				}
			}
			require.LessOrEqual(t, turns, n/pieceCommands+4, "%d, each %d.", n, every)
			require.Equal(t, len(left), q.Len())
			require.Equal(t, len(left), q.urgent)
			require.Zero(t, q.Stale)
			require.LessOrEqual(t, q.pieces()-q.freeCount, 2*len(left)/pieceCommands+3)
			push(n*every + 1)
			for _, want := range left {
				require.Equal(t, want, q.pop(&q.lists[awaited]).Tenure)
			}
		}
	}
}

// However many retry because others hold their locks, a first attempt does not wait behind them. However many first
// attempts there are, a part of each call is for retries.
func TestQueue_ManyRetries_FirstTriesPass(t *testing.T) {
	for _, n := range []int{1_000, 10_000} {
		d := newHarness(t, 1)
		push := func(again bool) {
			for range n {
				d.c.Fallback.Queues[actor.SendState].push(0, &actor.Command{Verb: actor.SendState, Request: &actor.Request{}, Retry: again})
			}
		}
		push(true)
		b := d.c.fillBatch(d.c.Fallback, actor.SendState)
		require.Len(t, b.Commands, BatchKeys, "nothing else waits")
		push(false)
		again := 0
		for _, command := range d.c.fillBatch(d.c.Fallback, actor.SendState).Commands {
			if command.Retry {
				again++
			}
		}
		require.Equal(t, BatchKeys/backgroundShare, again)
	}
}

// The same in calls: with ten thousand waiters for locks of others, a free lock is acquired with the next call.
func TestQueue_ManyRetries_FreeLockNextCall(t *testing.T) {
	for _, n := range []int{500, 3_000} {
		d := newHarness(t, 1)
		d.posts("lock", "k", n)
		d.opens("taken")
		d.now += 20*time.Second + 2*time.Millisecond // they retry
		for range n/maxTimersPerTurn + 1 {
			d.turn()
		}
		require.Equal(t, n-BatchKeys, d.c.Fallback.Queues[actor.SendAcquire].lists[repeated].n)
		d.ask("lock", "free")
		d.turn()
		asked := false
		for calls := 0; calls < 2 && !asked; calls++ {
			for number, b := range d.inFlight {
				for i := range b.Commands {
					asked = asked || b.Commands[i].Key == "free"
				}
				d.deliverBatch([]string{fmt.Sprint(number), "taken"})
			}
			d.turn()
		}
		require.True(t, asked, n)
	}
}

// A retry batch that holds only recalled commands can begin a sweep, which removes others that hold no more.
func TestQueue_StaleRetryBatches_Swept(t *testing.T) {
	d := newHarness(t, 1)
	gone := &actor.Request{}
	gone.SetDispatched(true)
	n, wanted := d.c.Fallback, &actor.Request{}
	for _, r := range []*actor.Request{wanted, gone, gone, gone, gone} {
		b := d.c.getBatch(actor.SendState)
		b.Commands = append(b.Commands, actor.Command{Verb: actor.SendState, Request: r})
		n.Retries = append(n.Retries, b)
	}
	q := &n.Queues[actor.SendState]
	q.InRetries, q.Stale = 5, 4
	b := d.c.nextRetry(n, actor.SendState)
	require.Equal(t, []actor.Command{{Verb: actor.SendState, Request: wanted}}, b.Commands)
	require.Empty(t, n.Retries)
	require.Zero(t, q.InRetries)
	require.Zero(t, q.Stale)
}

// A call that finds only recalled commands skips a bounded number of them, and packing continues in the next turn.
func TestQueue_StaleCommands_SkipsBounded(t *testing.T) {
	for _, n := range []int{10 * maxSkipped, 100 * maxSkipped} {
		d := newHarness(t, 1)
		gone := &actor.Request{}
		gone.SetDispatched(true)
		q := &d.c.Fallback.Queues[actor.SendState]
		for range n {
			d.c.enqueue(&actor.Command{Verb: actor.SendState, Request: gone})
		}
		d.c.enqueue(&actor.Command{Verb: actor.SendState, Request: &actor.Request{}})
		left := q.Len()
		for turns := 0; len(d.c.Batches) == 0; turns++ {
			require.Less(t, turns, n)
			d.c.Turn(d.now, nil)
			require.LessOrEqual(t, left-q.Len(), maxSkipped+2+BatchKeys+sweepPieces*pieceCommands)
			left = q.Len()
			if len(d.c.Batches) == 0 {
				due, ok := d.c.Next()
				require.True(t, ok)
				require.LessOrEqual(t, due, d.now)
			}
		}
	}
}
