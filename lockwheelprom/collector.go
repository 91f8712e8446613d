// Package lockwheelprom exports the statistics of engines to Prometheus: counters, gauges and histograms, each with the
// label engine. The number of metrics does not depend on the number of locks. No metric has a label for a lock, except
// those of [NewLockCollector], which shows single locks with names that a program chooses.
//
// The folder also has a Grafana dashboard (dashboard.json) and alert rules (alerts.yml).
// docs/operate/metrics.md describes each metric.
package lockwheelprom

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lockwheel/lockwheel"
)

// Source is what a collector reads: a [lockwheel.Engine].
type Source interface {
	// Stats returns a snapshot. It must be safe for concurrent use.
	Stats() lockwheel.Stats
}

// NewCollector returns a collector of the statistics of one engine. The value of the label engine is name, which tells
// the engines of a process apart: register a collector for each, with names that differ. Bytes that are no UTF-8, which
// Prometheus requires, are replaced. A registry rejects a second collector with the same name.
//
// Each scrape takes one snapshot, which waits for one turn of the engine's loop, as [lockwheel.Engine.Stats] does. It
// does not use the server. After the engine is closed, the collector exports its last counters, and 0 for gauges. The
// collector keeps the engine reachable; unregister it if the process goes on without the engine. A collector of a nil
// engine exports nothing. It is safe for concurrent use.
func NewCollector(engine Source, name string) prometheus.Collector {
	c := &collector{source: engine}
	if isNil(engine) {
		c.source = nil
	}
	labels := engineLabel(name)
	describe := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("lockwheel_"+name, help, nil, labels)
	}
	for _, g := range gauges {
		c.values = append(c.values, exported{describe(g.name, g.help), prometheus.GaugeValue, g.value})
	}
	for _, n := range counters {
		c.values = append(c.values, exported{describe(n.name, n.help), prometheus.CounterValue, n.value})
	}
	for i, h := range histograms {
		c.histograms[i] = describe(h.name, h.help)
	}
	return c
}

// engineLabel returns the label that all series of an engine have.
func engineLabel(name string) prometheus.Labels {
	return prometheus.Labels{"engine": strings.ToValidUTF8(name, "\uFFFD")}
}

// isNil reports whether a source is nil, or a nil engine. A panic in a scrape would fail that of the whole process.
func isNil(source any) bool {
	e, ok := source.(*lockwheel.Engine)
	return source == nil || ok && e == nil
}

// collector exports the statistics of one engine. It does not change after it was made.
type collector struct {
	source     Source // nil for a nil engine
	values     []exported
	histograms [len(histograms)]*prometheus.Desc
}

// exported is a metric with a single value.
type exported struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*lockwheel.Stats) float64
}

// Describe sends the descriptions of all metrics. They do not depend on the engine's state.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, v := range c.values {
		to <- v.desc
	}
	for _, desc := range c.histograms {
		to <- desc
	}
}

// Collect sends all metrics, of one snapshot.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	if c.source == nil {
		return
	}
	stats := c.source.Stats()
	for _, v := range c.values {
		to <- prometheus.MustNewConstMetric(v.desc, v.kind, v.value(&stats))
	}
	for i := range histograms {
		to <- newHistogram(c.histograms[i], histograms[i].value(&stats))
	}
}
