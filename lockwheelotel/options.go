package lockwheelotel

import (
	"slices"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// scope is the instrumentation scope of all spans and metrics.
const scope = "github.com/lockwheel/lockwheel/lockwheelotel"

// Option is an option of [NewTracer] or [RegisterMetrics]. Of several that set the same thing, the last counts.
type Option func(*config)

// config is what the options say. It does not change after it was made.
type config struct {
	tracers    trace.TracerProvider
	meters     metric.MeterProvider
	attributes []attribute.KeyValue
	lockName   func(string) string // nil: names as they are
}

func newConfig(options []Option) *config {
	c := &config{tracers: otel.GetTracerProvider(), meters: otel.GetMeterProvider()}
	for _, option := range options {
		option(c)
	}
	return c
}

// WithTracerProvider sets the provider of the tracer. Default, and with nil: the global provider, which a program may
// set later. It has no effect on [RegisterMetrics].
func WithTracerProvider(provider trace.TracerProvider) Option {
	return func(c *config) {
		if provider != nil {
			c.tracers = provider
		}
	}
}

// WithMeterProvider sets the provider of the meter. Default, and with nil: the global provider, which a program may set
// later. It has no effect on [NewTracer].
func WithMeterProvider(provider metric.MeterProvider) Option {
	return func(c *config) {
		if provider != nil {
			c.meters = provider
		}
	}
}

// WithAttributes adds attributes to each span or to each metric. Several of these options add up.
func WithAttributes(attributes ...attribute.KeyValue) Option {
	attributes = slices.Clone(attributes)
	return func(c *config) { c.attributes = append(c.attributes, attributes...) }
}

// WithLockName replaces the names of locks in spans by what f returns for them. Spans without a name have an empty
// string from f; with a nil f, no span has a name. The texts of errors contain names, so a span's status then has the
// value of error.type as its description instead. Default: names as they are.
//
// A tracer calls f on the goroutine of the call that is traced. Calls of f run concurrently. It must not panic: the
// panic would reach the caller. For several locks held as one, the name is the text that their errors have, which
// contains the first names. WithLockName has no effect on [RegisterMetrics], which exports no names.
func WithLockName(f func(name string) string) Option {
	if f == nil {
		f = func(string) string { return "" }
	}
	return func(c *config) { c.lockName = f }
}
