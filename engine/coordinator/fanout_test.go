package coordinator

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// newReadersHarness returns a harness with that many waiting readers of one name, which listen to its channel. It also
// returns a count of the messages of one kind that they receive.
func newReadersHarness(t testing.TB, readers int, kind actor.Event) (d *coordinatorHarness, told map[*actor.Lock]int) {
	d = newHarness(t, 8)
	d.c.Senders = readers/BatchKeys + 1
	d.c.intake.listeningReaders = readers
	for i := range readers {
		d.ask("read", fmt.Sprint("k/", i))
	}
	d.turn()
	told = d.countSteps(kind)
	d.refuseAll()
	d.turn()
	require.NotNil(t, d.order)
	return d, told
}

// countSteps returns a count of the messages of one kind that each lock receives from now on.
func (d *coordinatorHarness) countSteps(kind actor.Event) map[*actor.Lock]int {
	told := make(map[*actor.Lock]int)
	d.c.Fx.OnStep = func(s actor.StepTrace) {
		if s.Event == kind {
			told[s.Lock]++
		}
	}
	return told
}

// refuseAll answers all acquires that are in flight: another holder writes.
func (d *coordinatorHarness) refuseAll() (refused int) {
	return d.replyToAll(func(*actor.Command) actor.Reply {
		return actor.Reply{Status: actor.HeldByOther, TTL: 20 * time.Second, Writer: "x:1"}
	})
}

// replyToAll answers all commands that are in flight.
func (d *coordinatorHarness) replyToAll(reply func(*actor.Command) actor.Reply) (replies int) {
	for number, b := range d.inFlight {
		delete(d.inFlight, number)
		d.queueMessage(&b.Msg)
		b.Replies = b.Replies[:0]
		for i := range b.Commands {
			b.Replies = append(b.Replies, reply(&b.Commands[i]))
			replies++
		}
	}
	return replies
}

// channel returns the channel that they all listen to: that with the most listeners.
func (d *coordinatorHarness) channel() (most *channel) {
	for _, ch := range d.c.Fallback.Subscriptions.Channels {
		if most == nil || ch.listeners.len() > most.listeners.len() {
			most = ch
		}
	}
	return most
}

func (d *coordinatorHarness) confirms() {
	d.order = nil
	on := d.connsOf(d.c.Fallback).to
	d.queueMessage(&LoopMessage{Value: ChannelSubscribed{Channel: d.channel().name, Conn: on}})
	d.queueMessage(&LoopMessage{Value: d.connsOf(d.c.Fallback).orderResult(nil, nil)})
}

func (d *coordinatorHarness) publishes() {
	d.queueMessage(&LoopMessage{Value: ChannelMessage{Channel: d.channel().name}})
}

// slices runs turns as long as they are due at once, and returns their number. It requires that no turn exceeds its
// limit.
func (d *coordinatorHarness) slices(told map[*actor.Lock]int) (turns int) {
	for {
		before := sum(told)
		d.turn()
		turns++
		require.LessOrEqual(d.t, sum(told)-before, maxLocksPerTurn)
		if at, ok := d.c.Next(); !ok || at > d.now || len(d.c.fanouts) == 0 {
			return turns
		}
	}
}

func sum(told map[*actor.Lock]int) (all int) {
	for _, n := range told {
		all += n
	}
	return all
}

// However many wait to read one name, a message or a confirmation reaches a bounded number of them per turn. In the end
// it reaches all.
func TestFanout_ManyReaders_TurnBounded(t *testing.T) {
	const readers = 3*maxLocksPerTurn + 1
	for _, kind := range []actor.Event{actor.Subscribed, actor.Notified} {
		d, told := newReadersHarness(t, readers, kind)
		d.confirms()
		if kind == actor.Notified {
			d.slices(told)
			require.Empty(t, told)
			d.publishes()
		}
		require.Equal(t, 4, d.slices(told))
		require.Len(t, told, readers)
		require.Equal(t, readers, sum(told))
	}
}

// All messages that arrive during a delivery make one more round, which reaches all waiters.
func TestFanout_MessagesMeanwhile_OneRound(t *testing.T) {
	const readers = 2*maxLocksPerTurn + 1
	d, told := newReadersHarness(t, readers, actor.Notified)
	d.confirms()
	d.slices(told)
	d.publishes()
	d.turn()
	for range 5 {
		d.publishes()
	}
	d.slices(told)
	require.Len(t, told, readers)
	for _, times := range told {
		require.Equal(t, 2, times)
	}
}

// Messages that come together make one round, and each that comes after it another one.
func TestFanout_MessagesTogether_OneRound(t *testing.T) {
	const readers = maxLocksPerTurn
	d, told := newReadersHarness(t, readers, actor.Notified)
	d.confirms()
	d.slices(told)
	d.c.intake.laneBudget = MaxMessagesPerTurn
	for round := range 3 {
		for range 5 {
			d.publishes()
		}
		d.slices(told)
		require.Equal(t, (round+1)*readers, sum(told))
	}
}

