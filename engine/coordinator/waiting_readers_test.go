package coordinator

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// newQuietHarness returns a harness with that many waiting readers of one name. Their channel is subscribed.
func newQuietHarness(t testing.TB, readers int) *coordinatorHarness {
	d := newHarness(t, 8)
	d.c.Senders = 3 * (2*readers/BatchKeys + 1) // one for each batch, though only some carry repeated attempts
	for i := range readers {
		d.ask("read", fmt.Sprint("k/", i))
	}
	d.turn()
	require.Equal(t, readers, d.refuseAll())
	d.turn()
	d.confirms()
	d.settle(d.refuseAll)
	d.turns(2)
	require.Equal(t, maxListeningReaders, d.channel().listeners.len())
	return d
}

// turns runs that many turns, at the present time.
func (d *coordinatorHarness) turns(n int) {
	for range n {
		d.turn()
	}
}

// settle runs turns and answers, until no command is in flight and no delivery goes on. It returns the number of
// commands.
func (d *coordinatorHarness) settle(answer func() int) (commands int) {
	for range 1000 {
		d.turn()
		n := answer()
		if commands += n; n == 0 && len(d.c.fanouts) == 0 && d.c.MessagesLeft() == 0 {
			return commands
		}
	}
	require.FailNow(d.t, "it does not settle")
	return commands
}

// grantAll answers all commands that are in flight: the lock is free, or no longer held.
func (d *coordinatorHarness) grantAll() int {
	return d.replyToAll(func(*actor.Command) actor.Reply { return actor.Reply{Status: actor.OK} })
}

func (d *coordinatorHarness) granted() (n int) {
	for _, l := range d.c.LockSets["k"].All() {
		if l.HasOwner() {
			n++
		}
	}
	return n
}

// However many readers of a name wait, a message makes a bounded number of them try again while they are refused. The
// number of commands is the same for ten times as many.
func TestWaitingReaders_MessageRefused_CommandsBounded(t *testing.T) {
	for _, readers := range []int{500, 5000} {
		d := newQuietHarness(t, readers)
		for range 3 {
			d.publishes()
			require.Equal(t, maxListeningReaders, d.settle(d.refuseAll), readers)
		}
	}
}

// The grant to those that a message made try wakes all others: all are granted within one more round trip.
func TestWaitingReaders_OneGranted_AllGranted(t *testing.T) {
	const readers = 3000
	d := newQuietHarness(t, readers)
	d.publishes()
	d.turn()
	require.Equal(t, maxListeningReaders, d.grantAll())
	d.turns(2 + readers/maxLocksPerTurn)
	require.Equal(t, readers-maxListeningReaders, d.grantAll())
	d.turn()
	require.Equal(t, readers, d.granted())
}

// The lock becomes free without a message, and a reader that comes then is granted. It wakes all that wait, also those
// that listen in vain, however few they are.
func TestWaitingReaders_OtherGranted_AllWoken(t *testing.T) {
	for _, readers := range []int{maxListeningReaders, 3 * maxListeningReaders} {
		d := newQuietHarness(t, readers)
		d.ask("read", "k/new")
		d.turn()
		require.Equal(t, 1, d.grantAll())
		d.settle(d.grantAll)
		require.Equal(t, readers+1, d.granted())
	}
}

// While the quiet readers are being woken, a reader is refused: another holder writes again. Those that have not tried
// yet do not, and the next message is heard.
func TestWaitingReaders_RefusedWhileWoken_OthersStayQuiet(t *testing.T) {
	const readers = 5 * maxLocksPerTurn
	d := newQuietHarness(t, readers)
	d.publishes()
	d.turn()
	require.Equal(t, maxListeningReaders, d.grantAll())
	d.turn() // wakes some
	require.Less(t, d.settle(d.refuseAll), 4*maxLocksPerTurn)
	before := d.granted()
	require.Less(t, before, readers/2)
	require.Equal(t, maxListeningReaders, d.channel().listeners.len()-before)
	d.publishes()
	d.settle(d.grantAll)
	require.Equal(t, readers, d.granted())
}

// Readers that listen leave, before the answer to what a message made them try. Others take their places, and try
// too: the message is not lost.
func TestWaitingReaders_ListeningLeave_OthersTakeTheirPlaces(t *testing.T) {
	const readers = 500
	d := newQuietHarness(t, readers)
	listening := d.channel().listeners.all()
	d.publishes()
	d.turn()
	require.Len(t, listening, maxListeningReaders)
	for r := range d.names {
		if slices.Contains(listening, r.Lock()) {
			d.queueMessage(&LoopMessage{Value: CancelRequest{Request: r, Cause: errors.New("canceled")}})
		}
	}
	tried := make(map[*actor.Lock]bool)
	d.settle(func() int {
		return d.replyToAll(func(c *actor.Command) actor.Reply {
			tried[c.Lock] = true
			return actor.Reply{Status: actor.HeldByOther, TTL: 20 * time.Second, Writer: "x:1"}
		})
	})
	for _, l := range listening {
		delete(tried, l)
	}
	require.GreaterOrEqual(t, len(tried), maxListeningReaders)
	w := &d.c.LockSets["k"].waiting
	require.Equal(t, maxListeningReaders, w.listening.len())
	require.Equal(t, readers-2*maxListeningReaders, w.quiet.len())
}
