package coordinator

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// backgroundSenders is how many of eight senders may carry background commands.
const backgroundSenders = 3

// has reports whether a command for a name is in flight.
func (d *coordinatorHarness) has(name string) bool {
	for _, b := range d.inFlight {
		for i := range b.Commands {
			if b.Commands[i].Key == name {
				return true
			}
		}
	}
	return false
}

// fullBackground returns a harness in which background commands of one kind wait: as many as may are in flight.
func fullBackground(t *testing.T, kind string) *coordinatorHarness {
	const flood = 20 * BatchKeys
	d := newHarness(t, 8)
	switch kind {
	case "attempts without a blocked caller":
		d.posts("async", "k", flood)
	case "repeated attempts":
		d.posts("lock", "k", flood)
		d.opens("taken")
		d.now += 20*time.Second + 2*time.Millisecond
	case "releases without a blocked caller":
		d.posts("lock", "k", flood)
		d.opens("done")
		for i := range flood {
			d.ask("unlock", fmt.Sprint("k", i))
			d.callers[fmt.Sprint("k", i)].latest.Async = true
		}
	case "releases that no caller waits for":
		d.posts("lock", "k", flood)
		d.turn()
		for rounds, granted := 0, 0; granted < flood; rounds++ {
			require.Less(t, rounds, 100, "these releases keep acquires from being sent")
			for number, b := range d.inFlight {
				if b.Verb != actor.SendAcquire {
					continue
				}
				for i := range b.Commands {
					d.ask("cancel", b.Commands[i].Key)
				}
				d.turn()
				granted += len(b.Commands)
				d.deliverBatch([]string{fmt.Sprint(number), "done"})
				d.turn()
			}
		}
	}
	for range flood/maxTimersPerTurn + 1 {
		d.turn()
	}
	return d
}

var backgroundKinds = []string{"attempts without a blocked caller", "repeated attempts", "releases without a blocked caller", "releases that no caller waits for"}

// However many commands wait for which no caller blocks, or which are repeated, few senders carry them. A caller that
// blocks is next, and what it sends goes alone while those senders are busy.
func TestBackground_Flood_BlockedCallerNext(t *testing.T) {
	for _, kind := range backgroundKinds {
		d := fullBackground(t, kind)
		require.Len(t, d.inFlight, backgroundSenders, kind)
		d.ask("lock", "free")
		d.turn()
		require.True(t, d.has("free"), kind)
		require.Len(t, d.inFlight, backgroundSenders+1, kind)
		require.Len(t, d.inFlight[d.batches].Commands, 1, kind)
		d.deliverBatch([]string{fmt.Sprint(d.batches), "done"})
		d.ask("unlock", "free")
		d.turn()
		require.True(t, d.has("free"), kind)
		require.Len(t, d.inFlight[d.batches].Commands, 1, kind)
	}
}

// Senders that come back carry background commands again: all of them are sent in the end, failed batches included.
func TestBackground_SendersBack_CarryOn(t *testing.T) {
	for _, kind := range backgroundKinds {
		for _, failure := range []error{nil, errors.New("ERR busy"), errors.New("LOADING")} {
			d := fullBackground(t, kind)
			for rounds := 0; d.c.Fallback.Backlog(); rounds++ {
				require.Less(t, rounds, 200, "%s, %v", kind, failure)
				require.LessOrEqual(t, d.c.Fallback.inFlightBackground, backgroundSenders, kind)
				for number, b := range d.inFlight {
					if failure != nil && rounds == 0 {
						delete(d.inFlight, number)
						b.Failed = failure
						d.queueMessage(&b.Msg)
					} else {
						d.deliverBatch([]string{fmt.Sprint(number), "done"})
					}
				}
				d.turn()
				d.now += time.Millisecond
			}
			for number := range d.inFlight {
				d.deliverBatch([]string{fmt.Sprint(number), "done"})
			}
			d.turn()
			require.Zero(t, d.c.Fallback.inFlightBackground, "%s, %v", kind, failure)
		}
	}
}