// A turn handles at most one message for very many waiters: the next message waits for the next turn.
func TestFanout_OneMessagePerTurn(t *testing.T) {
	const readers = maxLocksPerTurn
	d, told := newReadersHarness(t, readers, actor.Notified)
	d.confirms()
	d.slices(told)
	d.c.intake.laneBudget = MaxMessagesPerTurn
	d.ask("lock", "other")
	d.turn()
	require.Contains(t, d.line("50ms "+fmt.Sprint(d.batches)+" taken"), "join {other}")
	d.publishes()
	d.queueMessage(&LoopMessage{Value: ChannelMessage{Channel: channelNamed("other")}})
	d.turn()
	require.Equal(t, readers, sum(told))
	require.Equal(t, 1, d.c.MessagesLeft())
	d.turn()
	require.Zero(t, d.c.MessagesLeft())
}

// A waiter that left before its turn is not notified. No waiter is told of a subscription that broke meanwhile.
func TestFanout_WaiterLeft_NotNotified(t *testing.T) {
	const readers = 3 * maxLocksPerTurn
	d, told := newReadersHarness(t, readers, actor.Subscribed)
	d.confirms()
	d.turn()
	require.Len(t, told, maxLocksPerTurn)
	next := d.c.fanouts[0].Left[0]
	d.c.Fallback.Subscriptions.removeListener(next, d.channel().name)
	d.queueMessage(&LoopMessage{Value: d.connsOf(d.c.Fallback).breakAll(nil)})
	d.turn() // it handles the break after it has notified some more
	require.Len(t, told, 2*maxLocksPerTurn-1)
	d.slices(told)
	require.Len(t, told, 2*maxLocksPerTurn-1)
	require.NotContains(t, told, next)
	require.Empty(t, d.c.fanouts)
}

// When a writer of their engine leaves, all readers that let it go first are notified, some per turn.
func TestFanout_WriterLeaves_ReadersInSlices(t *testing.T) {
	const readers = 2*maxLocksPerTurn + 1
	d := newHarness(t, 8)
	require.Equal(t, "1: write k", d.line("0s write k/w"))
	for i := range readers {
		d.ask("read", fmt.Sprint("k/", i))
	}
	d.turn()
	told := make(map[*actor.Lock]int)
	d.c.Fx.OnStep = func(s actor.StepTrace) {
		if s.Event == actor.WriterGone {
			told[s.Lock]++
		}
	}
	d.ask("cancel", "k/w")
	require.Equal(t, 3, d.slices(told))
	require.Len(t, told, readers)
}

// BenchmarkFanout_ManyReaders measures the longest turn while a message reaches all waiting readers of one name.
func BenchmarkFanout_ManyReaders(b *testing.B) {
	for _, readers := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(readers), func(b *testing.B) {
			d, _ := newReadersHarness(b, readers, actor.Notified)
			d.c.Fx.OnStep = nil
			d.confirms()
			longest := time.Duration(0)
			turns := func() {
				for {
					began := time.Now()
					d.turn()
					longest = max(longest, time.Since(began))
					if len(d.c.fanouts) == 0 {
						return
					}
				}
			}
			turns()
			longest = 0
			for b.Loop() {
				d.publishes()
				turns()
			}
			b.ReportMetric(float64(longest)/1e6, "ms/longest-turn")
		})
	}
}

// However many wait to read one name while its channel cannot be subscribed, a turn notifies at most a fixed number of
// them.
func TestFanout_SubscribeFailed_TurnBounded(t *testing.T) {
	const readers = 3*maxLocksPerTurn + 1
	d, told := newReadersHarness(t, readers, actor.SubscribeFailed)
	d.order = nil
	d.queueMessage(&LoopMessage{Value: d.connsOf(d.c.Fallback).orderResult(nil, errors.New("NOPERM"))})
	require.Equal(t, 4, d.slices(told))
	require.Len(t, told, readers)
	require.Equal(t, readers, d.c.Fx.PolledLocks)
}

// A failed subscription is no longer reported to the remaining waiters once the channel is subscribed again.
func TestFanout_Resubscribed_FailureObsolete(t *testing.T) {
	const readers = 3 * maxLocksPerTurn
	d, told := newReadersHarness(t, readers, actor.SubscribeFailed)
	d.order = nil
	on := d.connsOf(d.c.Fallback).to
	d.queueMessage(&LoopMessage{Value: d.connsOf(d.c.Fallback).orderResult(nil, errors.New("NOPERM"))})
	d.turn()
	require.Len(t, told, maxLocksPerTurn)
	d.queueMessage(&LoopMessage{Value: ChannelSubscribed{Channel: d.channel().name, Conn: max(on, 1) + 1}})
	d.slices(told)
	require.Len(t, told, 2*maxLocksPerTurn, "in the turn that takes it in, some were told before")
	require.Zero(t, d.c.Fx.PolledLocks)
}

