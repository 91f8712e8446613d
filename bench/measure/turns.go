package measure

import "time"

// Quantiles are those of one turn of a contestant, or of one run.
type Quantiles struct{ P50, P99, P999 time.Duration }

// Quantiles returns the quantiles of all durations.
func (h *Histogram) Quantiles() Quantiles {
	return Quantiles{h.Quantile(0.5), h.Quantile(0.99), h.Quantile(0.999)}
}

// Add counts the durations of another histogram too. No other method of both may run at the same time.
func (h *Histogram) Add(other *Histogram) {
	for i := range other.buckets {
		h.buckets[i].Add(other.buckets[i].Load())
	}
	h.longest.Store(max(h.longest.Load(), other.longest.Load()))
}
