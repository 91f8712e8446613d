package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/measure"
)

// minMax returns the head of a column with the spread of the column to its left.
func minMax(times int) string {
	if times < 2 {
		return "min..max"
	}
	return fmt.Sprintf("min..max of %d", times)
}

// spread writes the smallest and the largest of some figures, and a dash if there are fewer than two.
func spread(figures []float64, write func(float64) string) string {
	if len(figures) < 2 {
		return "–"
	}
	return write(measure.Quantile(figures, 0)) + ".." + write(measure.Quantile(figures, 1))
}

// rangeOf returns the spread of a contestant's pairs per second.
func rangeOf(s *measure.Series) string {
	var speeds []float64
	for i := range s.Samples {
		one := s.Only(i)
		speeds = append(speeds, one.PairsPerSecond())
	}
	return spread(speeds, count)
}

func medianOf(q measure.Quantiles) time.Duration { return q.P50 }
func p99Of(q measure.Quantiles) time.Duration    { return q.P99 }
func p999Of(q measure.Quantiles) time.Duration   { return q.P999 }

// roundsOf returns the number of rounds of the contestants that did not fail.
func roundsOf(entries []bench.Result) (rounds int) {
	for i := range entries {
		rounds = max(rounds, len(entries[i].Samples))
	}
	return rounds
}

func contendedRounds(h hotRun) (rounds int) {
	for i := range h.Fights {
		rounds = max(rounds, len(h.Fights[i].Samples))
	}
	return rounds
}

// quantileRange returns the spread of a quantile over the rounds, in microseconds.
func quantileRange(rounds []measure.Quantiles, quantile func(measure.Quantiles) time.Duration) string {
	var all []float64
	for _, q := range rounds {
		all = append(all, float64(quantile(q)))
	}
	return spread(all, func(x float64) string { return micros(time.Duration(x)) })
}

// holdRange returns the spread of a figure over the runs of Hold, in brackets. It returns nothing if there was one run,
// or none that measured it.
func holdRange(k *bench.HoldResult, figure func(*bench.HoldResult) float64, write func(float64) string) string {
	var all []float64
	for i := range k.Runs {
		all = append(all, figure(&k.Runs[i]))
	}
	if len(all) < 2 || !slices.ContainsFunc(all, func(x float64) bool { return x > 0 }) {
		return ""
	}
	return " (" + spread(all, write) + ")"
}
