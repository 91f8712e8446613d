package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// simReport is what some seeds saw: in how many of them, and how often.
type simReport struct {
	seeds, steps, ran int
	covered           [2]map[string]simTally    // under each of simHeadings
	transitions       map[string]map[string]int // how locks went from one phase to the next: what led there, in how many seeds
}

type simTally struct{ seeds, times int }

var simHeadings = [...]string{"what callers and engines met", "fault"}

func newSimReport() *simReport {
	r := &simReport{transitions: map[string]map[string]int{}}
	for i := range r.covered {
		r.covered[i] = map[string]simTally{}
	}
	return r
}

func (r *simReport) add(w *simWorld) {
	r.seeds++
	r.steps += w.steps
	r.ran += w.ran
	for i, times := range w.model.covered {
		heading := 0
		if simCoverage(i) >= simFaultCoverage {
			heading = 1
		}
		r.count(heading, simCoverageNames[i], times)
	}
	for i, times := range w.model.faultCounts {
		r.count(1, simFaults[i].name, times)
	}
	w.model.steps.each(func(transition, what string) { r.addTransition(transition, what, 1) })
}

func (r *simReport) addTransition(transition, what string, seeds int) {
	if r.transitions[transition] == nil {
		r.transitions[transition] = map[string]int{}
	}
	r.transitions[transition][what] += seeds
}

func (r *simReport) count(heading int, name string, times int) {
	tally := r.covered[heading][name]
	if times != 0 {
		tally.seeds++
		tally.times += times
	}
	r.covered[heading][name] = tally
}

func (r *simReport) merge(other *simReport) {
	r.seeds += other.seeds
	r.steps += other.steps
	r.ran += other.ran
	for heading := range other.covered {
		for name, more := range other.covered[heading] {
			tally := r.covered[heading][name]
			r.covered[heading][name] = simTally{tally.seeds + more.seeds, tally.times + more.times}
		}
	}
	for transition, whats := range other.transitions {
		for what, seeds := range whats {
			r.addTransition(transition, what, seeds)
		}
	}
}

func (r *simReport) String() string {
	var text strings.Builder
	for heading, saw := range r.covered {
		fmt.Fprintf(&text, "| %s | seeds of %d | times |\n| --- | --: | --: |\n", simHeadings[heading], r.seeds)
		for _, name := range slices.Sorted(maps.Keys(saw)) {
			fmt.Fprintf(&text, "| %s | %d | %d |\n", name, saw[name].seeds, saw[name].times)
		}
		text.WriteString("\n")
	}
	fmt.Fprintf(&text, "| how a lock stood before and after | what led there, and seeds of %d |\n| --- | --- |\n", r.seeds)
	for _, transition := range slices.Sorted(maps.Keys(r.transitions)) {
		var parts []string
		for _, what := range slices.Sorted(maps.Keys(r.transitions[transition])) {
			parts = append(parts, fmt.Sprintf("%s %d", what, r.transitions[transition][what]))
		}
		fmt.Fprintf(&text, "| %s | %s |\n", transition, strings.Join(parts, ", "))
	}
	return text.String()
}

// mustBeComplete fails if there is something that no seed saw.
func (r *simReport) mustBeComplete(t *testing.T) {
	for transition, whats := range simExpectedTransitions {
		for _, what := range strings.Split(whats, ", ") {
			if r.transitions[transition][what] == 0 {
				t.Errorf("no seed saw a lock go %s by %s", transition, what)
			}
		}
	}
	for heading, saw := range r.covered {
		for _, name := range slices.Sorted(maps.Keys(saw)) {
			if saw[name].seeds == 0 {
				t.Errorf("no seed saw %q (%s)", name, simHeadings[heading])
			}
		}
	}
}