// A grant has too few replicas, and its kind has one lock per request. Then a turn notifies a bounded number of the
// waiters. A later request is not notified, and acquires, unless another grant after it has too few replicas as well.
func TestFanout_TooFewReplicas_TurnBounded(t *testing.T) {
	for _, again := range []time.Duration{0, -time.Microsecond, time.Microsecond} { // when that is, from the later request on
		const n = 3*maxLocksPerTurn + 1
		k := newWaitersHarness(t, granted)
		k.c.Fx.Config.Replicas = 1
		k.c.intake.laneBudget = n
		all, messages := make([]*actor.Request, n), make([]*LoopMessage, n)
		for i := range all {
			all[i] = wants(actor.Fair, 0, false)
			messages[i] = &LoopMessage{Value: all[i]}
		}
		k.tellingTurn(messages...)
		b := k.c.Fallback.bundles[0]
		b.Sent, b.Replies = k.now, b.Replies[:0]
		for range b.Commands {
			b.Replies = append(b.Replies, k.takenReply("another:1"))
		}
		b.Replies[0] = actor.Reply{Status: actor.OK, Listeners: -1}
		told := k.tellingTurn(&b.Msg)
		require.LessOrEqual(t, len(told), maxLocksPerTurn)
		k.now += time.Millisecond
		late := wants(actor.Fair, 0, false)
		told = append(told, k.tellingTurn(&LoopMessage{Value: late})...)
		if again != 0 {
			k.c.Fx.RolledBack = errors.New("again")
			k.c.onUnreplicated(k.now+again, all[0].Lock())
			require.Len(t, k.c.fanouts, 1)
		}
		for len(k.c.fanouts) > 0 {
			require.True(t, k.wantsATurn())
			some := k.tellingTurn()
			require.LessOrEqual(t, len(some), maxLocksPerTurn+1)
			told = append(told, some...)
		}
		for _, r := range all[1:] {
			require.Equal(t, actor.ErrNotReplicated, r.Err)
		}
		require.Equal(t, again > 0, late.Completed())
		if again > 0 {
			require.Equal(t, actor.ErrNotReplicated, late.Err)
			require.EqualError(t, late.Cause, "again")
			told = told[1:]
		}
		require.Len(t, told, n-1, "all but the one with the grant that is to be released")
	}
}

// Writers of many names leave in one turn. It steps as many readers as for one name, and the next turns the others.
func TestFanout_ManyNames_TurnBounded(t *testing.T) {
	const names, readers = 30, 200
	d := newHarness(t, 8)
	for name := range names {
		d.ask("write", fmt.Sprintf("k%d/w", name))
		for i := range readers {
			d.ask("read", fmt.Sprintf("k%d/%d", name, i))
		}
	}
	for d.turn(); d.c.HasMessages(); d.turn() {
	}
	told := make(map[*actor.Lock]int)
	d.c.Fx.OnStep = func(s actor.StepTrace) {
		if s.Event == actor.WriterGone {
			told[s.Lock]++
		}
	}
	for name := range names {
		d.ask("cancel", fmt.Sprintf("k%d/w", name))
	}
	for turns := 0; len(told) < names*readers; turns++ {
		before := sum(told)
		d.turn()
		require.Less(t, turns, 2*names)
		require.LessOrEqual(t, sum(told)-before, maxLocksPerTurn+names*smallFanout)
	}
	require.Equal(t, names*readers, sum(told))
	require.Empty(t, d.c.fanouts)
	require.Empty(t, d.c.fanoutOf)
}

// A delivery to very many locks does not delay one to a few: they take turns.
func TestFanout_LongOne_OthersNotDelayed(t *testing.T) {
	const many, few = 20 * maxLocksPerTurn, 20
	d := newHarness(t, 8)
	for name, readers := range map[string]int{"long": many, "short": few} {
		d.ask("write", name+"/w")
		d.posts("read", name+"/", readers)
	}
	for d.turn(); d.c.HasMessages(); d.turn() {
	}
	told := make(map[string]int)
	d.c.Fx.OnStep = func(s actor.StepTrace) {
		if s.Event == actor.WriterGone {
			told[s.Lock.Key()]++
		}
	}
	d.ask("cancel", "long/w")
	d.turn()
	d.ask("cancel", "short/w")
	for range 3 {
		d.turn()
	}
	require.Equal(t, few, told["short"])
	require.Less(t, told["long"], many/2)
}
