package lockwheelprom_test

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/lockwheelprom"
)

// fixed is a source with a snapshot that the test chooses.
type fixed lockwheel.Stats

func (f *fixed) Stats() lockwheel.Stats { return lockwheel.Stats(*f) }

// gather returns the metrics of collectors by name.
func gather(t *testing.T, collectors ...prometheus.Collector) map[string]*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collectors...)
	families, err := registry.Gather()
	require.NoError(t, err)
	byName := make(map[string]*dto.MetricFamily)
	for _, family := range families {
		byName[family.GetName()] = family
	}
	return byName
}

// shown returns the families that are not those of an empty snapshot.
func shown(t *testing.T, stats lockwheel.Stats) (names []string) {
	t.Helper()
	f, empty := fixed(stats), fixed{}
	all, none := gather(t, lockwheelprom.NewCollector(&f, "e")), gather(t, lockwheelprom.NewCollector(&empty, "e"))
	require.Len(t, all, len(none))
	for name, family := range all {
		if family.String() != none[name].String() {
			names = append(names, name)
		}
	}
	return names
}

// metricOf is the metric of each field of Stats, without the prefix.
var metricOf = map[string]string{
	"Held": "holds", "Waiting": "waiting_requests", "InFlight": "in_flight_commands", "Subscriptions": "subscribed_channels",
	"Timers": "timers", "Polling": "polled_locks", "RenewalLag": "renewal_lag_seconds", "LongestWaiting": "longest_waiting_seconds", "ServersDown": "servers_down", "ClockSkew": "clock_skew_seconds",
	"Acquired": "acquired_total", "Failed": "failed_total", "Shed": "shed_total", "Released": "released_total",
	"Lost": "lost_total", "LostAtUnlock": "lost_at_unlock_total", "Renewed": "renewed_total", "HandedOff": "handed_off_total",
	"UnpublishedReleases": "unpublished_releases_total", "Commands": "commands_total", "Batches": "calls_total",
	"Retries": "retries_total", "LoopTurns": "loop_turns_total", "UnwrittenRecords": "unwritten_records_total", "DroppedEvents": "dropped_events_total", "Panics": "panics_total",
	"HeldTooLong":  "held_too_long_total",
	"Leaked":       "leaked_total",
	"AcquireWaits": "acquire_wait_seconds", "HoldTimes": "hold_seconds", "RenewalMargins": "renewal_margin_seconds",
	"RoundTrips": "round_trip_seconds", "TurnTimes": "turn_seconds", "BatchSizes": "call_commands",
}

// Each field of Stats is its own metric, also a field that will be added.
func TestCollector_EachStatsField_IsExported(t *testing.T) {
	t.Parallel()
	for i := range reflect.TypeFor[lockwheel.Stats]().NumField() {
		var stats lockwheel.Stats
		field := reflect.TypeFor[lockwheel.Stats]().Field(i).Name
		switch value := reflect.ValueOf(&stats).Elem().Field(i); what := value.Addr().Interface().(type) {
		case *int64:
			*what = 1
		case *uint64:
			*what = 1
		case *time.Duration:
			*what = time.Second
		case *lockwheel.Histogram:
			what.Add(time.Second)
		case *lockwheel.SizeHistogram:
			what.Add(7)
		default:
			t.Fatalf("%s has a type that the collector does not know", field)
		}
		require.Equal(t, []string{"lockwheel_" + metricOf[field]}, shown(t, stats), field)
		gauge := reflect.TypeFor[lockwheel.Stats]().Field(i).Type.Kind() == reflect.Int64 // an engine that is closed zeroes these
		kind := gather(t, lockwheelprom.NewCollector(&fixed{}, "e"))["lockwheel_"+metricOf[field]].GetType()
		require.Equal(t, gauge, kind == dto.MetricType_GAUGE, field)
	}
	empty := fixed{}
	require.Len(t, gather(t, lockwheelprom.NewCollector(&empty, "e")), len(metricOf))
}

