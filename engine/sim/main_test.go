package sim

import (
	"flag"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel/internal/long"
)

var (
	simSeedFlag    = flag.Uint64("sim.seed", 0, "run this seed of the simulation only; with -v, print its history")
	simSeedsFlag   = flag.Int("sim.seeds", 0, "how many seeds the simulation runs; 0: 300, or 3000 with LOCKWHEEL_LONG=1")
	simFirstFlag   = flag.Uint64("sim.first", 1, "the first of them")
	simEnginesFlag = flag.Int("sim.engines", 0, "engines of each run; 0: three to five, as the seed says")
	simStepsFlag   = flag.Int("sim.steps", 2000, "steps of each seed before its faults stop: messages delivered to an engine or to the server")
	simReportFlag  = flag.Bool("sim.report", false, "with -v, print how many seeds saw what")
)

// How many seeds run by default.
const (
	simSeedsQuick = 300
	simSeedsUsual = 3000
	simSeedsRaced = 200
)

// TestSimulation runs engines on one server, with callers that use every operation. Meanwhile commands, replies and
// messages are late, lost and doubled, connections break, processes stop, clocks differ and the server restarts. At
// most one owner considers a lock its own, every request has one result, and nothing is left at the end.
func TestSimulation(t *testing.T) {
	if *simSeedFlag != 0 {
		replaySeed(t)
		return
	}
	seeds := *simSeedsFlag
	if seeds == 0 {
		seeds = long.Pick(simSeedsQuick, simSeedsUsual)
		if simRaced {
			seeds = simSeedsRaced
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1600)) // almost nothing lives longer than a seed
	start := time.Now()
	all, failed := simulate(*simFirstFlag, seeds, bugNone)
	took := time.Since(start)
	t.Logf("%d seeds, %d steps, %.0f steps/s on %d processors; %d events", all.seeds, all.steps,
		float64(all.steps)/took.Seconds(), runtime.GOMAXPROCS(0), all.ran)
	if *simReportFlag {
		t.Logf("how many seeds saw what, and how often:\n\n%s", all)
	}
	if failed != nil {
		t.Error(simFailure(failed))
		return
	}
	if seeds >= simSeedsUsual {
		all.mustBeComplete(t)
	}
}

// simulate runs seeds on all processors until one fails. It returns what they saw, and the first failed one.
func simulate(first uint64, seeds int, bug simBug) (all *simReport, failed *simWorld) {
	var (
		next    atomic.Uint64
		stop    atomic.Bool
		workers sync.WaitGroup
		reports = make([]*simReport, runtime.GOMAXPROCS(0))
		worlds  = make([]*simWorld, len(reports))
	)
	for i := range reports {
		reports[i] = newSimReport()
		memory := newSimMemory()
		workers.Go(func() {
			for seed := next.Add(1) - 1; seed < uint64(seeds) && !stop.Load(); seed = next.Add(1) - 1 {
				w := newSimWorld(simRun{seed: first + seed, steps: *simStepsFlag, engines: *simEnginesFlag, bug: bug, memory: memory})
				w.run()
				reports[i].add(w)
				if w.failure != "" {
					worlds[i] = w
					stop.Store(true)
				}
			}
		})
	}
	workers.Wait()
	all = newSimReport()
	for i, r := range reports {
		all.merge(r)
		if w := worlds[i]; w != nil && (failed == nil || w.seed < failed.seed) {
			failed = w
		}
	}
	return all, failed
}

// A seed always gives the same history, because otherwise a failure could not be examined.
func TestSimulation_SameSeed_SameHistory(t *testing.T) {
	for seed := range uint64(20) {
		run := simRun{seed: seed + 1, steps: 500}
		first, second := simHistory(run), simHistory(run)
		if first != second {
			t.Fatalf("seed %d differs: %s", seed+1, simDifference(first, second))
		}
		run.choices = &simChoices{}
		if watched := simHistory(run); first != watched {
			t.Fatalf("seed %d differs when its choices are written down: %s", seed+1, simDifference(first, watched))
		}
	}
}

// simFailure returns the whole description of a failed seed.
func simFailure(w *simWorld) string {
	run := simRun{seed: w.seed, steps: *simStepsFlag, engines: *simEnginesFlag, bug: w.bug}
	text := fmt.Sprintf("seed %d, step %d: %s\n\nreplay: %s\n\n", w.seed, w.steps, w.failure, simReplay(run))
	short := shorten(run, *simShrinkFlag)
	if short == nil {
		return text
	}
	return text + short.String()
}

// simReplay returns the command that shows a history.
func simReplay(run simRun) string {
	here := strings.TrimPrefix(reflect.TypeFor[simRun]().PkgPath(), "github.com/lockwheel/lockwheel/")
	command := fmt.Sprintf("go test ./%s -run 'TestSimulation$' -sim.seed=%d", here, run.seed)
	if steps := flag.Lookup("sim.steps"); steps.DefValue != fmt.Sprint(run.steps) {
		command += fmt.Sprintf(" -sim.steps=%d", run.steps)
	}
	if run.engines != 0 {
		command += fmt.Sprintf(" -sim.engines=%d", run.engines)
	}
	if run.salt != 0 {
		command += fmt.Sprintf(" -sim.salt=%d", run.salt)
	}
	if run.until != 0 {
		command += fmt.Sprintf(" -sim.until=%v", run.until-simStart)
	}
	if run.choices != nil && run.choices.keep != nil {
		command += " -sim.keep=" + run.choices.String()
	}
	return command + " -v"
}

func replaySeed(t *testing.T) {
	keep, err := parseKeep(*simKeepFlag)
	if err != nil {
		t.Fatal(err)
	}
	run := simRun{seed: *simSeedFlag, salt: *simSaltFlag, steps: *simStepsFlag, engines: *simEnginesFlag, choices: &simChoices{keep: keep}, trace: &simTrace{}}
	if *simUntilFlag != 0 {
		run.until = simStart + *simUntilFlag
	}
	w := newSimWorld(run)
	w.run()
	t.Logf("seed %d:\n%s", run.seed, run.trace)
	if w.failure != "" {
		t.Errorf("seed %d, step %d: %s", run.seed, w.steps, w.failure)
	}
}

// simHistory runs a seed once more and returns its history.
func simHistory(run simRun) string {
	run.trace = &simTrace{}
	newSimWorld(run).run()
	return run.trace.String()
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
