package measure

import (
	"cmp"
	"slices"
)

// Quantile is the value that a share q of the values does not exceed: 0.5 is the median, 1 the largest. Of no
// values it is zero. The values stay as they are.
func Quantile[T cmp.Ordered](values []T, q float64) T {
	var none T
	if len(values) == 0 {
		return none
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1))]
}

// Median is the middle value; of an even number the lower of both.
func Median[T cmp.Ordered](values []T) T { return Quantile(values, 0.5) }
