package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The ratio is the median of the rounds' ratios with its range, which the medians of the two need not have. Numbers are
// plain ones.
func TestLine_RoundsDiffer_RatioOfRounds(t *testing.T) {
	pairs := figure{"pairs/s", 0, [2][]float64{{47750, 30000, 50000}, {34940, 31020, 51700}}}
	require.Equal(t, "pairs/s: HEAD~20 47750, here 34940; ratio 1.034 (0.732 to 1.034)", pairs.line("HEAD~20"))
	cpu := figure{"CPU of a pair, µs", 2, [2][]float64{{20.5}, {41}}}
	require.Equal(t, "CPU of a pair, µs: v1 20.50, here 41.00; ratio 2.000 (2.000 to 2.000)", cpu.line("v1"))
}

// The lines that a program prints are figures by name, of the revision that printed them.
func TestRead_Lines_FiguresOfRevision(t *testing.T) {
	all, err := read(nil, 0, "47750.5 0 pairs/s\n20.5 2 CPU of a pair, µs\n")
	require.NoError(t, err)
	all, err = read(all, 1, "1e+06 0 pairs/s\n")
	require.NoError(t, err)
	require.Equal(t, []*figure{{"pairs/s", 0, [2][]float64{{47750.5}, {1e6}}}, {"CPU of a pair, µs", 2, [2][]float64{{20.5}, nil}}}, all)
	for _, out := range []string{"12 3", "many 0 pairs/s", "1 x pairs/s"} {
		_, err = read(nil, 0, out)
		require.ErrorContains(t, err, out)
	}
}
