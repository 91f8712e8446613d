package coordinator

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// However many channels there are when the master is replaced, a turn moves a bounded number of them. In the end all
// listen to the new master. Those that leave meanwhile leave nothing behind at the old one.
func TestMasterChanged_ManyChannels_MovedInSlices(t *testing.T) {
	const waiters, unsubscribeDelay = 5*maxLocksPerTurn + 1, 250 * time.Millisecond
	d := newHarness(t, 8)
	d.c.Senders = waiters/BatchKeys + 1
	for i := range waiters {
		d.ask("lock", fmt.Sprint("k", i))
	}
	for d.c.HasMessages() || len(d.messages) > 0 {
		d.turn()
	}
	d.refuseAll()
	old := d.c.Fallback
	old.Subscriptions.tryAt = time.Hour // no order is in flight
	d.turn()
	require.Len(t, old.Subscriptions.Channels, waiters)
	d.queueMessage(&LoopMessage{Value: MasterChanged{"next:1"}})
	d.turn()
	require.NotSame(t, old, d.c.Fallback)
	require.Equal(t, waiters-maxLocksPerTurn, len(old.Subscriptions.all))
	for r := range d.names { // they leave before the others have moved
		if len(r.Key)%2 == 0 {
			d.queueMessage(&LoopMessage{Value: CancelRequest{Request: r, Cause: errors.New("canceled")}})
		}
	}
	d.turn()
	d.now += 2 * unsubscribeDelay // so that their locks no longer listen
	turns := 1
	for ; d.c.movesSubscriptions; turns++ {
		before := len(old.Subscriptions.all)
		d.turn()
		require.LessOrEqual(t, before-len(old.Subscriptions.all), maxLocksPerTurn+MaxMessagesPerTurn)
		at, due := d.c.Next()
		require.True(t, !d.c.movesSubscriptions || due && at <= d.now)
	}
	require.LessOrEqual(t, turns, waiters/maxLocksPerTurn+1)
	require.Empty(t, old.Subscriptions.Channels)
	waiting := 0
	for r := range d.names {
		if !r.Completed() {
			waiting++
			require.Len(t, d.c.Fallback.Subscriptions.listeners(r.Lock().Channel()), 1, r.Key)
		}
	}
	require.Positive(t, waiting)
	require.Less(t, waiting, waiters)
	for _, ch := range d.c.Fallback.Subscriptions.all {
		for _, l := range ch.listeners.all() {
			require.NotEmpty(t, l.Key(), "a lock that has finished listens")
		}
	}
}

// A lock may stop listening in the step in which its command is given up because its master was replaced. It is then no
// listener at the new master.
func TestMasterChanged_ListenerLeaves_NotMoved(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms lock a")
	d.line("2ms 1 taken")
	d.confirms()
	require.Equal(t, "2: acquire a", d.turn())
	d.done()
	require.Equal(t, "a granted", d.turn())
	d.publishes()
	require.Equal(t, "3: renew a", d.turn())
	d.now += 2 * time.Second // by then it stops listening
	d.queueMessage(&LoopMessage{Value: MasterChanged{"next:1"}})
	for range 5 {
		d.turn()
	}
	require.Empty(t, d.c.Fallback.Subscriptions.Channels)
	require.False(t, d.c.movesSubscriptions)
}
