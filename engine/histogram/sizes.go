package histogram

import (
	"math"
	"math/bits"
)

const (
	// SizesSchema is the schema of Prometheus's native histograms that has the bounds of [Sizes].
	SizesSchema = 0
	// SizesFirst is the number of the first bucket of [Sizes] in that schema, where bucket k ends at 2^k.
	SizesFirst = 0

	sizeBounds = 9 // from 1 to 256
)

// Sizes is a histogram of sizes. Its bounds are 1, 2, 4 and so on up to 256. The zero value is empty. It is not safe
// for concurrent use.
type Sizes struct {
	// Counts has the number of sizes in each bucket, not cumulative. A size counts in the first bucket with a bound
	// that it does not exceed ([Sizes.Bound]). The last bucket counts all above 256.
	Counts [sizeBounds + 1]uint64
	Sum    uint64 // of all sizes
}

// Bound returns the upper bound of bucket i, inclusive. The bound of the last bucket is the largest size.
func (h *Sizes) Bound(i int) int {
	if i == sizeBounds {
		return math.MaxInt
	}
	return 1 << i
}

// Add counts a size. A size below 1 counts in the first bucket, and a negative one counts as 0.
func (h *Sizes) Add(size int) {
	size = max(size, 0)
	h.Counts[min(bits.Len64(uint64(max(size, 1)-1)), sizeBounds)]++
	h.Sum += uint64(size)
}

// Count returns the number of sizes.
func (h *Sizes) Count() uint64 { return count(h.Counts[:]) }

// Quantile returns the bound of the bucket within which the given part of all sizes lies; part is between 0 and 1. It
// returns 0 if there are no sizes, and the largest size if the part reaches beyond 256.
func (h *Sizes) Quantile(part float64) int {
	i := quantile(h.Counts[:], part)
	if i < 0 {
		return 0
	}
	return h.Bound(i)
}
