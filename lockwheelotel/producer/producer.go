// Package producer exports the histograms of an engine's statistics to OpenTelemetry: how long callers waited, how long
// locks were held, round trips and more. The engine counts them itself, and OpenTelemetry's API has no instrument for
// counts that exist already. Its SDK has: a producer, which a reader asks at each collection. So this package needs the
// SDK, and lockwheelotel does not.
//
//	histograms, err := producer.New(locks, "orders")
//	if err != nil {
//		return err
//	}
//	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(histograms))
package producer

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/lockwheelotel"
)

// scope is the instrumentation scope of the histograms.
const scope = "github.com/lockwheel/lockwheel/lockwheelotel/producer"

// New returns a producer of the histograms of one engine. Each has the attribute lockwheel.engine.name with the given
// name, and the given attributes: make a producer for each engine, with names that differ. Register it with a reader,
// by the option WithProducer of the SDK's readers. Histograms are cumulative, whatever the reader prefers, and count
// from the opening of the engine; their start time is the call of New.
//
// Each collection takes one snapshot, which waits for one turn of the engine's loop, as [lockwheel.Engine.Stats] does.
// It does not use the server. After the engine is closed, the histograms keep their last values. The producer keeps the
// engine reachable, and is safe for concurrent use. If the engine is nil, New returns an error.
func New(engine lockwheelotel.Source, name string, attributes ...attribute.KeyValue) (metric.Producer, error) {
	if e, ok := engine.(*lockwheel.Engine); engine == nil || ok && e == nil {
		return nil, errors.New("lockwheelotel: histograms of a nil engine")
	}
	with := append(attributes[:len(attributes):len(attributes)], lockwheelotel.EngineName(name))
	return &producer{engine, attribute.NewSet(with...), time.Now()}, nil
}

type producer struct {
	engine     lockwheelotel.Source
	attributes attribute.Set
	start      time.Time
}

// Produce returns the histograms. It never fails, and ctx bounds nothing.
func (p *producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	stats, now := p.engine.Stats(), time.Now()
	all := make([]metricdata.Metrics, len(histograms))
	for i, h := range histograms {
		counts := h.of(&stats)
		all[i] = metricdata.Metrics{Name: h.name, Description: h.description, Unit: h.unit, Data: metricdata.Histogram[float64]{
			Temporality: metricdata.CumulativeTemporality,
			DataPoints: []metricdata.HistogramDataPoint[float64]{{
				Attributes: p.attributes, StartTime: p.start, Time: now,
				Count: counts.count, Sum: counts.sum, Bounds: counts.bounds, BucketCounts: counts.buckets,
			}},
		}}
	}
	return []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: scope}, Metrics: all}}, nil
}

// counts are a histogram in the form of OpenTelemetry. The last bucket has no bound.
type counts struct {
	count   uint64
	sum     float64
	bounds  []float64
	buckets []uint64
}

func ofDurations(h *lockwheel.Histogram) counts {
	c := counts{count: h.Count(), sum: h.Sum, buckets: h.Counts[:]}
	for i := range len(h.Counts) - 1 {
		c.bounds = append(c.bounds, h.Bound(i).Seconds())
	}
	return c
}

func ofSizes(h *lockwheel.SizeHistogram) counts {
	c := counts{count: h.Count(), sum: float64(h.Sum), buckets: h.Counts[:]}
	for i := range len(h.Counts) - 1 {
		c.bounds = append(c.bounds, float64(h.Bound(i)))
	}
	return c
}

// histograms are the metrics. Their order is that of lockwheel.Stats.
var histograms = [...]struct {
	name, unit, description string
	of                      func(*lockwheel.Stats) counts
}{
	{"lockwheel.acquire.wait", "s", "Time from a lock request until it was granted or failed.", func(s *lockwheel.Stats) counts { return ofDurations(&s.AcquireWaits) }},
	{"lockwheel.hold.duration", "s", "Time from the owner's first grant to the end of a hold.", func(s *lockwheel.Stats) counts { return ofDurations(&s.HoldTimes) }},
	{"lockwheel.renewal.margin", "s", "What was left of a lease when its renewal was confirmed.", func(s *lockwheel.Stats) counts { return ofDurations(&s.RenewalMargins) }},
	{"lockwheel.call.round_trip", "s", "Time from sending a call to handling its reply.", func(s *lockwheel.Stats) counts { return ofDurations(&s.RoundTrips) }},
	{"lockwheel.loop.turn", "s", "Duration of a turn of the engine's loop.", func(s *lockwheel.Stats) counts { return ofDurations(&s.TurnTimes) }},
	{"lockwheel.call.commands", "{command}", "Commands of a call.", func(s *lockwheel.Stats) counts { return ofSizes(&s.BatchSizes) }},
}
