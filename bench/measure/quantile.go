package measure

import (
	"cmp"
	"slices"
)

// Quantile returns the value that a share q of the values does not exceed: 0.5 is the median, 1 the largest. Without
// values it is zero. The values are not changed.
func Quantile[T cmp.Ordered](values []T, q float64) T {
	var none T
	if len(values) == 0 {
		return none
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1))]
}

// Median returns the middle value; of an even number, the lower of both.
func Median[T cmp.Ordered](values []T) T { return Quantile(values, 0.5) }
