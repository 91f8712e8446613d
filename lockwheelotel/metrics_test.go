package lockwheelotel_test

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/lockwheelotel"
)

// fixed is a source with a snapshot that the test chooses.
type fixed lockwheel.Stats

func (f *fixed) Stats() lockwheel.Stats { return lockwheel.Stats(*f) }

// meters is a provider and its reader.
type meters struct {
	*sdkmetric.MeterProvider
	reader *sdkmetric.ManualReader
}

func newMeters() meters {
	reader := sdkmetric.NewManualReader()
	return meters{sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), reader}
}

func (m meters) register(t *testing.T, engine lockwheelotel.Source, name string, options ...lockwheelotel.Option) func() error {
	t.Helper()
	unregister, err := lockwheelotel.RegisterMetrics(engine, name, append(options, lockwheelotel.WithMeterProvider(m))...)
	require.NoError(t, err)
	return unregister
}

// collect returns the metrics by name.
func (m meters) collect(t *testing.T) map[string]metricdata.Metrics {
	t.Helper()
	var data metricdata.ResourceMetrics
	require.NoError(t, m.reader.Collect(t.Context(), &data))
	all := make(map[string]metricdata.Metrics)
	for _, scope := range data.ScopeMetrics {
		for _, one := range scope.Metrics {
			require.NotContains(t, all, one.Name)
			all[one.Name] = one
		}
	}
	return all
}

// points returns the values of a metric by its attributes, and what kind of metric it is.
func points(t *testing.T, m metricdata.Metrics) (values map[attribute.Distinct]float64, kind string) {
	t.Helper()
	values = make(map[attribute.Distinct]float64)
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			values[p.Attributes.Equivalent()] = float64(p.Value)
		}
		if kind = "up-down counter"; data.IsMonotonic {
			kind = "counter"
		}
	case metricdata.Gauge[float64]:
		for _, p := range data.DataPoints {
			values[p.Attributes.Equivalent()] = p.Value
		}
		kind = "gauge"
	default:
		t.Fatalf("%s is a %T", m.Name, data)
	}
	return values, kind
}

// named returns the attributes of an engine's metrics.
func named(engine string, more ...attribute.KeyValue) attribute.Distinct {
	set := attribute.NewSet(append(more, attribute.String("lockwheel.engine.name", engine))...)
	return set.Equivalent()
}

// metricOf is the metric of each field of Stats, its unit and what it is. Histograms have none.
var metricOf = map[string][3]string{
	"Held":                {"lockwheel.hold.count", "{hold}", "up-down counter"},
	"Waiting":             {"lockwheel.request.waiting", "{request}", "up-down counter"},
	"InFlight":            {"lockwheel.command.in_flight", "{command}", "up-down counter"},
	"Subscriptions":       {"lockwheel.channel.subscribed", "{channel}", "up-down counter"},
	"Timers":              {"lockwheel.timer.count", "{timer}", "up-down counter"},
	"Polling":             {"lockwheel.lock.polled", "{lock}", "up-down counter"},
	"Acquired":            {"lockwheel.hold.acquired", "{hold}", "counter"},
	"Released":            {"lockwheel.hold.released", "{hold}", "counter"},
	"Lost":                {"lockwheel.hold.lost", "{hold}", "counter"},
	"LostAtUnlock":        {"lockwheel.hold.lost_at_unlock", "{hold}", "counter"},
	"HeldTooLong":         {"lockwheel.hold.too_long", "{hold}", "counter"},
	"Leaked":              {"lockwheel.hold.leaked", "{hold}", "counter"},
	"HandedOff":           {"lockwheel.hold.handed_off", "{hold}", "counter"},
	"Failed":              {"lockwheel.request.failed", "{request}", "counter"},
	"Shed":                {"lockwheel.request.shed", "{request}", "counter"},
	"Renewed":             {"lockwheel.renewal.confirmed", "{renewal}", "counter"},
	"UnpublishedReleases": {"lockwheel.release.unpublished", "{release}", "counter"},
	"Commands":            {"lockwheel.command.sent", "{command}", "counter"},
	"Retries":             {"lockwheel.command.retried", "{retry}", "counter"},
	"Batches":             {"lockwheel.call.sent", "{call}", "counter"},
	"LoopTurns":           {"lockwheel.loop.turned", "{turn}", "counter"},
	"UnwrittenRecords":    {"lockwheel.record.unwritten", "{record}", "counter"},
	"DroppedEvents":       {"lockwheel.event.dropped", "{event}", "counter"},
	"Panics":              {"lockwheel.panic.recovered", "{panic}", "counter"},
	"ServersDown":         {"lockwheel.server.down", "{server}", "up-down counter"},
	"LongestWaiting":      {"lockwheel.request.longest_waiting", "s", "gauge"},
	"RenewalLag":          {"lockwheel.renewal.lag", "s", "gauge"},
	"ClockSkew":           {"lockwheel.clock.skew", "s", "gauge"},
}

