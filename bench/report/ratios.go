package main

import (
	"math"
	"time"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// This file has the figures of goals, one of each round or run. Contestants take turns, so a ratio is that of the same
// round or run of both.

// unknown is a figure that was not measured.
var unknown = math.NaN()

// only returns the figure of what was measured once.
func only(figure float64) []float64 { return []float64{figure} }

// ratios returns the ratio of two figures in each round, unknown unless both were measured, and as often.
func ratios(a, b []float64) (all []float64) {
	if len(a) == 0 || len(a) != len(b) {
		return only(unknown)
	}
	for i := range a {
		if b[i] <= 0 {
			return only(unknown)
		}
		all = append(all, a[i]/b[i])
	}
	return all
}

// speedsOf returns the pairs per second of each round, none if it is nil.
func speedsOf(s *bench.Result) (all []float64) {
	if s == nil {
		return nil
	}
	for i := range s.Samples {
		one := s.Only(i)
		all = append(all, one.PairsPerSecond())
	}
	return all
}

// speedRatios returns the ratio of a's to b's pairs per second in each round.
func speedRatios(entries []bench.Result, a, b string) []float64 {
	return ratios(speedsOf(successOf(entries, a)), speedsOf(successOf(entries, b)))
}

// ratiosToBest returns the ratio of lockwheel's pairs per second in each round to those of the best of the others: the
// one with the highest median.
func ratiosToBest(entries []bench.Result) []float64 {
	var best *bench.Result
	for i := range entries {
		if e := &entries[i]; e.Name != peers.Lockwheel.Name && e.Failure == "" && (best == nil || e.PairsPerSecond() > best.PairsPerSecond()) {
			best = e
		}
	}
	return ratios(speedsOf(successOf(entries, peers.Lockwheel.Name)), speedsOf(best))
}

// entriesOf returns the standings of goroutines that lock one name.
func entriesOf(contended []bench.ContendedResult) (entries []bench.Result) {
	for _, f := range contended {
		entries = append(entries, f.Result)
	}
	return entries
}

func clientCPU(s *measure.Series) float64 { return float64(s.ClientCPU()) }

// costsOf returns what a pair cost in each round. A round without a pair is infinitely expensive.
func costsOf(s *bench.Result, figure func(*measure.Series) float64) (all []float64) {
	if s == nil {
		return nil
	}
	for i := range s.Samples {
		one := s.Only(i)
		if s.Samples[i].Pairs == 0 {
			all = append(all, math.Inf(1))
			continue
		}
		all = append(all, figure(&one))
	}
	return all
}

// costRatios returns the ratio of what a pair of two contestants cost in each round.
func costRatios(a, b *bench.Result, figure func(*measure.Series) float64) []float64 {
	theirs := costsOf(b, figure)
	for i, x := range theirs {
		if math.IsInf(x, 1) {
			theirs[i] = unknown // nothing can be compared with it
		}
	}
	return ratios(costsOf(a, figure), theirs)
}

// runsOf returns the runs of Hold, none if it is nil.
func runsOf(k *bench.HoldResult) []bench.HoldResult {
	switch {
	case k == nil:
		return nil
	case len(k.Runs) == 0:
		return []bench.HoldResult{*k}
	}
	return k.Runs
}

// figuresOf returns a figure of each run.
func figuresOf[R any](runs []R, figure func(*R) float64) (all []float64) {
	for i := range runs {
		all = append(all, figure(&runs[i]))
	}
	return all
}

// quantileRatios returns the ratio of a quantile in each round or run.
func quantileRatios(a, b []measure.Quantiles, quantile func(measure.Quantiles) time.Duration) []float64 {
	return ratios(roundQuantiles(a, quantile), roundQuantiles(b, quantile))
}

func roundQuantiles(rounds []measure.Quantiles, quantile func(measure.Quantiles) time.Duration) (all []float64) {
	for _, q := range rounds {
		all = append(all, float64(quantile(q)))
	}
	return all
}

func turnsOf(latencies []*bench.HandoverLatency, name string) []measure.Quantiles {
	if w := handoverOf(latencies, name); w != nil {
		return w.Turns
	}
	return nil
}

// locksOf returns the quantiles of one caller's lock.
func (r *results) locksOf(name string) []measure.Quantiles {
	if a := r.singleCallerOf(name); a != nil {
		return a.Locks
	}
	return nil
}

// calledOf returns the quantiles of a steady load beside this many held locks, from the calls on.
func (r *results) calledOf(name string, held int) (all []measure.Quantiles) {
	if l := r.loadOf(name, held); l != nil {
		for _, run := range l.Runs {
			all = append(all, run.Called)
		}
	}
	return all
}
