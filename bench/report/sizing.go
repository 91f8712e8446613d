package main

import (
	"fmt"
	"math"

	"github.com/lockwheel/lockwheel/bench"
)

// This file has how the cost model of docs/operate/sizing.md is measured, shown and judged.

const sizingText = "The constants of the cost model, and what it predicts: 2 048 goroutines of one engine lock and unlock names of their own as fast as they can, " +
	"while the same engine holds and renews other locks. The model takes the renewals from the measurement, and predicts the rest. " +
	"The constants of a pair are measured beside locks that are held and not renewed meanwhile, those of a renewal without pairs. " +
	"Client and servers share the processors of one machine, those of a cluster, too. " +
	"Turns of the loop also count while the loop had no processor."

func sizingSteps(into **bench.SizingResult, s *bench.Server, p bench.Plan) []step {
	return []step{{"the cost model, and pairs beside held locks", bench.Estimate{Plan: p}.Sizing(), func() (err error) {
		*into, err = bench.Sizing(s, p)
		return err
	}}}
}

func (r *results) sizingTables() string {
	m := r.sizing.Figures
	if m == nil {
		return ""
	}
	constants := newTable("", "client µs", "server µs", "turns of the loop µs", "server received B", "sent B")
	if m.Failure != "" {
		constants.failed("constants", m.Failure)
		return constants.String()
	}
	for _, c := range []struct {
		where string
		*bench.SizingConstants
	}{
		{locksOn(m.FewLocks, "one server"), &m.One},
		{locksOn(m.ManyLocks, "one server"), &m.Many},
		{locksOn(m.FewLocks, fmt.Sprintf("a cluster of %d masters", bench.SizingMasters)), &m.Cluster},
		{locksOn(m.MoreLocks, fmt.Sprintf("a cluster of %d masters", bench.SizingMasters)), &m.ClusterMore},
	} {
		if c.Cores == 0 {
			continue // not measured
		}
		for _, cost := range []struct {
			what string
			bench.SizingCost
		}{{"a pair", c.Pair}, {"a renewal", c.Renewal}} {
			constants.row(cost.what+", "+c.where, micros(cost.Client), micros(cost.Server), micros(cost.Loop), count(cost.In), count(cost.Out))
		}
	}
	t := newTable("what is held beside the pairs", "renewals/s", "pairs/s", "predicted", "client cores", "predicted", "server cores", "predicted", "largest error")
	for i := range m.Checks {
		c := &m.Checks[i]
		if c.Failure != "" {
			t.failed(checkName(c), c.Failure)
			continue
		}
		t.row(checkName(c), count(c.Measured.Renewals), count(c.Measured.Pairs), count(c.Expected.Pairs), decimals(c.Measured.Client), decimals(c.Expected.Client),
			decimals(c.Measured.Server), decimals(c.Expected.Server), fmt.Sprintf("%.0f %%", 100*sizingError(c)))
	}
	used := fmt.Sprintf("\nPairs alone used %s cores with one server", decimals(m.One.Cores))
	if m.Cluster.Cores > 0 {
		used += fmt.Sprintf(", and %s with the cluster", decimals(m.Cluster.Cores))
	}
	used += "."
	if m.Waiter > 0 {
		used += fmt.Sprintf(" A caller that waits for a lock of its own needs %s B of the client's live heap, with its name.", count(m.Waiter))
	}
	return constants.String() + used + "\n\n" + t.String()
}

// locksOn names the circumstances of constants. Earlier figures do not say how many locks there were.
func locksOn(locks int, where string) string {
	if locks == 0 {
		return where
	}
	return fmt.Sprintf("%s locks, %s", count(float64(locks)), where)
}

func checkName(c *bench.SizingCheck) string {
	name := fmt.Sprintf("%s locks, each renewed every %v", count(float64(c.Keep.Locks)), c.Keep.RenewInterval())
	if c.Masters > 0 {
		name += fmt.Sprintf(", a cluster of %d masters", c.Masters)
	}
	return name
}

// sizingError returns the largest deviation of a prediction, as a part of what was measured.
func sizingError(c *bench.SizingCheck) (largest float64) {
	for _, of := range [][2]float64{
		{c.Expected.Pairs, c.Measured.Pairs}, {c.Expected.Client, c.Measured.Client}, {c.Expected.Server, c.Measured.Server},
	} {
		if of[1] == 0 {
			return unknown
		}
		largest = max(largest, math.Abs(of[0]/of[1]-1))
	}
	return largest
}

func (r *results) sizingGoals() []goal {
	var all []float64
	if m := r.sizing.Figures; m != nil && m.Failure == "" {
		for i := range m.Checks {
			e := unknown
			if m.Checks[i].Failure == "" {
				e = sizingError(&m.Checks[i])
			}
			all = append(all, e)
		}
	}
	return []goal{{"Sizing", "the cost model: largest error of a prediction", all, false, 0.2, ""}}
}
