package producer_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/lockwheelotel"
	"github.com/lockwheel/lockwheel/lockwheelotel/producer"
)

func TestMain(m *testing.M) { locktest.RunTests(m) }

// fixed is a source with a snapshot that the test chooses.
type fixed lockwheel.Stats

func (f *fixed) Stats() lockwheel.Stats { return lockwheel.Stats(*f) }

// collect returns the only data point of each histogram, by name, as OpenTelemetry's SDK collects them.
func collect(t *testing.T, engine lockwheelotel.Source, attributes ...attribute.KeyValue) map[string]metricdata.HistogramDataPoint[float64] {
	t.Helper()
	histograms, err := producer.New(engine, "e", attributes...)
	require.NoError(t, err)
	reader := metric.NewManualReader(metric.WithProducer(histograms))
	metric.NewMeterProvider(metric.WithReader(reader))
	var data metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &data))
	all := map[string]metricdata.HistogramDataPoint[float64]{}
	for _, scope := range data.ScopeMetrics {
		for _, one := range scope.Metrics {
			h, ok := one.Data.(metricdata.Histogram[float64])
			require.True(t, ok, one.Name)
			require.Equal(t, metricdata.CumulativeTemporality, h.Temporality)
			require.NotEmpty(t, one.Unit)
			require.NotEmpty(t, one.Description)
			require.Len(t, h.DataPoints, 1)
			all[one.Name] = h.DataPoints[0]
		}
	}
	return all
}

// Each histogram of Stats is a metric of its own, also one that will be added.
func TestProducer_EachHistogramOfStats_Exported(t *testing.T) {
	want := map[string]string{
		"AcquireWaits": "lockwheel.acquire.wait", "HoldTimes": "lockwheel.hold.duration", "RenewalMargins": "lockwheel.renewal.margin",
		"RoundTrips": "lockwheel.call.round_trip", "TurnTimes": "lockwheel.loop.turn", "BatchSizes": "lockwheel.call.commands",
	}
	for i := range reflect.TypeFor[lockwheel.Stats]().NumField() {
		var stats fixed
		name, sum := want[reflect.TypeFor[lockwheel.Stats]().Field(i).Name], 3.0
		switch h := reflect.ValueOf((*lockwheel.Stats)(&stats)).Elem().Field(i).Addr().Interface().(type) {
		case *lockwheel.Histogram:
			h.Add(time.Second)
			h.Add(2 * time.Second)
		case *lockwheel.SizeHistogram:
			h.Add(1)
			h.Add(2)
		default:
			continue
		}
		require.NotEmpty(t, name, reflect.TypeFor[lockwheel.Stats]().Field(i).Name)
		all := collect(t, &stats, attribute.String("more", "x"))
		require.Len(t, all, len(want))
		for other, point := range all {
			require.Equal(t, attribute.NewSet(attribute.String("more", "x"), attribute.String("lockwheel.engine.name", "e")), point.Attributes)
			require.Len(t, point.BucketCounts, len(point.Bounds)+1)
			require.IsIncreasing(t, point.Bounds)
			if other != name {
				require.Zero(t, point.Count, other)
				continue
			}
			require.EqualValues(t, 2, point.Count)
			require.InDelta(t, sum, point.Sum, 1e-9)
			for k, bound := range point.Bounds {
				require.EqualValues(t, map[bool]int{true: 1}[bound == 1 || bound == 2], point.BucketCounts[k], "bucket up to %v", bound)
			}
		}
	}
}

// All collections have one start, which is the call of New, and each has its own time.
func TestProducer_Times_OneStart(t *testing.T) {
	given := append(make([]attribute.KeyValue, 0, 2), attribute.String("z", "x"))
	begun := time.Now()
	histograms, err := producer.New(&fixed{}, "e", given...)
	require.NoError(t, err)
	made := time.Now()
	require.Zero(t, given[:2][1], "what is behind the attributes is the caller's")
	last := made
	for range 2 {
		for !time.Now().After(last) { // a clock may be coarse
		}
		all, err := histograms.Produce(t.Context())
		require.NoError(t, err)
		for _, m := range all[0].Metrics {
			point := m.Data.(metricdata.Histogram[float64]).DataPoints[0]
			require.WithinRange(t, point.StartTime, begun, made)
			require.True(t, point.Time.After(last), m.Name)
		}
		last = time.Now()
	}
}

// A lock that was taken is in the histograms of its engine, and stays there after Close.
func TestProducer_Engine_Counts(t *testing.T) {
	engine := locktest.AnyServer(t).Open(lockwheel.Options{})
	locktest.Unlock(t, locktest.Lock(t, engine.Mutex("a")))
	require.EqualValues(t, 1, collect(t, engine)["lockwheel.hold.duration"].Count)
	engine.Close()
	require.EqualValues(t, 1, collect(t, engine)["lockwheel.acquire.wait"].Count)
}

// A nil engine is an error and no panic at the first collection.
func TestProducer_NilEngine_Rejected(t *testing.T) {
	for _, engine := range []lockwheelotel.Source{nil, (*lockwheel.Engine)(nil)} {
		histograms, err := producer.New(engine, "e")
		require.EqualError(t, err, "lockwheelotel: histograms of a nil engine")
		require.Nil(t, histograms)
	}
}
