package main

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/debug"
	"github.com/lockwheel/lockwheel/lockwheelprom"
)

// watch is what operators see of the gateway.
type watch struct {
	recorder debug.Recorder
	registry *prometheus.Registry
	took     *prometheus.HistogramVec
	tracer   trace.Tracer
}

func newWatch(s *spans) *watch {
	w := &watch{registry: prometheus.NewRegistry(), tracer: s.tracer()}
	w.took = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "gateway_request_seconds",
		Help:    "Time from a request to its reply.",
		Buckets: prometheus.ExponentialBuckets(0.001, 2, 14), // 1 ms to 8 s
	}, []string{"code"})
	w.registry.MustRegister(w.took)
	return w
}

// operators returns what the second port serves: the metrics of requests and of locks, and the page about locks.
func (w *watch) operators(locks *lockwheel.Engine) http.Handler {
	w.registry.MustRegister(lockwheelprom.NewCollector(locks, "gateway"))
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(w.registry, promhttp.HandlerOpts{}))
	page := debug.Handler(debug.Options{Recorder: &w.recorder}, locks)
	mux.Handle("/debug/locks/", http.StripPrefix("/debug/locks", page))
	return mux
}

// requests returns a handler that counts requests and has a span for each. The span of its lock is below it, because
// the engine gets the context of the request. A caller with a trace sends its traceparent.
func (w *watch) requests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(reply http.ResponseWriter, r *http.Request) {
		began := time.Now()
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := w.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		r = r.WithContext(ctx)
		said := &codeWriter{reply, http.StatusOK}
		next.ServeHTTP(said, r)
		if r.Pattern != "" {
			span.SetName(r.Pattern) // never the path: it has as many values as there are accounts
		}
		span.SetAttributes(attribute.Int("http.response.status_code", said.code))
		if said.code >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, http.StatusText(said.code))
		}
		w.took.WithLabelValues(strconv.Itoa(said.code)).Observe(time.Since(began).Seconds())
	})
}

// codeWriter remembers the status of a reply.
type codeWriter struct {
	http.ResponseWriter
	code int
}

// WriteHeader sends the status, and remembers it.
func (s *codeWriter) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}