// A stream of calls of callers that block does not keep back those of others: batches of all leave them a part, and no
// more than that.
func TestBackground_BlockedStream_GetsShare(t *testing.T) {
	for _, kind := range backgroundKinds[:2] {
		d := fullBackground(t, kind)
		sent := 0
		for round := range 10 {
			for number, b := range d.inFlight {
				background := 0
				for i := range b.Commands {
					if b.Commands[i].Async || b.Commands[i].Retry {
						background++
					}
				}
				if sent += background; round > 0 {
					require.LessOrEqual(t, background, BatchKeys/backgroundShare, kind)
				}
				d.deliverBatch([]string{fmt.Sprint(number), "taken"})
			}
			d.posts("lock", fmt.Sprint("s", round, "-"), 8*BatchKeys)
			d.turn()
		}
		require.GreaterOrEqual(t, sent, 9*backgroundSenders*BatchKeys/backgroundShare, kind)
	}
}

// An UnlockAsync in a flood of them leaves next if a caller blocks for the lock, also one that came before it.
func TestBackground_UnlockAsyncAwaited_LeavesNext(t *testing.T) {
	const flood = 20 * BatchKeys
	for _, waits := range []string{"n/2", "n+x"} {
		d := newHarness(t, 8)
		d.now, d.c.Fx.Config.MaxHandoffGrants = time.Millisecond, -1
		d.ask("lock", "n")
		d.posts("lock", "k", flood)
		d.opens("done")
		d.ask("lock", waits)
		d.turn()
		for i := range flood {
			d.unlockAsync(fmt.Sprint("k", i))
		}
		d.unlockAsync("n")
		for range flood/MaxMessagesPerTurn + 1 {
			d.turn()
		}
		require.True(t, d.has("n"), waits)
	}
}

// The release of what a caller of several locks was granted and gave up waits with those for which no caller blocks,
// as that of one lock does.
func TestBackground_MultiGivenUp_NotAwaited(t *testing.T) {
	for _, who := range []string{"a", "a+b"} {
		d := newHarness(t, 1)
		d.ask("lock", who)
		d.turn()
		d.deliverBatch([]string{"1", "done"})
		d.turn()
		d.ask("cancel", who)
		d.turn()
		releases := d.inFlight[2]
		require.Equal(t, actor.SendRelease, releases.Verb, who)
		for i := range releases.Commands {
			require.True(t, releases.Commands[i].Async, who)
		}
	}
}

// A fair lock keeps its callers in the order in which they came, whether they block or not.
func TestBackground_FairCallers_InOrder(t *testing.T) {
	d := newHarness(t, 1)
	d.now = time.Millisecond
	d.ask("lock", "fair:k/1")
	d.callers["fair:k/1"].latest.Async = true
	d.ask("lock", "fair:k/2")
	require.Equal(t, "1: acquire fair k k", d.turn())
	require.Same(t, d.callers["fair:k/1"].latest, d.inFlight[1].Commands[0].Lock.FirstWaiting(0))
}

// A caller that blocks does not wait behind a flood for the command of its own name, when that is in the flood: the
// command leaves next, and once.
func TestBackground_OwnNameInFlood_LeavesNext(t *testing.T) {
	last := fmt.Sprint("k", 20*BatchKeys-1)
	for _, kind := range backgroundKinds {
		for _, what := range []string{"lock", "try", "force"} {
			if kind == backgroundKinds[1] && what == "lock" {
				continue // it waits with those that have waited for the same holder
			}
			d := fullBackground(t, kind)
			require.False(t, d.has(last), kind)
			d.ask(what, last+"/blocked")
			d.ask(what, last+"/second")
			d.turn()
			require.True(t, d.has(last), "%s, %s", kind, what)
			sent := 0
			for rounds := 0; d.c.Fallback.Backlog() || len(d.inFlight) > 0; rounds++ {
				require.Less(t, rounds, 400, "%s, %s", kind, what)
				for number, b := range d.inFlight {
					for i := range b.Commands {
						if b.Commands[i].Key == last && b.Verb == actor.SendRelease {
							sent++
						}
					}
					d.deliverBatch([]string{fmt.Sprint(number), "done"})
				}
				d.turn()
			}
			if kind == backgroundKinds[2] && what == "force" {
				require.Equal(t, 1, sent, "%s, %s", kind, what)
			}
			for verb := range d.c.Fallback.Queues {
				require.Zero(t, d.c.Fallback.Queues[verb].Stale, "%s, %s", kind, what)
			}
		}
	}
}
