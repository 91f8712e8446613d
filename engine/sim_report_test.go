package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// simReport is what some seeds saw: how many of them, and how often.
type simReport struct {
	seeds, steps, ran int
	saw               [3]map[string]simTally // under each of simHeadings
}

type simTally struct{ seeds, times int }

var simHeadings = [...]string{"what callers and engines met", "fault", "step of a lock"}

func newSimReport() *simReport {
	r := &simReport{}
	for i := range r.saw {
		r.saw[i] = map[string]simTally{}
	}
	return r
}

func (r *simReport) add(w *simWorld) {
	r.seeds++
	r.steps += w.steps
	r.ran += w.ran
	for i, times := range w.books.saw {
		heading := 0
		if simSight(i) >= simFaultSights {
			heading = 1
		}
		r.count(heading, simSightNames[i], times)
	}
	for i, times := range w.books.hit {
		r.count(1, simFaults[i].name, times)
	}
	w.books.steps.each(func(name string, times int) { r.count(2, name, times) })
}

func (r *simReport) count(heading int, name string, times int) {
	tally := r.saw[heading][name]
	if times != 0 {
		tally.seeds++
		tally.times += times
	}
	r.saw[heading][name] = tally
}

func (r *simReport) merge(other *simReport) {
	r.seeds += other.seeds
	r.steps += other.steps
	r.ran += other.ran
	for heading := range other.saw {
		for name, more := range other.saw[heading] {
			tally := r.saw[heading][name]
			r.saw[heading][name] = simTally{tally.seeds + more.seeds, tally.times + more.times}
		}
	}
}

func (r *simReport) String() string {
	var text strings.Builder
	for heading, saw := range r.saw {
		fmt.Fprintf(&text, "| %s | seeds of %d | times |\n| --- | --: | --: |\n", simHeadings[heading], r.seeds)
		for _, name := range slices.Sorted(maps.Keys(saw)) {
			fmt.Fprintf(&text, "| %s | %d | %d |\n", name, saw[name].seeds, saw[name].times)
		}
		text.WriteString("\n")
	}
	return text.String()
}

// mustBeComplete fails if there was something that no seed saw.
func (r *simReport) mustBeComplete(t *testing.T) {
	for _, name := range simStepsExpected {
		if _, seen := r.saw[2][name]; !seen {
			t.Errorf("no seed saw the step %q", name)
		}
	}
	for heading, saw := range r.saw {
		for _, name := range slices.Sorted(maps.Keys(saw)) {
			if saw[name].seeds == 0 {
				t.Errorf("no seed saw %q (%s)", name, simHeadings[heading])
			}
		}
	}
}
