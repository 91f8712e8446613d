package coordinator

import (
	"slices"
	"time"
)

const (
	// trialTrips and trialTime are how many round trips are compared of each way at least, and for how long. Linux gives
	// a processor to a thread that has slept before one that has computed, for some milliseconds. So a shorter trial after
	// busy-waiting would find sleeping too slow, and one after sleeping would find busy-waiting too fast.
	trialTrips = 64
	trialTime  = 20 * time.Millisecond
	// minPause and maxPause are how much longer than a trial the time to the next one is: the former after a trial that
	// changed something, the latter after several that did not. So trials of what is worse take less than one percent of
	// the time, and do not show in p99.
	minPause = 2
	maxPause = 128
	// busyGain divides a round trip: busy-waiting must make it shorter by that part, because it takes processor time, and
	// because two medians of so few differ by some percent where both ways are alike.
	busyGain = 8
)

// busyTrials decides whether connections busy-wait for replies, see Options.BusyWait. They do where that makes round
// trips shorter, and that is tried: it depends on how far away the server is, on how many commands are in flight, on
// what else the process does, and on what other processes do. The zero value begins with busy-waiting. Owned by the
// coordinator.
type busyTrials struct {
	off    bool          // batches that leave now are not busy-waited for
	phase  busyPhase     // what is done so
	began  time.Duration // when the phase began
	noted  int           // round trips of the phase
	trips  [2]busyTrips  // of the last phases that compare: without busy-waiting and with it
	tried  time.Duration // when the other way began
	trial  time.Duration // how long the last trial took
	factor time.Duration // of trial: how long to pause
}

// busyPhase is a part of the time between two decisions. Each begins when the one before has ended.
type busyPhase int

const (
	busyCompare busyPhase = iota // of the way that is preferred
	busySettle                   // the other way begins: threads still sleep, or are awake, as they were before
	busyTry                      // of the other way
	busyPause                    // the way that is preferred, since the decision
)

// on reports whether the replies to batches that leave now are busy-waited for.
func (t *busyTrials) on() bool { return !t.off }

// note notes a round trip that ended now, and whether on was true when its batch left.
func (t *busyTrials) note(now time.Duration, on bool, took time.Duration) {
	if on != t.on() {
		return
	}
	if t.phase == busyCompare || t.phase == busyTry {
		t.trips[index(on)].add(took)
	}
	t.noted++
	lasted := now - t.began
	switch {
	case t.phase == busyPause && lasted < t.factor*t.trial, t.noted < trialTrips, lasted < trialTime:
		return
	case t.phase == busyCompare:
		t.off, t.tried = !t.off, now
	case t.phase == busyTry:
		t.decide(now)
	}
	t.phase, t.began, t.noted = (t.phase+1)%(busyPause+1), now, 0
	if t.phase == busyCompare || t.phase == busyTry {
		t.trips[index(t.on())] = busyTrips{}
	}
}

// decide ends a trial.
func (t *busyTrials) decide(now time.Duration) {
	without, with := t.trips[index(false)].median(), t.trips[index(true)].median()
	tried, better := t.on(), with < without-without/busyGain
	t.factor = min(2*max(t.factor, minPause), maxPause)
	if tried == better {
		t.factor = max(t.factor/4, minPause) // it has changed, and may soon again
	}
	t.off, t.trial = !better, now-t.tried
}

func index(on bool) int {
	if on {
		return 1
	}
	return 0
}

// busyTrips is a sample of round trips: of all of them, or of each second, fourth and so on. The zero value is empty.
type busyTrips struct {
	took   [trialTrips]time.Duration
	n      int
	stride int // one of so many is kept, less one
	skip   int // so many are not, before the next one
}

func (t *busyTrips) add(took time.Duration) {
	if t.skip > 0 {
		t.skip--
		return
	}
	if t.n == len(t.took) {
		for i := range t.n / 2 {
			t.took[i] = t.took[2*i]
		}
		t.n, t.stride = t.n/2, 2*t.stride+1
	}
	t.took[t.n] = took
	t.n++
	t.skip = t.stride
}

// median returns 0 if there is none.
func (t *busyTrips) median() time.Duration {
	if t.n == 0 {
		return 0
	}
	sorted := t.took
	slices.Sort(sorted[:t.n])
	return sorted[t.n/2]
}

// BusyWaitFor returns for how many commands in flight the connections busy-wait: all or none.
func (c *Coordinator) BusyWaitFor() int {
	if !c.busy.on() {
		return 0
	}
	return c.InFlightCommands()
}
