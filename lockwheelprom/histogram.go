package lockwheelprom

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/engine/histogram"
)

func ofDurations(h *lockwheel.Histogram) buckets {
	bound := func(i int) float64 { return h.Bound(i).Seconds() }
	const zeros = 1.0 / (1 << 18) // bound(0), before it was rounded to nanoseconds
	return buckets{h.Counts[:], bound, h.Sum, histogram.DurationsSchema, histogram.DurationsFirst, zeros}
}

func ofSizes(h *lockwheel.SizeHistogram) buckets {
	bound := func(i int) float64 { return float64(h.Bound(i)) }
	return buckets{h.Counts[:], bound, float64(h.Sum), histogram.SizesSchema, histogram.SizesFirst, 0}
}

// bothHistograms is a histogram in both forms. A server that asks for native histograms gets those; text has the
// classic buckets.
type bothHistograms struct{ classic, native prometheus.Metric }

// newHistogram returns the metric of a histogram. The last bucket has no upper bound: it is +Inf of the classic
// histogram. A native one has no such bucket for numbers, so it is the one after the last bound there.
func newHistogram(desc *prometheus.Desc, b buckets) prometheus.Metric {
	count, zeros := uint64(0), uint64(0)
	classic, native := make(map[float64]uint64, len(b.counts)-1), make(map[int]int64)
	for i, n := range b.counts {
		count += n
		if i < len(b.counts)-1 {
			classic[b.bound(i)] = count
		}
		switch {
		case i == 0 && b.zeroThreshold != 0:
			zeros = n
		case n != 0:
			native[b.first+i] = int64(n)
		}
	}
	of, err := prometheus.NewConstNativeHistogram(desc, count, b.sum, native, nil, zeros, int32(b.schema), b.zeroThreshold, time.Time{})
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return bothHistograms{prometheus.MustNewConstHistogram(desc, count, b.sum, classic), of}
}

// Desc returns the description of the metric.
func (b bothHistograms) Desc() *prometheus.Desc { return b.classic.Desc() }

// Write writes both forms. The time when the histogram was created is left out, because it is not known.
func (b bothHistograms) Write(to *dto.Metric) error {
	var classic dto.Metric
	if err := b.classic.Write(&classic); err != nil {
		return err
	}
	if err := b.native.Write(to); err != nil {
		return err
	}
	to.Histogram.Bucket, to.Histogram.CreatedTimestamp = classic.Histogram.Bucket, nil
	return nil
}
