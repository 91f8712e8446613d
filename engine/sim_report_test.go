package engine

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
	saw               [2]map[string]simTally    // under each of simHeadings
	ways              map[string]map[string]int // how locks went from one phase to the next: what led there, in how many seeds
}

type simTally struct{ seeds, times int }

var simHeadings = [...]string{"what callers and engines met", "fault"}

func newSimReport() *simReport {
	r := &simReport{ways: map[string]map[string]int{}}
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
	w.books.steps.each(func(way, what string) { r.went(way, what, 1) })
}

func (r *simReport) went(way, what string, seeds int) {
	if r.ways[way] == nil {
		r.ways[way] = map[string]int{}
	}
	r.ways[way][what] += seeds
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
	for way, whats := range other.ways {
		for what, seeds := range whats {
			r.went(way, what, seeds)
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
	fmt.Fprintf(&text, "| how a lock stood before and after | what led there, and seeds of %d |\n| --- | --- |\n", r.seeds)
	for _, way := range slices.Sorted(maps.Keys(r.ways)) {
		var parts []string
		for _, what := range slices.Sorted(maps.Keys(r.ways[way])) {
			parts = append(parts, fmt.Sprintf("%s %d", what, r.ways[way][what]))
		}
		fmt.Fprintf(&text, "| %s | %s |\n", way, strings.Join(parts, ", "))
	}
	return text.String()
}

// mustBeComplete fails if there is something that no seed saw.
func (r *simReport) mustBeComplete(t *testing.T) {
	for way, whats := range simWays {
		for _, what := range strings.Split(whats, ", ") {
			if r.ways[way][what] == 0 {
				t.Errorf("no seed saw a lock go %s by %s", way, what)
			}
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
