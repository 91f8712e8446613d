package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/bench/revisions"
)

// The ratio is the median of the rounds' ratios with its range, which the medians of the two need not have. Numbers are
// plain ones.
func TestLine_RoundsDiffer_RatioOfRounds(t *testing.T) {
	pairs := &revisions.Figure{What: "pairs/s", Then: []float64{47750, 30000, 50000}, Now: []float64{34940, 31020, 51700}}
	require.Equal(t, "pairs/s: HEAD~20 47750, here 34940; ratio 1.034 (0.732 to 1.034)", line(pairs, "HEAD~20"))
	cpu := &revisions.Figure{What: "CPU of a pair, µs", Decimals: 2, Then: []float64{20.5}, Now: []float64{41}}
	require.Equal(t, "CPU of a pair, µs: v1 20.50, here 41.00; ratio 2.000 (2.000 to 2.000)", line(cpu, "v1"))
}
