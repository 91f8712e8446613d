package debug

import (
	"fmt"
	"math"

	"github.com/lockwheel/lockwheel"
)

// The sizes of a chart, in the units of its SVG. The page stretches it to the width of its column, and minBuckets keeps
// a bar from becoming as wide as that.
const (
	chartHeight = 80
	barWidth    = 10
	minBuckets  = 16
)

// chart is a histogram as the template draws it: a bar for each bucket from the first to the last that is not empty.
type chart struct {
	Title, Summary string
	First, Last    string // bounds of the first and the last bar
	Width, Height  int
	Bars           []bar
}

type bar struct {
	X, Y, Width, Height int
	Title               string
}

// charts returns the histograms of an engine, those without a value left out.
func charts(s *lockwheel.Stats) (all []chart) {
	for _, h := range []struct {
		title string
		of    *lockwheel.Histogram
	}{
		{"Turns of the loop", &s.TurnTimes},
		{"Round trips to the server", &s.RoundTrips},
		{"Time waited for a lock", &s.AcquireWaits},
		{"Time held", &s.HoldTimes},
		{"Left of the lease when renewed", &s.RenewalMargins},
	} {
		if n := h.of.Count(); n > 0 {
			all = append(all, chartOf(h.title, h.of, n))
		}
	}
	return all
}

// chartOf draws a histogram that is not empty. The height of a bar is logarithmic, so that a single slow turn among a
// million can be seen.
func chartOf(title string, h *lockwheel.Histogram, n uint64) chart {
	first, last, highest := -1, 0, uint64(0)
	for i, count := range h.Counts {
		if count == 0 {
			continue
		}
		if first < 0 {
			first = i
		}
		last, highest = i, max(highest, count)
	}
	first, last = widen(first, last, len(h.Counts))
	c := chart{
		Title: title, First: "up to " + bound(h, first), Last: bound(h, last),
		Summary: fmt.Sprintf("%d; half at most %s, 99 %% at most %s", n, boundOf(h, 0.5), boundOf(h, 0.99)),
		Width:   (last - first + 1) * barWidth, Height: chartHeight,
	}
	if last == len(h.Counts)-1 {
		c.Last = "more than " + bound(h, last-1)
	}
	for i := first; i <= last; i++ {
		if count := h.Counts[i]; count > 0 {
			height := max(2, int(chartHeight*math.Log1p(float64(count))/math.Log1p(float64(highest))))
			c.Bars = append(c.Bars, bar{(i - first) * barWidth, chartHeight - height, barWidth - 1, height, fmt.Sprintf("up to %s: %d", bound(h, i), count)})
		}
	}
	return c
}

// widen returns a range with at least minBuckets of n buckets, on both sides of the given one as far as there are any.
// It does not add the last bucket, which has no bound.
func widen(first, last, n int) (int, int) {
	missing := minBuckets - (last - first + 1)
	if missing <= 0 {
		return first, last
	}
	first = max(first-missing/2, 0)
	last = max(last, min(first+minBuckets, n-1)-1)
	return max(last-minBuckets+1, 0), last
}

func bound(h *lockwheel.Histogram, i int) string {
	if i == len(h.Counts)-1 {
		return "any duration"
	}
	return duration(h.Bound(i))
}

func boundOf(h *lockwheel.Histogram, part float64) string {
	if q := h.Quantile(part); q != math.MaxInt64 {
		return duration(q)
	}
	return "any duration"
}