// The names and types are what Prometheus's conventions want, and each engine has its label.
func TestCollector_Engines_ToldApart(t *testing.T) {
	t.Parallel()
	one, other, odd := fixed{Held: 1}, fixed{Held: 2}, fixed{Held: 3}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(lockwheelprom.NewCollector(&one, "one"), lockwheelprom.NewCollector(&other, "other"), lockwheelprom.NewCollector(&odd, "x\xff"))
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
		# HELP lockwheel_holds Holds, each re-entry counted.
		# TYPE lockwheel_holds gauge
		lockwheel_holds{engine="one"} 1
		lockwheel_holds{engine="other"} 2
		lockwheel_holds{engine="x�"} 3
	`), "lockwheel_holds"))
	require.Error(t, registry.Register(lockwheelprom.NewCollector(&one, "one")), "the same name again")
}

// A classic histogram has each bucket of the engine's.
func TestCollector_Histogram_ClassicIsTheSame(t *testing.T) {
	t.Parallel()
	var stats fixed
	h, s := &stats.HoldTimes, &stats.BatchSizes
	for i := range h.Counts {
		h.Counts[i] = uint64(i*i + 1)
	}
	for i := range s.Counts {
		s.Counts[i] = uint64(i*i + 1)
	}
	h.Sum, s.Sum = 12.5, 34
	all := gather(t, lockwheelprom.NewCollector(&stats, "e"))
	check := func(name string, counts []uint64, bound func(i int) float64, sum float64) {
		classic := all[name].Metric[0].Histogram
		before := uint64(0)
		require.Len(t, classic.Bucket, len(counts)-1, "+Inf is the number of all")
		require.Nil(t, classic.CreatedTimestamp, "it is not known")
		for i, b := range classic.Bucket {
			require.InDelta(t, bound(i), b.GetUpperBound(), 0)
			require.Equal(t, counts[i], b.GetCumulativeCount()-before, i)
			before = b.GetCumulativeCount()
		}
		require.Equal(t, counts[len(counts)-1], classic.GetSampleCount()-before)
		require.InDelta(t, sum, classic.GetSampleSum(), 0)
	}
	check("lockwheel_hold_seconds", h.Counts[:], func(i int) float64 { return h.Bound(i).Seconds() }, 12.5)
	check("lockwheel_call_commands", s.Counts[:], func(i int) float64 { return float64(s.Bound(i)) }, 34)
}

// nativeBuckets returns the counts of the buckets of a native histogram by their upper bound.
func nativeBuckets(h *dto.Histogram) map[string]uint64 {
	buckets, next, count, delta := make(map[string]uint64), int32(0), int64(0), 0
	if h.GetZeroThreshold() != 0 {
		buckets[rounded(h.GetZeroThreshold())] = h.GetZeroCount()
	}
	for _, span := range h.PositiveSpan {
		next += span.GetOffset()
		for range span.GetLength() {
			count += h.PositiveDelta[delta]
			buckets[rounded(math.Exp2(float64(next)/math.Exp2(float64(h.GetSchema()))))] = uint64(count)
			next, delta = next+1, delta+1
		}
	}
	return buckets
}

// rounded shows a bound without what rounding to nanoseconds may change.
func rounded(bound float64) string { return fmt.Sprintf("%.3g", bound) }

// A native histogram has each bucket of the engine's, with the same bounds.
func TestCollector_Histogram_NativeIsTheSame(t *testing.T) {
	t.Parallel()
	var stats fixed
	wantTimes, wantSizes := make(map[string]uint64), make(map[string]uint64)
	h, s := &stats.HoldTimes, &stats.BatchSizes
	for i := range len(h.Counts) - 1 {
		h.Counts[i] = uint64(i*i + 1)
		wantTimes[rounded(h.Bound(i).Seconds())] = h.Counts[i]
	}
	for i := range len(s.Counts) - 1 {
		s.Counts[i] = uint64(i*i + 1)
		wantSizes[rounded(float64(s.Bound(i)))] = s.Counts[i]
	}
	h.Counts[len(h.Counts)-1], wantTimes[rounded(4096*math.Sqrt2)] = 3, 3 // more than 4096 s: the next bucket
	s.Counts[len(s.Counts)-1], wantSizes["512"] = 4, 4
	all := gather(t, lockwheelprom.NewCollector(&stats, "e"))
	require.Equal(t, wantTimes, nativeBuckets(all["lockwheel_hold_seconds"].Metric[0].Histogram))
	require.Equal(t, wantSizes, nativeBuckets(all["lockwheel_call_commands"].Metric[0].Histogram))
	require.Equal(t, h.Count(), all["lockwheel_hold_seconds"].Metric[0].Histogram.GetSampleCount())
}

// A scrape shows what an engine has done, also after it is closed.
func TestCollector_Engine_ShowsWhatItDid(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	c := lockwheelprom.NewCollector(e, "orders")
	for range 5 {
		locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
	}
	locktest.Lock(t, e.Mutex("kept"))
	all := gather(t, c)
	require.InDelta(t, 6, all["lockwheel_acquired_total"].Metric[0].Counter.GetValue(), 0)
	require.InDelta(t, 1, all["lockwheel_holds"].Metric[0].Gauge.GetValue(), 0)
	require.EqualValues(t, 6, all["lockwheel_acquire_wait_seconds"].Metric[0].Histogram.GetSampleCount())
	require.Equal(t, "engine", all["lockwheel_holds"].Metric[0].Label[0].GetName())
	require.Equal(t, "orders", all["lockwheel_holds"].Metric[0].Label[0].GetValue())
	e.Close()
	all = gather(t, c)
	require.InDelta(t, 6, all["lockwheel_acquired_total"].Metric[0].Counter.GetValue(), 0)
	require.Zero(t, all["lockwheel_holds"].Metric[0].Gauge.GetValue())
	require.EqualValues(t, 6, all["lockwheel_hold_seconds"].Metric[0].Histogram.GetSampleCount())
}

// After an engine is closed each gauge is 0, also one that tells of the last minute.
func TestCollector_ClosedEngine_GaugesZero(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{Lease: locktest.ShortLease})
	c := lockwheelprom.NewCollector(e, "e")
	locktest.Lock(t, e.Mutex("n"))
	locktest.Eventually(t, "a renewal was late", func() bool { return e.Stats().RenewalLag > 0 })
	e.Close()
	for name, family := range gather(t, c) {
		if family.GetType() == dto.MetricType_GAUGE {
			require.Zero(t, family.Metric[0].Gauge.GetValue(), name)
		}
	}
}

// A nil engine has no metrics. It does not fail the scrape of the whole process.
func TestCollector_NilEngine_ExportsNothing(t *testing.T) {
	var e *lockwheel.Engine
	require.Empty(t, gather(t, lockwheelprom.NewCollector(e, "e"), lockwheelprom.NewCollector(nil, "none")))
	require.Empty(t, gather(t, lockwheelprom.NewLockCollector(e, "e", regexp.MustCompile(``)), lockwheelprom.NewLockCollector(nil, "none", nil)))
}
