package measure

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"strings"
	"sync/atomic"
	"time"
)

// subBuckets is the number of buckets per power of two: a bucket is at most 3 % wide.
const (
	subBucketBits = 5
	subBuckets    = 1 << subBucketBits
)

// Histogram counts durations in buckets of equal relative width. The zero Histogram is empty. Record is safe for
// concurrent use; no other method may run at the same time as Record.
type Histogram struct {
	buckets [64 * subBuckets]atomic.Uint64
	longest atomic.Int64
}

// Record counts a duration; a negative one counts as zero.
func (h *Histogram) Record(d time.Duration) {
	d = max(d, 0)
	h.buckets[bucketOf(uint64(d))].Add(1)
	for {
		seen := h.longest.Load()
		if int64(d) <= seen || h.longest.CompareAndSwap(seen, int64(d)) {
			return
		}
	}
}

// Count returns how many durations were recorded.
func (h *Histogram) Count() (n uint64) {
	for i := range h.buckets {
		n += h.buckets[i].Load()
	}
	return n
}

// Max returns the longest duration, exactly.
func (h *Histogram) Max() time.Duration { return time.Duration(h.longest.Load()) }

// Quantile returns the upper end of the bucket that holds the quantile, at most Max: never too small.
func (h *Histogram) Quantile(q float64) time.Duration {
	total := h.Count()
	if total == 0 {
		return 0
	}
	rank, seen := uint64(q*float64(total-1)), uint64(0)
	for i := range h.buckets {
		seen += h.buckets[i].Load()
		if seen > rank {
			return min(time.Duration(endOf(i)), h.Max())
		}
	}
	return h.Max()
}

// stored is a histogram in a file. It has the buckets that are not empty on one line, as in "17:3 40:1", and the
// longest duration in nanoseconds.
type stored struct {
	Buckets string
	Longest int64
}

// MarshalJSON writes the buckets, from which every quantile can be computed again.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	var filled []string
	for i := range h.buckets {
		if n := h.buckets[i].Load(); n > 0 {
			filled = append(filled, fmt.Sprintf("%d:%d", i, n))
		}
	}
	return json.Marshal(stored{strings.Join(filled, " "), h.longest.Load()})
}

// UnmarshalJSON replaces the histogram by what MarshalJSON wrote. After an error it is empty or has a part.
func (h *Histogram) UnmarshalJSON(text []byte) error {
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	for i := range h.buckets {
		h.buckets[i].Store(0)
	}
	for _, filled := range strings.Fields(s.Buckets) {
		var i int
		var n uint64
		if _, err := fmt.Sscanf(filled, "%d:%d", &i, &n); err != nil || i < 0 || i >= len(h.buckets) {
			return fmt.Errorf("histogram: %q is no bucket", filled)
		}
		h.buckets[i].Store(n)
	}
	h.longest.Store(s.Longest)
	return nil
}

// bucketOf returns the bucket of a value: an exact one for small values, otherwise by its leading bits.
func bucketOf(v uint64) int {
	if v < subBuckets {
		return int(v)
	}
	shift := bits.Len64(v) - subBucketBits - 1
	return (shift+1)*subBuckets + int(v>>shift) - subBuckets
}

// endOf returns the largest value of a bucket.
func endOf(bucket int) uint64 {
	if bucket < subBuckets {
		return uint64(bucket)
	}
	shift := bucket/subBuckets - 1
	return (uint64(bucket%subBuckets+subBuckets)+1)<<shift - 1
}
