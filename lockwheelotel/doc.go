// Package lockwheelotel connects engines with OpenTelemetry. [NewTracer] makes a span for each traced call.
// [RegisterMetrics] exports the statistics of an engine, and the package producer its histograms.
// docs/operate/traces.md lists all spans, attributes and metrics.
//
// The package uses OpenTelemetry's API only. Which SDK and which exporters receive its data is the program's choice.
// It starts no goroutine.
package lockwheelotel
