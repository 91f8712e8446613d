// Package histogram counts durations and sizes in buckets with fixed bounds. It is pure: no clock, no lock, no
// allocation. A histogram is a plain value of at most 520 bytes that can be copied and compared. Its bounds never
// change, so counts only grow, and histograms of several engines can be added.
//
// The bounds are exponential: powers of the square root of 2, in seconds, for [Durations], and powers of 2 for [Sizes].
// These are the bounds of Prometheus's native histograms with the schemas 1 and 0. So both types become native or
// classic histograms without loss.
//
// This package is not part of lockwheel's API: any version may change it. See docs/versions.md.
package histogram

import (
	"math"
	"math/bits"
	"time"
)

const (
	// DurationsSchema is the schema of Prometheus's native histograms that has the bounds of [Durations].
	DurationsSchema = 1
	// DurationsFirst is the number of the first bucket of [Durations] in that schema, where bucket k ends at 2^(k/2) s.
	DurationsFirst = -36

	durationBounds = 61 // from 2^-18 s to 2^12 s
)

// Durations is a histogram of durations. Its bounds are 61 powers of the square root of 2: 3.814 µs, 5.394 µs,
// 7.629 µs and so on up to 4096 s. The zero value is empty. It is not safe for concurrent use.
type Durations struct {
	// Counts has the number of durations in each bucket, not cumulative. A duration counts in the first bucket with a
	// bound that it does not exceed ([Durations.Bound]). The last bucket counts all that exceed every bound.
	Counts [durationBounds + 1]uint64
	Sum    float64 // of all durations, in seconds
}

// Bound returns the upper bound of bucket i, inclusive. Bounds are rounded down to nanoseconds, which puts no duration
// in another bucket. The bound of the last bucket is the longest duration.
func (h *Durations) Bound(i int) time.Duration { return durations.bounds[i] }

// Add counts a duration. A negative one counts as 0.
func (h *Durations) Add(d time.Duration) {
	d = max(d, 0)
	i := int(durations.firsts[bits.Len64(uint64(d))])
	for d > durations.bounds[i] {
		i++ // at most twice: a power of two has two bounds
	}
	h.Counts[i]++
	h.Sum += d.Seconds()
}

// Count returns the number of durations.
func (h *Durations) Count() uint64 { return count(h.Counts[:]) }

// Quantile returns the bound of the bucket within which the given part of all durations lies; part is between 0 and 1.
// It returns 0 if there are no durations, and the longest duration if the part reaches beyond 4096 s.
func (h *Durations) Quantile(part float64) time.Duration {
	i := quantile(h.Counts[:], part)
	if i < 0 {
		return 0
	}
	return h.Bound(i)
}

// Since returns what was counted after an earlier copy of the same histogram.
func (h *Durations) Since(earlier Durations) Durations {
	for i, n := range h.Counts {
		earlier.Counts[i] = n - earlier.Counts[i]
	}
	earlier.Sum = h.Sum - earlier.Sum
	return earlier
}

// durations are the bounds of Durations, and a shortcut to them.
var durations = newDurationTable()

// durationTable has the bounds of all buckets, and where the search for a bucket begins. newDurationTable makes the
// only one, durations; it is immutable.
type durationTable struct {
	bounds [durationBounds + 1]time.Duration
	firsts [65]uint8 // by the number of bits of a duration: the first bucket that such a duration may be in
}

func newDurationTable() (t durationTable) {
	for i := range durationBounds {
		t.bounds[i] = time.Duration(math.Exp2(float64(DurationsFirst+i)/2) * float64(time.Second))
	}
	t.bounds[durationBounds] = math.MaxInt64
	for n := 1; n < len(t.firsts); n++ {
		shortest := time.Duration(1) << (n - 1)
		i := int(t.firsts[n-1])
		for n < 64 && shortest > t.bounds[i] {
			i++
		}
		t.firsts[n] = uint8(i)
	}
	return t
}

// count returns the sum of counts.
func count(counts []uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// quantile returns the bucket within which a part of what was counted lies, or -1 if there is nothing.
func quantile(counts []uint64, part float64) int {
	within, before := max(uint64(math.Ceil(part*float64(count(counts)))), 1), uint64(0)
	for i, n := range counts {
		if before += n; before >= within {
			return i
		}
	}
	return -1
}