// Each field of Stats but the histograms is its own metric, also a field that will be added.
func TestMetrics_EachFieldOfStats_Exported(t *testing.T) {
	t.Parallel()
	var stats fixed
	m := newMeters()
	m.register(t, &stats, "e")
	fields := 0
	for i := range reflect.TypeFor[lockwheel.Stats]().NumField() {
		stats = fixed{}
		field, want := reflect.TypeFor[lockwheel.Stats]().Field(i).Name, 7.0
		switch value := reflect.ValueOf((*lockwheel.Stats)(&stats)).Elem().Field(i); what := value.Addr().Interface().(type) {
		case *int64:
			*what = 7
		case *uint64:
			*what = 7
		case *time.Duration:
			*what, want = 1500*time.Millisecond, 1.5
		case *lockwheel.Histogram, *lockwheel.SizeHistogram:
			continue
		default:
			t.Fatalf("%s has a type that the metrics do not know", field)
		}
		fields++
		all := m.collect(t)
		require.Len(t, all, len(metricOf))
		for name, metric := range all {
			values, kind := points(t, metric)
			require.Len(t, values, 1)
			if name != metricOf[field][0] {
				require.Zero(t, values[named("e")], "%s changes %s", field, name)
				continue
			}
			require.InDelta(t, want, values[named("e")], 0, field)
			require.Equal(t, metricOf[field], [3]string{name, metric.Unit, kind})
			require.NotEmpty(t, metric.Description)
			gauge := reflect.TypeFor[lockwheel.Stats]().Field(i).Type.Kind() == reflect.Int64 // an engine that is closed zeroes these
			require.Equal(t, gauge, kind != "counter", field)
		}
	}
	require.Len(t, metricOf, fields)
}

func TestEngineName_Any_BoundedText(t *testing.T) {
	t.Parallel()
	require.Equal(t, strings.Repeat("x", 256), lockwheelotel.EngineName(strings.Repeat("x", 300)).Value.AsString())
	require.Equal(t, "a\uFFFD", lockwheelotel.EngineName("a\xff").Value.AsString())
}

// Each engine has its values until it is unregistered, and those of the others stay.
func TestMetrics_SeveralEngines_ToldApart(t *testing.T) {
	t.Parallel()
	m := newMeters()
	shop := attribute.String("shop", "s")
	first := m.register(t, &fixed{Held: 1}, "one", lockwheelotel.WithAttributes(shop))
	second := m.register(t, &fixed{Held: 2}, "other")
	values, _ := points(t, m.collect(t)["lockwheel.hold.count"])
	require.Equal(t, map[attribute.Distinct]float64{named("one", shop): 1, named("other"): 2}, values)
	require.NoError(t, first())
	values, _ = points(t, m.collect(t)["lockwheel.hold.count"])
	require.Equal(t, map[attribute.Distinct]float64{named("other"): 2}, values)
	require.NoError(t, first(), "again")
	require.NoError(t, second())
	require.Empty(t, m.collect(t))
}

// A collection shows what an engine has done, also after it is closed.
func TestMetrics_Engine_ShowsWhatItDid(t *testing.T) {
	t.Parallel()
	e, m := locktest.AnyServer(t).Open(lockwheel.Options{Lease: locktest.ShortLease}), newMeters()
	m.register(t, e, "e")
	value := func(name string) float64 {
		values, _ := points(t, m.collect(t)[name])
		require.Len(t, values, 1)
		return values[named("e")]
	}
	for range 5 {
		locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
	}
	locktest.Lock(t, e.Mutex("kept"))
	require.InDelta(t, 6, value("lockwheel.hold.acquired"), 0)
	require.InDelta(t, 1, value("lockwheel.hold.count"), 0)
	locktest.Eventually(t, "a renewal was late", func() bool { return value("lockwheel.renewal.lag") > 0 })
	e.Close()
	for name, metric := range m.collect(t) {
		if values, kind := points(t, metric); kind != "counter" {
			require.Zero(t, values[named("e")], name)
		}
	}
	require.InDelta(t, 6, value("lockwheel.hold.acquired"), 0)
	require.Zero(t, value("lockwheel.hold.count"))
}

// rejecting is a meter that cannot make gauges, or cannot register callbacks.
type rejecting struct {
	noop.Meter
	gauges bool
}

// rejectingProvider is the provider of such a meter.
type rejectingProvider struct {
	noop.MeterProvider
	meter rejecting
}

func (r rejectingProvider) Meter(string, ...metric.MeterOption) metric.Meter { return r.meter }

var errRejected = errors.New("rejected")

func (r rejecting) Float64ObservableGauge(string, ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	if r.gauges {
		return noop.Float64ObservableGauge{}, nil
	}
	return nil, errRejected
}

func (r rejecting) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return nil, errRejected
}

// What cannot be registered is an error that names the engine.
func TestMetrics_Rejected_IsAnError(t *testing.T) {
	t.Parallel()
	_, err := lockwheelotel.RegisterMetrics((*lockwheel.Engine)(nil), "e")
	require.ErrorContains(t, err, "nil engine")
	unregister, err := lockwheelotel.RegisterMetrics(nil, "e")
	require.ErrorContains(t, err, "nil engine")
	require.Nil(t, unregister)
	for _, gauges := range []bool{false, true} {
		unregister, err = lockwheelotel.RegisterMetrics(&fixed{}, "orders", lockwheelotel.WithMeterProvider(rejectingProvider{meter: rejecting{gauges: gauges}}))
		require.ErrorIs(t, err, errRejected)
		require.ErrorContains(t, err, `"orders"`)
		require.Nil(t, unregister)
	}
}

// The page lists exactly the metrics that exist.
func TestPage_Metrics_AllDescribed(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/operate/traces.md")
	require.NoError(t, err)
	var described, exist []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(lockwheel\\.[a-z_.]+)` \\| (counter|up-down counter|gauge) \\| `([^`]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		described = append(described, row[1]+" "+row[3]+" "+row[2])
	}
	for _, m := range metricOf {
		exist = append(exist, m[0]+" "+m[1]+" "+m[2])
	}
	slices.Sort(described)
	slices.Sort(exist)
	require.Equal(t, exist, described)
	require.Contains(t, string(page), fmt.Sprintf("the number of series is %d for each engine", len(exist)))
}
