package main

import (
	"fmt"

	"github.com/lockwheel/lockwheel/bench"
)

// newResults returns results with the way in which each section is measured, and without figures.
func newResults() *results {
	r := &results{}
	r.pair.name, r.pair.steps = "Pair", pairSteps
	r.ceiling.name, r.ceiling.steps = "Ceiling", ceilingSteps
	r.kinds.name, r.kinds.steps = "Kinds", kindsSteps
	r.hot.name, r.hot.steps = "Hot", hotSteps
	r.wake.name, r.wake.steps = "Wake", wakeSteps
	r.latency.name, r.latency.steps = "Latency", latencySteps
	r.gateway.name, r.gateway.steps = "Gateway", gatewaySteps
	r.hold.name, r.hold.steps = "Hold", holdSteps
	r.scale.name, r.scale.steps = "Scale", scaleSteps
	r.sizing.name, r.sizing.steps = "Sizing", sizingSteps
	r.flood.name, r.flood.steps = "Flood", floodSteps
	r.planted.name, r.planted.steps = "Planted", plantedSteps
	r.before.name, r.before.steps = "Before", beforeSteps
	return r
}

func pairSteps(into *[]pairRun, s *bench.Server, p bench.Plan) (steps []step) {
	for _, n := range p.Goroutines {
		steps = append(steps, step{fmt.Sprintf("%d goroutines", n), bench.Estimate{Plan: p}.Pair(), func() error {
			entries, err := bench.Pair(s, p, n)
			*into = append(*into, pairRun{n, entries})
			return err
		}})
	}
	return steps
}

func hotSteps(into *[]hotRun, s *bench.Server, p bench.Plan) (steps []step) {
	for _, clients := range []int{1, 2} {
		for _, n := range p.Contenders {
			steps = append(steps, step{fmt.Sprintf("%d goroutines of each of %d clients", n, clients), bench.Estimate{Plan: p}.Hot(), func() error {
				contended, err := bench.Hot(s, p, n, clients)
				*into = append(*into, hotRun{clients, n, contended})
				return err
			}})
		}
	}
	return steps
}

func wakeSteps(into *[]*bench.HandoverLatency, s *bench.Server, p bench.Plan) []step {
	return []step{{"from one client to another", bench.Estimate{Plan: p}.Wake(), func() (err error) {
		*into, err = bench.Wake(s, p)
		return err
	}}}
}

// oneCallerSteps has no steady load: it is not measured over a link.
func oneCallerSteps(into *latency, s *bench.Server, p bench.Plan) []step {
	return []step{{"one caller", bench.Estimate{Plan: p}.OneCaller(), func() (err error) {
		into.Alone, err = bench.OneCaller(s, p)
		return err
	}}}
}

func latencySteps(into *latency, s *bench.Server, p bench.Plan) []step {
	return []step{
		oneCallerSteps(into, s, p)[0],
		{fmt.Sprintf("1 000 pairs a second, beside none and %d held", p.WithHeld.Locks), bench.Estimate{Plan: p}.Steady(), func() (err error) {
			into.Loads, err = bench.Steady(s, p)
			return err
		}},
	}
}

func holdSteps(into *[]bench.HoldResult, s *bench.Server, p bench.Plan) (steps []step) {
	for _, holdPlan := range p.Holds {
		steps = append(steps, step{fmt.Sprintf("%d locks with a lease of %v, renewed every %v", holdPlan.Locks, holdPlan.Lease, holdPlan.RenewInterval()), bench.Estimate{Plan: p}.Hold(holdPlan), func() error {
			holds, err := bench.Hold(s, p, holdPlan)
			*into = append(*into, holds...)
			return err
		}})
	}
	return steps
}
