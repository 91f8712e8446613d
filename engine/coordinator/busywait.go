package coordinator

import (
	"slices"
	"time"
)

const (
	// trialTrips is how many round trips the other way is tried for, and busySample of how many the last ones are
	// compared. The first ones of a trial do not count: threads still sleep, or are awake, as they were before.
	trialTrips = busySample + 8
	busySample = 24
	// minTrialPause is the least number of round trips from one trial to the next, and maxTrialPause the largest, after
	// several trials that changed nothing. So trials of what is worse take less than half a percent of the round trips,
	// and do not show in p99.
	minTrialPause = 2 * trialTrips
	maxTrialPause = 256 * trialTrips
	// busyGain divides a round trip: busy-waiting must make it shorter by that part, because it takes processor time, and
	// because two medians of so few differ by some percent where both ways are alike.
	busyGain = 8
)

// busyTrials decides whether senders busy-wait for replies, see Options.BusyWait. They do where that makes round trips
// shorter, and that is tried: it depends on how far away the server is, on how many commands are in flight, on what
// else the process does, and on what other processes do. The zero value begins with busy-waiting. Owned by the
// coordinator.
type busyTrials struct {
	off    bool         // batches that leave now are not busy-waited for
	trial  bool         // that is a trial
	noted  int          // round trips of batches that left so, since the last change
	pause  int          // round trips from one trial to the next
	recent [2]busyTrips // without busy-waiting and with it
}

// busyTrips are the last round trips of one way: a ring.
type busyTrips [busySample]time.Duration

func (t *busyTrips) median() time.Duration {
	sorted := *t
	slices.Sort(sorted[:])
	return sorted[busySample/2]
}

// BusyWaitFor returns for how many commands in flight the connections busy-wait: all or none.
func (c *Coordinator) BusyWaitFor() int {
	if !c.busy.on() {
		return 0
	}
	return c.InFlightCommands()
}

// on reports whether the replies to batches that leave now are busy-waited for.
func (t *busyTrials) on() bool { return !t.off }

// note notes the round trip of a batch, and whether on was true when the batch left.
func (t *busyTrials) note(on bool, took time.Duration) {
	if on != t.on() {
		return
	}
	t.recent[index(on)][t.noted%busySample] = took
	t.noted++
	switch {
	case t.trial && t.noted == trialTrips:
		t.decide()
	case !t.trial && t.noted >= max(t.pause, minTrialPause):
		t.off, t.trial, t.noted = !t.off, true, 0
	}
}

// decide ends a trial.
func (t *busyTrials) decide() {
	without, with := t.recent[index(false)].median(), t.recent[index(true)].median()
	tried, better := t.on(), with < without-without/busyGain
	t.pause = min(2*max(t.pause, minTrialPause), maxTrialPause)
	if tried == better {
		t.pause = max(t.pause/4, minTrialPause) // it has changed, and may soon again
	}
	t.off, t.trial, t.noted = !better, false, 0
}

func index(on bool) int {
	if on {
		return 1
	}
	return 0
}
