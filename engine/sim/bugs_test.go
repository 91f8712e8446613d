package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/internal/long"
)

// simBug is a mistake planted between the harness and the core, to verify that the checks find it.
type simBug uint8

const (
	bugNone simBug = iota
	bugSentIgnored
	bugWrongTenure
	bugKeepsReleased
	bugTakenUnsaid
	bugGoneUnsaid
	bugLossDenied
	bugSwapped
	bugEndUnsaid
	bugNoDoubt
	bugSlowClock
	bugOversleeps
	bugResubscribedUnsaid
	bugPubSubLossUnsaid
	bugNoMessages
	bugTakesTooMuch
	bugTakesTwice
	bugTimeIsPlace
	bugReadsBeside
	bugFallsTooFar
	bugPartKept
	bugFallsSilently
	bugReadsUphold
	bugQueueStays
	bugGoesEarly
	bugGoesWithTheirs
	simBugCount int = iota
)

// simBugTable lists each mistake with the check that has to find it.
var simBugTable = []struct {
	bug  simBug
	what string
	find string
}{
	{bugSentIgnored, "a lease counts from its answer", "but the server has it"},
	{bugWrongTenure, "a release names another tenure", "but it was not taken away"},
	{bugKeepsReleased, "the server keeps what it says it released", "but the server still has it"},
	{bugTakenUnsaid, "a lock that is taken is granted all the same", "but the server has it"},
	{bugGoneUnsaid, "a renewal of what is gone counts as done", "but the server has it"},
	{bugLossDenied, "a call without an answer passes for refused", "but it was not taken away"},
	{bugSwapped, "answers of one call change places", "but the server has it"},
	{bugEndUnsaid, "some ends are not told", "held and"},
	{bugNoDoubt, "a clock that stood still goes unnoticed", "but the server has it"},
	{bugSlowClock, "clocks differ by more than the margin", "but the server has it"},
	{bugOversleeps, "the loop wakes late", "after it was due"},
	{bugResubscribedUnsaid, "locks are not notified that a channel is listened to", "after its release"},
	{bugPubSubLossUnsaid, "locks are not notified that the pub/sub connection broke", "sleeps"},
	{bugNoMessages, "messages do not come", "sleeps"},
	{bugTakesTooMuch, "who leaves a queue takes more time from those behind than it has left", "less than its wait"},
	{bugTakesTwice, "waiters that share a time each take back what they added once", "no longer than"},
	{bugTimeIsPlace, "a time in a queue counts for a place after its list is lost", "without places"},
	{bugReadsBeside, "a reader is let in beside any writer", "two holders"},
	{bugFallsTooFar, "the TTL falls below what another reader needs", "but the server has it only until"},
	{bugPartKept, "of several locks those are kept that come before one that is taken", "in the server: it has had no holder"},
	{bugFallsSilently, "the TTL falls with a reader who leaves, and waiters are not notified", "sleeps"},
	{bugReadsUphold, "the TTL of a writer that reads never falls", "though its holds need"},
	{bugQueueStays, "a queue stays when the engines of all who stand in it died", "stays for ever"},
	{bugGoesEarly, "a queue lives for as long as its first place, however long others stand in it", "skipped as if it were dead"},
	{bugGoesWithTheirs, "a queue goes with those in it who do not keep it up", "does not keep it up"},
}

// A check that never fails proves nothing: every planted mistake is found by the check that is meant for it.
func TestPlantedBugsAreFound(t *testing.T) {
	if *simSeedFlag != 0 {
		t.Skip("another seed is looked at")
	}
	long.Only(t, "the simulation runs until it has found each of them")
	const seeds, steps = 10_000, 1000
	memory := newSimMemory()
	if len(simBugTable) != simBugCount-1 {
		t.Error("a planted bug is not in the table")
	}
	for _, planted := range simBugTable {
		t.Run(planted.what, func(t *testing.T) {
			found := 0
			for seed := uint64(1); seed <= seeds; seed++ {
				w := newSimWorld(simRun{seed: seed, steps: steps, bug: planted.bug, memory: memory})
				w.run()
				if w.failure != "" {
					found++
				}
				if strings.Contains(w.failure, planted.find) {
					t.Logf("seed %d, step %d (%d of the seeds so far fail): %s", seed, w.steps, found, w.failure)
					return
				}
			}
			t.Errorf("not found in %d seeds", seeds)
		})
	}
}

// tenure returns the tenure of a command as the server reads it.
func (bug simBug) tenure(w *simWorld, c *actor.Command) uint64 {
	if bug == bugWrongTenure && c.Verb == actor.SendRelease && w.chance(0.2) {
		return c.Tenure + 1000
	}
	return c.Tenure
}

// answer changes the replies that a sender brings back.
func (bug simBug) answer(e *simEngine, b *coordinator.Batch) {
	switch bug {
	case bugSentIgnored:
		b.Sent = e.now()
	case bugSwapped:
		if len(b.Replies) > 1 {
			b.Replies[0], b.Replies[1] = b.Replies[1], b.Replies[0]
		}
	}
	for i := range b.Replies {
		if r := &b.Replies[i]; bug == bugTakenUnsaid && r.Status == actor.HeldByOther || bug == bugGoneUnsaid && r.Status == actor.NotFound && b.Verb == actor.SendRenew {
			*r = done()
		}
	}
}

// late returns how much later than planned a loop wakes.
func (bug simBug) late() time.Duration {
	if bug == bugOversleeps {
		return 50 * time.Millisecond
	}
	return 0
}
