package measure

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Quantile returns one of the values and does not reorder them.
func TestQuantile_IsOneOfTheValues(t *testing.T) {
	values := []int{5, 1, 4, 2, 3}
	require.Equal(t, 1, Quantile(values, 0))
	require.Equal(t, 3, Median(values))
	require.Equal(t, 4, Quantile(values, 0.99))
	require.Equal(t, 5, Quantile(values, 1))
	require.Equal(t, []int{5, 1, 4, 2, 3}, values, "left as they were")
	require.Equal(t, 2.5, Median([]float64{4, 3, 2, 1}), "the mean of the two in the middle")
	require.Equal(t, time.Duration(3), Median([]time.Duration{5, 1}))
	require.Zero(t, Median([]time.Duration(nil)))
}

// A histogram's quantile is never below the exact one, and at most 4 % above it.
func TestHistogram_Quantile_Within4Percent(t *testing.T) {
	var h Histogram
	var exact []time.Duration
	for i := range 20_000 {
		d := time.Duration(math.Pow(1.001, float64(i)))
		h.Record(d)
		exact = append(exact, d)
	}
	require.EqualValues(t, len(exact), h.Count())
	for _, q := range []float64{0, 0.001, 0.5, 0.9, 0.99, 0.999, 1} {
		want, got := Quantile(exact, q), h.Quantile(q)
		require.GreaterOrEqual(t, got, want, q)
		require.LessOrEqual(t, float64(got), 1.04*float64(want), q)
	}
	require.Equal(t, slices.Max(exact), h.Max())
}

// A histogram records any duration, and its buckets do not overlap.
func TestHistogram_AnyDuration_Recorded(t *testing.T) {
	var h Histogram
	require.Zero(t, h.Quantile(0.5))
	for _, d := range []time.Duration{-1, 0, 1, 31, 32, 33, math.MaxInt64} {
		h.Record(d)
	}
	require.Equal(t, time.Duration(math.MaxInt64), h.Quantile(1))
	require.Equal(t, time.Duration(31), h.Quantile(0.5), "small ones are exact")
	for _, v := range []uint64{0, 1, 31, 32, 63, 64, 65, 1000, math.MaxInt64} {
		b := bucketOf(v)
		require.GreaterOrEqual(t, endOf(b), v)
		if b > 0 {
			require.Less(t, endOf(b-1), v, "buckets do not overlap")
		}
	}
}

// A series reports medians and skips samples without pairs.
func TestSeries_EmptySamples_Skipped(t *testing.T) {
	var s Series
	require.Zero(t, s.PairsPerSecond())
	for _, pairs := range []int{100, 0, 400, 200} {
		s.Add(Sample{
			Pairs: pairs, Took: time.Second, Server: time.Duration(2 * pairs),
			Client: Usage{CPU: time.Duration(3 * pairs), Bytes: uint64(4 * pairs), Allocs: uint64(5 * pairs)},
		})
	}
	require.Equal(t, 200.0, s.PairsPerSecond())
	require.Equal(t, 5e6, s.NsPerPair())
	require.Equal(t, []time.Duration{3, 2}, []time.Duration{s.ClientCPU(), s.ServerCPU()})
	require.Equal(t, []float64{4, 5}, []float64{s.BytesPerPair(), s.AllocsPerPair()})
}

// Used counts what is allocated, and LiveHeap what is still in use.
func TestUsage_Allocations_Counted(t *testing.T) {
	before := Used()
	kept := make([][]byte, 1000)
	for i := range kept {
		kept[i] = make([]byte, 1000)
	}
	used := Used().Minus(before)
	require.GreaterOrEqual(t, used.Bytes, uint64(1_000_000))
	require.GreaterOrEqual(t, used.Allocs, uint64(1000))
	heap := LiveHeap()
	require.Len(t, kept, 1000)
	kept = nil
	require.Less(t, LiveHeap(), heap-900_000)
}

// A histogram that is stored and loaded is the same; invalid texts are errors.
func TestHistogram_JSON_RoundTrip(t *testing.T) {
	var h, again Histogram
	for i := range 5000 {
		h.Record(time.Duration(i * i))
	}
	text, err := json.Marshal(&h)
	require.NoError(t, err)
	again.Record(time.Hour) // is overwritten
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, h.Count(), again.Count())
	require.Equal(t, h.Max(), again.Max())
	for _, q := range []float64{0, 0.1, 0.5, 0.99, 0.999, 1} {
		require.Equal(t, h.Quantile(q), again.Quantile(q), q)
	}
	for _, wrong := range []string{"123456:1", "-1:1", "x", "3"} {
		require.Error(t, json.Unmarshal([]byte(`{"Buckets":"`+wrong+`"}`), &again), wrong)
	}
}
