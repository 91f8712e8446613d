package coordinator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// busyModel is a lone caller: how long its round trips take without busy-waiting and with it.
type busyModel struct {
	without, with time.Duration
	trials        busyTrials
	now           time.Duration
	trips         int
	outliers      bool // each fifth takes very long
}

// trip returns how long the next round trip takes, and whether it is busy-waited for.
func (m *busyModel) trip() (on bool, took time.Duration) {
	m.trips++
	on, took = m.trials.on(), m.without
	if on {
		took = m.with
	}
	if m.outliers && m.trips%5 == 0 {
		took = time.Millisecond
	}
	return on, took
}

// run lets time pass and returns for which part of it round trips were busy-waited for.
func (m *busyModel) run(d time.Duration) float64 {
	busy, end := time.Duration(0), m.now+d
	for m.now < end {
		on, took := m.trip()
		if m.now += took; on {
			busy += took
		}
		m.trials.note(m.now, on, took)
	}
	return float64(busy) / float64(d)
}

const µs = time.Microsecond

// Connections busy-wait where that makes round trips shorter by more than an eighth, and nowhere else. Trials of the
// other way take less than one percent of the time.
func TestBusyTrials_ShorterRoundTrips_Decide(t *testing.T) {
	for _, c := range []struct {
		model busyModel
		busy  bool
	}{
		{busyModel{without: 100 * µs, with: 50 * µs}, true},
		{busyModel{without: 200 * µs, with: 174 * µs}, true},
		{busyModel{without: 200 * µs, with: 175 * µs}, false},
		{busyModel{without: 100 * µs, with: 100 * µs}, false},
		{busyModel{without: 70 * µs, with: 100 * µs}, false},
		{busyModel{without: 100 * µs, with: 50 * µs, outliers: true}, true},
		{busyModel{without: 100 * µs, with: 100 * µs, outliers: true}, false},
	} {
		c.model.run(maxPause * 4 * trialTime)
		busy := c.model.run(maxPause * 8 * trialTime)
		other := 1 - busy
		if !c.busy {
			other = busy
		}
		require.Less(t, other, 0.01, "%v", c)
		require.Greater(t, other, 0.001, "the other way is tried again and again")
	}
}

// A change of the load changes the outcome, soon after the next trial.
func TestBusyTrials_LoadChanges_OutcomeFollows(t *testing.T) {
	m := busyModel{}
	require.True(t, m.trials.on(), "it begins so")
	for range 5 {
		m.without, m.with = 100*µs, 50*µs
		m.run(maxPause * 4 * trialTime)
		require.Greater(t, m.run(maxPause*trialTime), 0.9)
		m.without, m.with = 70*µs, 100*µs
		m.run(maxPause * 4 * trialTime)
		require.Less(t, m.run(maxPause*trialTime), 0.1)
	}
}

// After busy-waiting Linux lets others run first for some milliseconds, and a thread that has slept runs before others.
// A trial lasts longer than that.
func TestBusyTrials_SchedulerRemembers_NotMisled(t *testing.T) {
	var m busyModel
	busy, changed, before := time.Duration(0), time.Duration(0), true
	for m.now < time.Minute {
		on := m.trials.on()
		if on != before {
			before, changed = on, m.now
		}
		m.without, m.with = 60*µs, 90*µs
		if m.now-changed < trialTime { // it is as if the way had not changed: what computed has a debt, what slept a credit
			m.without, m.with = 120*µs, 40*µs
		}
		_, took := m.trip()
		if m.now += took; on {
			busy += took
		}
		m.trials.note(m.now, on, took)
	}
	require.Less(t, busy, 2*time.Second)
}

// Round trips of batches that left before a change say nothing about the way that was changed to.
func TestBusyTrials_BatchesFromBefore_DoNotCount(t *testing.T) {
	m := busyModel{without: 100 * µs, with: 50 * µs}
	busy := 0
	for m.now < time.Minute {
		on, took := m.trip()
		m.now += took
		for range 3 {
			m.trials.note(m.now, !on, time.Second)
		}
		if m.trials.note(m.now, on, took); on {
			busy++
		}
	}
	require.Greater(t, float64(busy)/float64(m.trips), 0.95)
}

// A sample of very many round trips has a bounded size, and is one of all of them.
func TestBusyTrips_Many_SampleOfAll(t *testing.T) {
	var trips busyTrips
	require.Zero(t, trips.median())
	const all = 100_000
	for i := range all {
		trips.add(time.Duration(i))
	}
	require.InDelta(t, all/2, trips.median(), all/20)
}

// The coordinator notes each round trip, and says for how many commands to busy-wait.
func TestBusyWaitFor_RoundTrips_Noted(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms lock a")
	require.Equal(t, 1, d.c.BusyWaitFor())
	d.line("2ms 1 done")
	require.Equal(t, time.Millisecond, d.c.busy.trips[index(true)].median())
	require.Zero(t, d.c.BusyWaitFor())
	d.c.busy.off = true
	d.line("3ms lock b")
	require.Zero(t, d.c.BusyWaitFor())
	require.Equal(t, 1, d.c.InFlightCommands())
	d.line("5ms 2 done")
	require.Equal(t, 2*time.Millisecond, d.c.busy.trips[index(false)].median())
}
