package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/measure"
)

// charts writes a file for each chart of the sections that were measured.
func (r *results) charts(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, g := range r.drawings() {
		if len(g.names) == 0 {
			continue
		}
		if err := g.save(filepath.Join(dir, name+".svg")); err != nil {
			return fmt.Errorf("chart %s: %w", name, err)
		}
	}
	return nil
}

// drawings returns all charts by their names. A chart without names has nothing to show.
func (r *results) drawings() map[string]*barChart {
	heaps, cores, growth := r.holdCharts()
	return map[string]*barChart{
		"pair": r.pairChart(), "ceiling": r.ceilingChart(), "kinds": r.kindsChart(), "hot": r.hotChart(), "wake": r.wakeChart(),
		"alone": r.aloneChart(), "steady": r.steadyChart(), "gateway": r.gatewayChart(), "hold-heap": heaps, "hold-cores": cores, "growth": growth,
		"scale":     r.scaleChart(),
		"flood-one": r.floodChart(false), "flood-own": r.floodChart(true),
	}
}

func (r *results) pairChart() *barChart {
	g := &barChart{title: "Lock and unlock of names of their own", unit: "pairs a second", xLabel: "goroutines"}
	for _, p := range r.pair.Figures {
		g.labels = append(g.labels, count(float64(p.Goroutines)))
	}
	for i, p := range r.pair.Figures {
		g.putResults(p.Standings, i)
	}
	return g
}

// putResults sets the throughput of contestants in one group.
func (g *barChart) putResults(entries []bench.Result, group int) {
	for i := range entries {
		if entries[i].Failure == "" {
			g.put(entries[i].Name, group, entries[i].PairsPerSecond())
		}
	}
}

func (r *results) hotChart() *barChart {
	g := &barChart{title: "All goroutines lock one name", unit: "pairs a second", xLabel: "clients × goroutines of each"}
	for _, h := range r.hot.Figures {
		g.labels = append(g.labels, fmt.Sprintf("%d × %d", h.Clients, h.Goroutines))
	}
	for i, h := range r.hot.Figures {
		for _, f := range h.Fights {
			if f.Failure == "" {
				g.put(f.Name, i, f.PairsPerSecond())
			}
		}
	}
	return g
}

// quantiles returns a chart of histograms, in microseconds.
func quantiles(title string, labels ...string) *barChart {
	return &barChart{title: title, unit: "µs", labels: labels}
}

// putQuantiles sets the quantiles of a histogram in microseconds.
func (g *barChart) putQuantiles(name string, h *measure.Histogram, quantiles ...float64) {
	for i, q := range quantiles {
		g.put(name, i, inUnits(h.Quantile(q), time.Microsecond))
	}
}

func (r *results) wakeChart() *barChart {
	g := quantiles("Hand-over of a name from one client to another", "p50", "p99")
	for _, w := range r.wake.Figures {
		if w.Failure != "" {
			continue
		}
		g.putQuantiles(w.Name, &w.Took, 0.5, 0.99)
	}
	return g
}

func (r *results) aloneChart() *barChart {
	g := quantiles("Lock by one caller, and bare round trips", "p50", "p99", "p99.9")
	for _, a := range r.latency.Figures.Alone {
		if a.Failure != "" {
			continue
		}
		g.putQuantiles(a.Name, &a.Lock, 0.5, 0.99, 0.999)
	}
	return g
}

func (r *results) steadyChart() *barChart {
	g := quantiles("1 000 lock+unlock a second, beside locks held", "p50", "p99", "p99.9")
	for _, l := range r.latency.Figures.Loads {
		if l.Failure != "" {
			continue
		}
		g.putQuantiles(fmt.Sprintf("%s, %s held", l.Name, count(float64(l.Held))), &l.Called, 0.5, 0.99, 0.999)
	}
	return g
}

// holdCharts returns charts of the memory of a lock, the processor time of all locks, and the throughput meanwhile.
func (r *results) holdCharts() (heaps, cores, growth *barChart) {
	var locks, ours []string
	for _, k := range r.hold.Figures {
		if k.Keep.Every != 0 {
			continue // all are shown as by default
		}
		label := count(float64(k.Keep.Locks))
		if !slices.Contains(locks, label) {
			locks = append(locks, label)
		}
		if k.During > 0 && k.Stuck == "" {
			ours = append(ours, label)
		}
	}
	heaps = &barChart{title: "Live heap of a held lock", unit: "bytes a lock", xLabel: "watched locks held", labels: locks}
	cores = &barChart{title: "Processor time of holding locks", unit: "cores", xLabel: "watched locks held", labels: locks}
	growth = &barChart{title: "Lock and unlock by 2 048 goroutines, beside locks held by the same engine", unit: "pairs a second",
		xLabel: "watched locks held", labels: ours, linear: true}
	for i := range r.hold.Figures {
		k := &r.hold.Figures[i]
		label := count(float64(k.Keep.Locks))
		group := slices.Index(locks, label)
		if k.Failure != "" || k.Keep.Every != 0 {
			continue
		}
		if k.Heap > k.HeapNoise {
			heaps.put(k.Name, group, k.Heap)
		}
		cores.put(k.Name+", client", group, k.Client)
		cores.put(k.Name+", server", group, k.Server)
		if k.During > 0 && k.Stuck == "" {
			growth.put("with none held", slices.Index(ours, label), k.Baseline())
			growth.put("with this many held", slices.Index(ours, label), k.During)
		}
	}
	return heaps, cores, growth
}
