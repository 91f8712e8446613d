package histogram

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A duration counts in the first bucket with a bound that it does not exceed.
func TestDurations_Any_CountedByBounds(t *testing.T) {
	t.Parallel()
	check := func(d time.Duration) {
		var h Durations
		h.Add(d)
		require.EqualValues(t, 1, h.Count())
		require.Equal(t, max(d, 0).Seconds(), h.Sum)
		i := slices.Index(h.Counts[:], 1)
		require.LessOrEqual(t, d, h.Bound(i))
		if i > 0 {
			require.Greater(t, d, h.Bound(i-1))
		}
	}
	var h Durations
	for i := range h.Counts {
		check(h.Bound(i))
		check(h.Bound(i) - 1)
		if i < len(h.Counts)-1 {
			check(h.Bound(i) + 1)
			require.Less(t, h.Bound(i), h.Bound(i+1))
		}
	}
	for _, d := range []time.Duration{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		check(d)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		check(time.Duration(random.Uint64() >> (1 + random.IntN(62))))
	}
}

// The bounds are those of Prometheus's native histograms: bucket k of schema 1 ends at 2^(k/2) s.
func TestDurations_Bounds_AreThoseOfSchema1(t *testing.T) {
	t.Parallel()
	var h Durations
	for i := range len(h.Counts) - 1 {
		bound := math.Pow(2, float64(DurationsFirst+i)/math.Exp2(DurationsSchema))
		require.Equal(t, time.Duration(math.Floor(bound*1e9)), h.Bound(i))
	}
	require.Equal(t, time.Second, h.Bound(-DurationsFirst))
	require.Equal(t, 4096*time.Second, h.Bound(len(h.Counts)-2))
	require.Equal(t, time.Duration(math.MaxInt64), h.Bound(len(h.Counts)-1))
}

// The quantile of any durations is at least that of the sorted durations, and at most √2 times that.
func TestDurations_Quantile_WithinABucket(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var h Durations
		all := make([]time.Duration, 1+random.IntN(200))
		for i := range all {
			all[i] = 4*time.Microsecond + time.Duration(random.Uint64()>>(23+random.IntN(30)))
			h.Add(all[i])
		}
		slices.Sort(all)
		for _, part := range []float64{0, 0.001, 0.5, 0.9, 0.999, 1} {
			exact := all[max(int(math.Ceil(part*float64(len(all)))), 1)-1]
			got := h.Quantile(part)
			require.GreaterOrEqual(t, got, exact)
			require.LessOrEqual(t, float64(got), float64(exact)*math.Sqrt2+1)
		}
	}
	require.Zero(t, (&Durations{}).Quantile(0.5), "nothing was counted")
}

// What was counted since a copy is what was added since.
func TestDurations_Since_IsWhatWasAdded(t *testing.T) {
	t.Parallel()
	var h, later Durations
	h.Add(time.Second)
	earlier := h
	for d := time.Microsecond; d < time.Hour; d *= 3 {
		h.Add(d)
		later.Add(d)
	}
	since := h.Since(earlier)
	require.Equal(t, later.Counts, since.Counts)
	require.InDelta(t, later.Sum, since.Sum, 1e-6)
	require.EqualValues(t, 1, earlier.Count(), "the copy stays as it is")
}

// A size counts in the first bucket with a bound that it does not exceed: bucket k of schema 0 ends at 2^k.
func TestSizes_Any_CountedByBounds(t *testing.T) {
	t.Parallel()
	for size := -2; size < 600; size++ {
		var h Sizes
		h.Add(size)
		require.EqualValues(t, 1, h.Count())
		require.EqualValues(t, max(size, 0), h.Sum)
		i := slices.Index(h.Counts[:], 1)
		require.LessOrEqual(t, size, h.Bound(i))
		require.Equal(t, h.Bound(i), h.Quantile(0.5))
		if i > 0 {
			require.Greater(t, size, h.Bound(i-1))
		}
	}
	var h Sizes
	for i := range len(h.Counts) - 1 {
		require.EqualValues(t, math.Pow(2, float64(SizesFirst+i)/math.Exp2(SizesSchema)), h.Bound(i))
	}
	require.Zero(t, h.Quantile(0.5), "nothing was counted")
	h.Add(math.MaxInt)
	require.Equal(t, math.MaxInt, h.Quantile(0))
}

func TestHistograms_Size_IsAFewHundredBytes(t *testing.T) {
	t.Parallel()
	require.LessOrEqual(t, unsafe.Sizeof(Durations{}), uintptr(520))
	require.LessOrEqual(t, unsafe.Sizeof(Sizes{}), uintptr(100))
}

func TestHistograms_Add_AllocatesNothing(t *testing.T) {
	var h Durations
	var s Sizes
	require.Zero(t, testing.AllocsPerRun(100, func() { h.Add(time.Millisecond); s.Add(7) }))
}

func BenchmarkDurationsAdd(b *testing.B) {
	var h Durations
	d := time.Duration(1)
	for b.Loop() {
		h.Add(d)
		d = d*5%(1<<35) + 3
	}
}
