package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/bench/peers"
)

// Flood takes every contestant through all phases, and lockwheel loses no lock in them.
func TestFlood_AllContestants_AllPhases(t *testing.T) {
	p := tiny
	p.FloodFor, p.FloodPhaseTimeout, p.FloodLeaveTimeout = 60*time.Millisecond, 20*time.Second, 2*time.Second
	s := openServer(t, "")
	for _, own := range []bool{false, true} {
		floods, err := Flood(s, p, FloodPlan{Own: own, Async: []int{3000}, Blocked: []int{500}, Peers: []int{50}})
		require.NoError(t, err)
		require.Len(t, floods, 4)
		for _, f := range floods {
			if leftOut(t, f.Name, f.Failure) {
				continue
			}
			ours := f.Name == FloodAsync || f.Name == FloodBlocked
			// What the others lose, and how long they take to leave, is for the report: Redisson's waiters stay when they
			// are canceled.
			if ours || f.LastPhase() != FloodLeaving {
				require.Empty(t, f.Failure, f.Name)
			}
			if ours {
				require.Zero(t, f.Lost, f.Name)
			}
			requirePhases(t, f)
			if f.Name == FloodAsync {
				require.Less(t, f.Phases[3].End.Goroutines-f.Before.Goroutines, f.Waiters/10, "waiting costs no goroutine")
			}
		}
	}
}

// Readers that wait, readers that are granted, and the names of one Multi go through all of their phases, and none is
// lost.
func TestFlood_ReadersAndParts_AllPhases(t *testing.T) {
	p := tiny
	p.FloodFor, p.FloodPhaseTimeout, p.FloodLeaveTimeout = 60*time.Millisecond, 20*time.Second, 2*time.Second
	floods, err := Flood(openServer(t, ""), p, FloodPlan{Readers: []int{2000}, Granted: []int{2000}, Parts: []int{1500}})
	require.NoError(t, err)
	require.Len(t, floods, 3)
	for _, f := range floods {
		require.Empty(t, f.Failure, f.Name)
		require.Zero(t, f.Lost, f.Name)
		if !f.Holds() {
			requirePhases(t, f)
			continue
		}
		require.Equal(t, floodHeld+f.Waiters, f.Held, f.Name)
		require.Equal(t, []string{FloodBefore, FloodGranting, FloodHolding, FloodReleasing}, namesOf(f.Phases))
	}
}

func namesOf(phases []*Phase) (names []string) {
	for _, p := range phases {
		names = append(names, p.Name)
	}
	return names
}

func requirePhases(t *testing.T, f *FloodResult) {
	for _, p := range f.Phases {
		require.Positive(t, p.Took, p.Name)
		if f.Name == FloodAsync || f.Name == FloodBlocked {
			require.Positive(t, p.LongestTurn, p.Name)
		}
	}
	require.Equal(t, "before posting subscribing waiting messages cancel leaving", strings.Join(namesOf(f.Phases), " "))
	waiting := f.Phases[3]
	require.Positive(t, waiting.Probe.Count(), f.Name)
	require.Positive(t, waiting.Ping.Count())
	require.Positive(t, waiting.End.Goroutines)
}

// A peer that fails a flood gets no larger ones; the failure names the phase.
func TestFlood_PeerFails_LargerSkipped(t *testing.T) {
	p := tiny
	p.FloodFor, p.FloodPhaseTimeout = 20*time.Millisecond, 0 // no contestant can finish
	floods, err := Flood(openServer(t, ""), p, FloodPlan{Peers: []int{10, 20}})
	require.NoError(t, err)
	require.Len(t, floods, 2, "one of each of the peers")
	for _, f := range floods {
		require.NotEmpty(t, f.Failure)
		require.Equal(t, 10, f.Waiters)
	}
	require.Equal(t, peers.Rueidislock.Name, floods[0].Name)
	require.Equal(t, "subscribing: was not over after 0s, with 0 of 1 channels listened to", floods[0].Failure)
	require.Equal(t, FloodSubscribing, floods[0].LastPhase())
}
