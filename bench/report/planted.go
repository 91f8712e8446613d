package main

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/bench"
)

// This file has how locks of which another program has stored very much are measured, shown and judged.

const plantedText = "Another program has stored very much under the name of a lock, and a caller tries that lock. Longest: the longest command of the server meanwhile, from its SLOWLOG."

func plantedSteps(into *[]*bench.PlantedResult, s *bench.Server, p bench.Plan) []step {
	return []step{{"locks of which very much is stored", bench.Estimate{Plan: p}.Planted(), func() (err error) {
		*into, err = bench.Planted(s, p)
		return err
	}}}
}

func (r *results) plantedTable() string {
	t := newTable("", "stored", "tries", "longest ms")
	for _, f := range r.planted.Figures {
		if f.Failure != "" {
			t.failed(fmt.Sprintf("%s, %s", f.Kind, count(float64(f.Stored))), f.Failure)
			continue
		}
		t.row(f.Kind, count(float64(f.Stored)), count(float64(f.Tries)), millis(f.Longest))
	}
	return t.String()
}

// plantedGoals returns the goal for the longest command of all.
func (r *results) plantedGoals() []goal {
	longest := unknown
	for _, f := range r.planted.Figures {
		if f.Failure != "" {
			longest = unknown
			break
		}
		if ms := inUnits(f.Longest, time.Millisecond); !(longest >= ms) { // unknown is not a number
			longest = ms
		}
	}
	return []goal{{"Planted", "a try of a lock of which very much is stored: longest command of the server", only(longest), false, 5, " ms"}}
}
