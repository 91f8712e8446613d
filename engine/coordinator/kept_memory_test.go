package coordinator

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// A batch that waits for its next use keeps no lock, request or node of its last one alive.
func TestFreeBatch_LastUse_NothingKept(t *testing.T) {
	d := newHarness(t, 8)
	d.holds(3 * BatchKeys)
	for i := range 3 * BatchKeys {
		d.ask("unlock", fmt.Sprintf("k%04d", i))
	}
	for d.turn(); len(d.inFlight) > 0; d.turn() {
		d.done()
	}
	require.NotEmpty(t, d.c.freeBatches)
	for _, b := range d.c.freeBatches {
		require.Nil(t, b.Node)
		for _, command := range b.Commands[:cap(b.Commands)] {
			require.Zero(t, command)
		}
	}
}

// However many batches were in flight together, a bounded number is kept.
func TestFreeBatch_VeryMany_FewKept(t *testing.T) {
	c := New(harnessConfig(), 1)
	for range 2 * spareBatches {
		c.freeBatch(NewBatch())
	}
	require.Len(t, c.freeBatches, spareBatches)
}

// The maps of very many names are not kept once all have ended, as a map never becomes smaller.
func TestMaps_VeryManyNames_MemoryNotKept(t *testing.T) {
	for names, kept := range map[int]bool{maxKeptNames: true, maxKeptNames + 1: false} {
		c := New(harnessConfig(), 1)
		byHash, sets := reflect.ValueOf(c.Locks.byHash).Pointer(), reflect.ValueOf(c.LockSets).Pointer()
		var all []*actor.Lock
		for i := range names {
			key := fmt.Sprint(i)
			l := actor.NewLock(key, actor.Plain)
			c.Locks.add(l)
			all = append(all, l, c.addLock(&actor.Request{Key: key, Kind: actor.Read}))
		}
		for _, l := range all {
			c.removeLock(l)
		}
		require.False(t, c.hasLocks())
		require.Equal(t, kept, byHash == reflect.ValueOf(c.Locks.byHash).Pointer(), names)
		require.Equal(t, kept, sets == reflect.ValueOf(c.LockSets).Pointer(), names)
	}
}

// Any client can publish on the channel of a lock, as often as it likes. Of the messages that have not been handled,
// two for each channel with listeners are kept.
func TestChannelMessages_Flood_FewKept(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms lock a b")
	d.line("2ms 1 taken")
	d.line("3ms ordered; subscribed a b")
	for _, name := range []string{"a", "b", "unknown"} {
		for range 3 * MaxMessagesPerTurn {
			d.queueMessage(&LoopMessage{Value: ChannelMessage{Channel: channelNamed(name)}})
		}
	}
	var first *LoopMessage
	for _, m := range d.messages {
		m.Next, first = first, m
	}
	d.c.classify(d.now, first)
	require.Equal(t, 2*maxNotedMessages, d.c.MessagesLeft())
	d.messages = nil
	d.turn()
	d.queueMessage(&LoopMessage{Value: ChannelMessage{Channel: channelNamed("a")}})
	d.c.classify(d.now, d.messages[0])
	require.Equal(t, 1, d.c.MessagesLeft(), "the next one counts")
}
