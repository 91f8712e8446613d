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

// Median returns the middle value; of an even number, the mean of the two in the middle. Without values it is zero. The
// values are not changed.
func Median[T ~int | ~int64 | ~float64](values []T) T {
	if len(values)%2 == 1 || len(values) == 0 {
		return Quantile(values, 0.5)
	}
	sorted := slices.Sorted(slices.Values(values))
	below, above := sorted[len(sorted)/2-1], sorted[len(sorted)/2]
	return below + (above-below)/2
}
