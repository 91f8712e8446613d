package lockwheelotel_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/lockwheelotel"
)

// global is what the program sets. OpenTelemetry passes it on to what was made before only the first time.
var global = sync.OnceValue(func() (g struct {
	meters
	spans  *tracetest.SpanRecorder
	tracer *sdktrace.TracerProvider
},
) {
	g.meters, g.spans = newMeters(), tracetest.NewSpanRecorder()
	g.tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(g.spans))
	return g
})

// A program may set the global providers after it has opened its engine.
func TestGlobal_SetLater_IsUsed(t *testing.T) {
	e := locktest.AnyServer(t).Open(lockwheel.Options{Tracer: lockwheelotel.NewTracer()})
	unregister, err := lockwheelotel.RegisterMetrics(e, "e")
	require.NoError(t, err)
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("before")))
	otel.SetTracerProvider(global().tracer)
	otel.SetMeterProvider(global().meters)
	before := len(global().spans.Ended())
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
	require.Len(t, global().spans.Ended(), before+2)
	values, _ := points(t, global().collect(t)["lockwheel.hold.acquired"])
	require.InDelta(t, 2, values[named("e")], 0)
	require.NoError(t, unregister())
	require.Empty(t, global().collect(t))
}
