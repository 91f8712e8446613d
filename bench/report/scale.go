package main

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/bench"
)

// This file has how the cost of a held lock is measured, shown and judged, from a thousand to ten million of them.

const scaleText = "Watched locks that one engine holds, and nothing else. Renewals are measured during a lease, after a first interval.\n\n" +
	"- heap: live bytes of the client per lock, with its name and its hold; memory: bytes of the server per lock.\n" +
	"- client and server: processor time of a renewal; keys: locks that one call renews; in and out: bytes of a renewal that the server received and sent.\n" +
	"- latest: from when a renewal was due to its confirmation, the longest of all. Its slack is the time from when it is due to the end of the hold."

func scaleSteps(into *[]*bench.ScaleResult, s *bench.Server, p bench.Plan) (steps []step) {
	for _, keep := range p.Scales {
		steps = append(steps, step{fmt.Sprintf("%d locks, lease %v", keep.Locks, keep.Lease), bench.Estimate{Plan: p}.Scale(keep), func() error {
			r, err := bench.Scale(s, p, keep)
			if r != nil {
				*into = append(*into, r)
			}
			return err
		}})
	}
	return steps
}

func (r *results) scaleTable() string {
	t := newTable("", "lease", "heap B", "memory B", "renewals/s", "keys", "client µs", "min..max", "server µs", "min..max", "in B", "out B", "latest ms", "of its slack", "lost", "acquired in s")
	for _, f := range r.scale.Figures {
		name := count(float64(f.Keep.Locks))
		if f.Failure != "" {
			t.failed(name, f.Failure)
			continue
		}
		var client, server []float64
		for i := range f.Runs {
			client, server = append(client, float64(f.Runs[i].Client)), append(server, float64(f.Runs[i].Server))
		}
		write := func(x float64) string { return micros(time.Duration(x)) }
		t.row(name, f.Keep.Lease.String(), count(f.Heap), count(f.Memory), count(f.Renewals), decimals(f.Keys), micros(f.Client), spread(client, write),
			micros(f.Server), spread(server, write), decimals(f.In), decimals(f.Out), millis(f.Latest), decimals(f.Used()), count(float64(f.Lost)), decimals(f.Taken.Seconds()))
	}
	return t.String()
}

func (r *results) scaleChart() *barChart {
	g := &barChart{title: "Processor time of a renewal", unit: "microseconds", xLabel: "watched locks held", linear: true}
	for _, f := range r.scale.Figures {
		g.labels = append(g.labels, count(float64(f.Keep.Locks)))
	}
	for i, f := range r.scale.Figures {
		if f.Failure == "" {
			g.put("client", i, inUnits(f.Client, time.Microsecond))
			g.put("server", i, inUnits(f.Server, time.Microsecond))
		}
	}
	return g
}

func (r *results) scaleLine(t *table) {
	f := r.scaleOf(10_000_000)
	if f == nil {
		return
	}
	t.section(fmt.Sprintf("%s watched locks held, lease %v: heap of one; processor time of a renewal, of the client and of the server; lost", count(float64(f.Keep.Locks)), f.Keep.Lease),
		fmt.Sprintf("%s B; %s µs, %s µs; %s", count(f.Heap), micros(f.Client), micros(f.Server), count(float64(f.Lost))), "Scale")
}

// scaleOf returns the result with this many locks, nil if it was not measured.
func (r *results) scaleOf(locks int) *bench.ScaleResult {
	for _, f := range r.scale.Figures {
		if f.Keep.Locks == locks && f.Failure == "" {
			return f
		}
	}
	return nil
}

func (r *results) scaleGoals() []goal {
	var runs []bench.ScaleResult
	if f := r.scaleOf(10_000_000); f != nil {
		if runs = f.Runs; len(runs) == 0 {
			runs = []bench.ScaleResult{*f}
		}
	}
	heap := figuresOf(runs, func(f *bench.ScaleResult) float64 { return f.Heap })
	lost := figuresOf(runs, func(f *bench.ScaleResult) float64 { return float64(f.Lost) })
	used := figuresOf(runs, (*bench.ScaleResult).Used)
	const held = "10 000 000 held: "
	return []goal{
		{"Scale", held + "live heap of a lock", heap, false, 300, " B"},
		{"Scale", held + "lost", lost, false, 0, ""},
		{"Scale", held + "part of its slack that the latest renewal has used", used, false, 0.5, ""},
	}
}
