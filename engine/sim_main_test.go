package engine

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"
)

var (
	simSeedFlag    = flag.Uint64("sim.seed", 0, "run this seed of the simulation only; with -v, print its history")
	simSeedsFlag   = flag.Int("sim.seeds", 0, "how many seeds the simulation runs; 0: as many as take a few seconds")
	simFirstFlag   = flag.Uint64("sim.first", 1, "the first of them")
	simEnginesFlag = flag.Int("sim.engines", 2, "engines of each run")
	simStepsFlag   = flag.Int("sim.steps", 1000, "steps of each seed before its faults stop")
)

// How many seeds run when nobody says.
const (
	simSeedsUsual = 2000
	simSeedsRaced = 300
)

// Engines on one server, with callers that do all that a caller can do, while commands, answers and messages
// are late, lost and doubled, connections break, processes stop, clocks differ and the server restarts: a
// lock is believed by one at most, every request has one verdict, and nothing is left at the end.
func TestSimulation(t *testing.T) {
	if *simSeedFlag != 0 {
		replaySeed(t, *simSeedFlag)
		return
	}
	seeds := *simSeedsFlag
	if seeds == 0 {
		seeds = simSeedsUsual
		if simRaced {
			seeds = simSeedsRaced
		}
	}
	var saw [simSights]int
	steps, start := 0, time.Now()
	for seed := *simFirstFlag; seed < *simFirstFlag+uint64(seeds); seed++ {
		w := newSimWorld(seed, *simStepsFlag, bugNone, nil)
		w.run()
		steps += w.steps
		for i, n := range w.books.saw {
			saw[i] += n
		}
		if w.failure != "" {
			t.Errorf("seed %d, step %d: %s\n\n%s\n\nreplay: %s", seed, w.steps, w.failure, simHistory(seed, *simStepsFlag, 60), simReplay(seed))
			break
		}
	}
	took := time.Since(start)
	t.Logf("%d seeds, %d steps, %.0f steps/s; %s", seeds, steps, float64(steps)/took.Seconds(), simSeen(saw))
	if !t.Failed() && seeds >= simSeedsUsual {
		for i, n := range saw {
			if n == 0 {
				t.Errorf("no seed saw anything %s", simSightNames[i])
			}
		}
	}
}

// The same seed is the same history, or a failure could not be looked at.
func TestSimulationRepeatsItself(t *testing.T) {
	for seed := range uint64(30) {
		first, second := simHistory(seed+1, 500, 1<<30), simHistory(seed+1, 500, 1<<30)
		if first != second {
			t.Fatalf("seed %d differs: %s", seed+1, simDifference(first, second))
		}
	}
}

// simReplay is the one command that shows a seed's history.
func simReplay(seed uint64) string {
	command := fmt.Sprintf("go test ./engine -run TestSimulation -sim.seed=%d", seed)
	for _, name := range []string{"sim.steps", "sim.engines"} {
		if f := flag.Lookup(name); f.Value.String() != f.DefValue {
			command += fmt.Sprintf(" -%s=%s", name, f.Value)
		}
	}
	return command + " -v"
}

func replaySeed(t *testing.T, seed uint64) {
	w := newSimWorld(seed, *simStepsFlag, bugNone, &simTrace{})
	w.run()
	t.Logf("seed %d:\n%s", seed, w.trace.last(1<<30))
	if w.failure != "" {
		t.Errorf("seed %d, step %d: %s", seed, w.steps, w.failure)
	}
}

// simHistory runs a seed once more and returns the end of its history.
func simHistory(seed uint64, steps, lines int) string {
	w := newSimWorld(seed, steps, bugNone, &simTrace{})
	w.run()
	return w.trace.lines[0] + "\n…\n" + w.trace.last(lines)
}

func simDifference(first, second string) string {
	a, b := strings.Split(first, "\n"), strings.Split(second, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d:\n%s\n%s", i+1, a[i], b[i])
		}
	}
	return "one goes on"
}

func simSeen(saw [simSights]int) string {
	parts := make([]string, simSights)
	for i, n := range saw {
		parts[i] = fmt.Sprintf("%s %d", simSightNames[i], n)
	}
	return strings.Join(parts, ", ")
}
