package coordinator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// busyModel has the round trips without busy-waiting and with it.
type busyModel struct{ without, with time.Duration }

// run lets round trips pass and returns how many of them were busy-waited for.
func (m busyModel) run(t *busyTrials, trips int) (busy int) {
	for range trips {
		on, took := t.on(), m.without
		if on {
			busy, took = busy+1, m.with
		}
		t.note(on, took)
	}
	return busy
}

// Senders busy-wait where that makes round trips shorter by more than an eighth, and nowhere else. Trials of the
// other way are few.
func TestBusyTrials_ShorterRoundTrips_Decide(t *testing.T) {
	const trips = 100_000
	for _, c := range []struct {
		model busyModel
		busy  bool
	}{
		{busyModel{100, 50}, true},
		{busyModel{1000, 874}, true},
		{busyModel{1000, 875}, false},
		{busyModel{100, 100}, false},
		{busyModel{100, 130}, false},
	} {
		var trials busyTrials
		c.model.run(&trials, 2*maxTrialPause)
		busy := c.model.run(&trials, trips)
		other := trips - busy
		if !c.busy {
			other = busy
		}
		require.Less(t, other, trips/200, c)
		require.Positive(t, other, "the other way is tried again and again")
	}
}

// A change of the load changes the outcome, within two of the longest pauses between trials.
func TestBusyTrials_LoadChanges_OutcomeFollows(t *testing.T) {
	near, crowded := busyModel{100, 50}, busyModel{70, 100}
	var trials busyTrials
	require.True(t, trials.on(), "it begins so")
	for range 5 {
		near.run(&trials, 4*maxTrialPause)
		require.Greater(t, near.run(&trials, maxTrialPause), maxTrialPause/2)
		crowded.run(&trials, 2*maxTrialPause)
		require.Less(t, crowded.run(&trials, maxTrialPause), maxTrialPause/2)
	}
}

// Few round trips that take very long, as some always do, decide nothing. Nor do the first ones after a change, or
// those of batches that left before it.
func TestBusyTrials_Outliers_DecideNothing(t *testing.T) {
	var trials busyTrials
	busy := 0
	for i := range 100_000 {
		on, took := trials.on(), time.Duration(100)
		if on {
			busy, took = busy+1, 50
		}
		if i%5 == 0 || trials.noted < trialTrips-busySample {
			took = time.Second
		}
		for range 3 {
			trials.note(!on, 1)
		}
		trials.note(on, took)
	}
	require.Greater(t, busy, 95_000)
}

// The coordinator notes each round trip, and says for how many commands to busy-wait.
func TestBusyWaitFor_RoundTrips_Noted(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms lock a")
	require.Equal(t, 1, d.c.BusyWaitFor())
	d.line("2ms 1 done")
	require.Equal(t, time.Millisecond, d.c.busy.recent[index(true)][0])
	require.Zero(t, d.c.BusyWaitFor())
	d.c.busy.off = true
	d.line("3ms lock b")
	require.Zero(t, d.c.BusyWaitFor())
	require.Equal(t, 1, d.c.InFlightCommands())
	d.line("5ms 2 done")
	require.Equal(t, 2*time.Millisecond, d.c.busy.recent[index(false)][1])
}
