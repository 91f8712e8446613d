package lockwheelotel

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/lockwheel/lockwheel"
)

// engineKey is the attribute that tells the engines of a process apart.
const engineKey = attribute.Key("lockwheel.engine.name")

// EngineName returns the attribute lockwheel.engine.name as metrics have it: valid UTF-8, of at most 256 bytes.
func EngineName(name string) attribute.KeyValue { return engineKey.String(printable(name, maxName)) }

// Source is what metrics are read from: a [lockwheel.Engine].
type Source interface {
	// Stats returns a snapshot. It must be safe for concurrent use.
	Stats() lockwheel.Stats
}

// RegisterMetrics registers observable instruments for the statistics of one engine. Each has the attribute
// lockwheel.engine.name with the given name: register each engine, with names that differ. With equal names, the values
// of the engines are mixed.
//
// Each collection takes one snapshot, which waits for one turn of the engine's loop, as [lockwheel.Engine.Stats] does.
// It does not use the server. After the engine is closed, counters keep their last values, and gauges are 0.
//
// The package producer beside this one exports the histograms of Stats. OpenTelemetry's API has no observable
// histogram, but its SDK takes histograms from a producer.
//
// The provider keeps the engine reachable until unregister is called. It may be called several times, and is safe for
// concurrent use. On failure RegisterMetrics returns an error and no function, and registers nothing: if the engine is
// nil, or if the provider rejects an instrument.
func RegisterMetrics(engine Source, name string, options ...Option) (unregister func() error, err error) {
	if e, ok := engine.(*lockwheel.Engine); engine == nil || ok && e == nil {
		return nil, errors.New("lockwheelotel: metrics of a nil engine")
	}
	c := newConfig(options)
	meter := c.meters.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL))
	integers, seconds, err := newInstruments(meter)
	if err != nil {
		return nil, fmt.Errorf("lockwheelotel: metrics of engine %q: %w", name, err)
	}
	with := metric.WithAttributeSet(attribute.NewSet(append(c.attributes, EngineName(name))...))
	observe := func(_ context.Context, to metric.Observer) error {
		stats := engine.Stats()
		for i, instrument := range integers {
			to.ObserveInt64(instrument, numbers[i].value(&stats), with)
		}
		for i, instrument := range seconds {
			to.ObserveFloat64(instrument, times[i].value(&stats).Seconds(), with)
		}
		return nil
	}
	registration, err := meter.RegisterCallback(observe, observables(integers, seconds)...)
	if err != nil {
		return nil, fmt.Errorf("lockwheelotel: metrics of engine %q: %w", name, err)
	}
	return registration.Unregister, nil
}

// newInstruments creates the instruments of all numbers and of all times, in the order of their tables. A meter returns
// the same instrument again for each engine.
func newInstruments(meter metric.Meter) (integers []metric.Int64Observable, seconds []metric.Float64Observable, err error) {
	for _, n := range numbers {
		var (
			instrument metric.Int64Observable
			failed     error
		)
		if n.counter {
			instrument, failed = meter.Int64ObservableCounter(n.name, metric.WithUnit(n.unit), metric.WithDescription(n.description))
		} else {
			instrument, failed = meter.Int64ObservableUpDownCounter(n.name, metric.WithUnit(n.unit), metric.WithDescription(n.description))
		}
		if failed != nil {
			return nil, nil, failed
		}
		integers = append(integers, instrument)
	}
	for _, s := range times {
		instrument, failed := meter.Float64ObservableGauge(s.name, metric.WithUnit("s"), metric.WithDescription(s.description))
		if failed != nil {
			return nil, nil, failed
		}
		seconds = append(seconds, instrument)
	}
	return integers, seconds, nil
}

func observables(integers []metric.Int64Observable, seconds []metric.Float64Observable) (all []metric.Observable) {
	for _, instrument := range integers {
		all = append(all, instrument)
	}
	for _, instrument := range seconds {
		all = append(all, instrument)
	}
	return all
}
