package coordinator

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// Commands of canceled calls are removed at once, with their locks, their timers and their memory, whatever the
// senders do.
func TestCancel_QueuedCommands_FreedAtOnce(t *testing.T) {
	const calls = 10_000
	for phase, begin := range map[string]func(d *coordinatorHarness){
		"while the senders are out": func(*coordinatorHarness) {},
		"while the link is down":    func(d *coordinatorHarness) { d.line("2ms 1 lost EOF") },
		"behind a release that is tried again and again": func(d *coordinatorHarness) {
			d.line("2ms 1 lost EOF; cancel under/way")
			require.Equal(t, "2: release under", d.line("12ms timer"))
			d.line("13ms 2 lost EOF")
		},
	} {
		for _, kind := range []string{"", "fenced:", "fair:"} {
			t.Run(phase+" "+kind, func(t *testing.T) {
				d := newHarness(t, 1)
				require.Equal(t, "1: acquire under", d.line("1ms lock under/way"))
				begin(d)
				for i := range calls {
					d.ask("lock", fmt.Sprint(kind, "k", i))
				}
				d.turn()
				require.Equal(t, calls+1, d.c.Locks.Len()+len(d.c.LockSets))
				for i := range calls {
					d.ask("cancel", fmt.Sprint(kind, "k", (i*7)%calls)) // in another order
				}
				for d.turn(); d.c.activeSweeps > 0; d.turn() {
					due, ok := d.c.Next()
					require.True(t, ok)
					require.LessOrEqual(t, due, d.now, "in the turns that follow at once")
				}
				waiting, room := 0, 0
				for verb := range d.c.Fallback.Queues {
					waiting += d.c.Fallback.Queues[verb].Len()
					room += d.c.Fallback.Queues[verb].pieces()
				}
				require.LessOrEqual(t, waiting, 2)
				require.LessOrEqual(t, room, maxKeptPieces+int(actor.Verbs))
				require.Equal(t, 1, d.c.Locks.Len()+len(d.c.LockSets), "that which is under way")
				require.LessOrEqual(t, d.c.Timers(), 2)
			})
		}
	}
}

// A tenure that may have been granted is released until its lease has expired. Then there is nothing to release any
// more.
func TestOrphan_NoReply_TriedForLease(t *testing.T) {
	d := newHarness(t, 1)
	d.line("1ms lock a")
	d.line("2ms 1 lost EOF; cancel a")
	for tries := 0; ; tries++ {
		require.Less(t, tries, 1000)
		due, ok := d.c.Next()
		if !ok {
			break
		}
		d.now = max(d.now, due)
		d.turn()
		for number := range d.inFlight {
			d.deliverBatch([]string{fmt.Sprint(number), "lost", "EOF"})
		}
		d.turn()
	}
	require.Greater(t, d.now, harnessConfig().Lease)
	require.Less(t, d.now, harnessConfig().Lease+harnessConfig().CallTimeout)
	d.requireIdle()
}

// A reader beside its writer has the writer's number, as the next one has. A recalled command must not be taken for the
// next one's.
func TestLock_CommandQueued_NotReused(t *testing.T) {
	d := newHarness(t, 1)
	d.line("1ms lock under/way")
	d.line("2ms lock a b c")
	d.line("3ms cancel a")
	require.Equal(t, 1, d.c.Fallback.Queues[actor.SendAcquire].Stale)
	require.Empty(t, d.c.freeLocks)
	require.Equal(t, "2: acquire b c; under/way granted", d.line("4ms 1 done"))
	require.Zero(t, d.c.Fallback.Queues[actor.SendAcquire].Stale)
}
