package lockwheelotel_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/lockwheelotel"
)

// traced is an engine with a tracer, and the spans that it made.
type traced struct {
	*lockwheel.Engine
	server   *locktest.Server
	provider *sdktrace.TracerProvider
	ended    *tracetest.SpanRecorder
	seen     int
}

func openTraced(t *testing.T, options ...lockwheelotel.Option) *traced {
	t.Helper()
	e := &traced{server: locktest.AnyServer(t), ended: tracetest.NewSpanRecorder()}
	e.provider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(e.ended))
	options = append([]lockwheelotel.Option{lockwheelotel.WithTracerProvider(e.provider)}, options...)
	e.Engine = e.server.Open(lockwheel.Options{Tracer: lockwheelotel.NewTracer(options...)})
	return e
}

// next returns the span that ended after those before. It is the only one.
func (e *traced) next(t *testing.T) sdktrace.ReadOnlySpan {
	t.Helper()
	all := e.ended.Ended()
	require.Len(t, all, e.seen+1)
	require.Len(t, e.ended.Started(), e.seen+1)
	e.seen++
	return all[e.seen-1]
}

// says returns the attributes of a span.
func says(span sdktrace.ReadOnlySpan) map[string]any {
	all := make(map[string]any)
	for _, a := range span.Attributes() {
		all[string(a.Key)] = a.Value.AsInterface()
	}
	return all
}

// Each call has one span, with a name that does not depend on the lock.
func TestTracer_EachCall_OneSpan(t *testing.T) {
	t.Parallel()
	given := []attribute.KeyValue{attribute.String("shop", "s")}
	shop := lockwheelotel.WithAttributes(given...)
	given[0] = attribute.String("shop", "changed since")
	e, ctx := openTraced(t, shop, lockwheelotel.WithAttributes(attribute.Int("shelf", 4))), t.Context()
	check := func(op, kind string, hold *lockwheel.Hold) {
		t.Helper()
		span := e.next(t)
		require.Equal(t, "lockwheel "+op, span.Name())
		require.Equal(t, trace.SpanKindInternal, span.SpanKind())
		require.Equal(t, sdktrace.Status{}, span.Status())
		require.Empty(t, span.Events())
		require.Equal(t, "github.com/lockwheel/lockwheel/lockwheelotel", span.InstrumentationScope().Name)
		want := map[string]any{"shop": "s", "shelf": int64(4), "lockwheel.operation.name": op, "lockwheel.lock.name": "n", "lockwheel.outcome": "ok"}
		if kind != "" {
			want["lockwheel.lock.kind"] = kind
		}
		if hold != nil {
			want["lockwheel.holder.id"] = hold.ID()
			if hold.Token() != 0 {
				want["lockwheel.fencing.token"] = int64(hold.Token())
			}
		}
		require.Equal(t, want, says(span))
	}
	hold := locktest.Lock(t, e.FencedMutex("n"))
	require.NotZero(t, hold.Token())
	check("lock", "fenced", hold)
	require.NoError(t, hold.Extend(ctx, time.Minute))
	check("extend", "", hold)
	locktest.Unlock(t, hold)
	check("unlock", "", hold)
	hold, err := e.FencedMutex("n").TryLock(ctx)
	require.NoError(t, err)
	check("try lock", "fenced", hold)
	_, err = e.FencedMutex("n").ForceUnlock(ctx)
	require.NoError(t, err)
	check("force unlock", "fenced", nil)
}

// The caller's span is the parent of a call's span, and this is the parent of what runs with the hold's context.
func TestTracer_Parents_CallerLockWork(t *testing.T) {
	t.Parallel()
	e := openTraced(t)
	ctx, caller := e.provider.Tracer("test").Start(t.Context(), "caller")
	require.NoError(t, e.Mutex("n").Do(ctx, func(ctx context.Context) error {
		_, work := e.provider.Tracer("test").Start(ctx, "work")
		work.End()
		return nil
	}))
	require.True(t, caller.IsRecording(), "the caller's span is the caller's to end")
	caller.End()
	spans := make(map[string]sdktrace.ReadOnlySpan)
	for _, span := range e.ended.Ended() {
		spans[span.Name()] = span
	}
	require.Len(t, spans, 4)
	require.Equal(t, caller.SpanContext().SpanID(), spans["lockwheel lock"].Parent().SpanID())
	require.Equal(t, spans["lockwheel lock"].SpanContext().SpanID(), spans["work"].Parent().SpanID())
	require.Equal(t, caller.SpanContext().TraceID(), spans["lockwheel unlock"].SpanContext().TraceID())
	require.Contains(t, []trace.SpanID{caller.SpanContext().SpanID(), spans["lockwheel lock"].SpanContext().SpanID()}, spans["lockwheel unlock"].Parent().SpanID())
}

// Several locks held as one have one span for each call.
func TestTracer_Several_OneSpan(t *testing.T) {
	t.Parallel()
	e := openTraced(t)
	both := e.Multi(e.Mutex("a"), e.FencedMutex("b"))
	hold, err := both.Lock(t.Context())
	require.NoError(t, err)
	span := e.next(t)
	require.Equal(t, "lockwheel lock", span.Name())
	require.Equal(t, "multi", says(span)["lockwheel.lock.kind"])
	require.Equal(t, both.Name(), says(span)["lockwheel.lock.name"])
	locktest.Unlock(t, hold)
	require.Equal(t, "lockwheel unlock", e.next(t).Name())
	e.server.HoldAsOther("b", time.Minute)
	_, err = both.TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	span = e.next(t)
	require.Equal(t, codes.Unset, span.Status().Code)
	require.Equal(t, "not_acquired", says(span)["lockwheel.outcome"])
}

// A TryLock of a lock that another owner holds has done what it is for. A Lock that waited in vain has not, nor has a
// call that its own context ended.
func TestTracer_HeldElsewhere_LockIsAnError(t *testing.T) {
	t.Parallel()
	e := openTraced(t)
	e.server.HoldAsOther("n", time.Minute)
	_, err := e.Mutex("n").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	span := e.next(t)
	require.Equal(t, sdktrace.Status{}, span.Status())
	require.Equal(t, "not_acquired", says(span)["lockwheel.outcome"])
	require.NotContains(t, says(span), "error.type")
	require.NotContains(t, says(span), "lockwheel.holder.id")

	_, err = e.Mutex("n").Lock(t.Context(), lockwheel.Wait(2*time.Second))
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	span = e.next(t)
	require.Equal(t, sdktrace.Status{Code: codes.Error, Description: err.Error()}, span.Status())
	require.Equal(t, "not_acquired", says(span)["error.type"])

	ended, end := context.WithCancel(t.Context())
	end()
	_, err = e.Mutex("n").TryLock(ended)
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.Equal(t, codes.Error, e.next(t).Status().Code)
}

// The type of an error is one of a few, whatever its text says.
func TestTracer_Failures_TypeOfError(t *testing.T) {
	t.Parallel()
	e, ctx := openTraced(t), t.Context()
	check := func(want string, err error) {
		t.Helper()
		require.Error(t, err)
		span := e.next(t)
		require.Equal(t, sdktrace.Status{Code: codes.Error, Description: err.Error()}, span.Status())
		require.Equal(t, want, says(span)["error.type"])
		require.Equal(t, want, says(span)["lockwheel.outcome"])
		require.Empty(t, span.Events())
	}
	lost := locktest.Lock(t, e.Mutex("lost"))
	e.next(t)
	e.server.Do("DEL", "lost")
	check("lost", lost.Unlock(ctx))
	check("not_held", lost.Unlock(ctx))

	e.server.Do("SET", "text", "no lock")
	check("server_error", locktest.Second(e.Mutex("text").TryLock(ctx)))

	reader, err := e.RWMutex("rw").RLocker().Lock(ctx)
	require.NoError(t, err)
	e.next(t)
	check("upgrade", locktest.Second(e.RWMutex("rw").Lock(reader.Context())))
	check("kind_mismatch", locktest.Second(e.Mutex("rw").TryLock(ctx)))
	check("_OTHER", locktest.Second(e.Mutex("").TryLock(ctx)))

	within := reader.Context()
	locktest.Unlock(t, reader)
	e.next(t)
	check("not_acquired", locktest.Second(e.Mutex("other").TryLock(within)))

	hold := locktest.Lock(t, e.Mutex("n"))
	e.next(t)
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	check("unavailable", hold.Extend(canceled, time.Minute))
	e.Close()
	check("closed", hold.Unlock(ctx))
	check("closed", locktest.Second(e.Mutex("n").TryLock(ctx)))

	other := locktest.RealServer(t).Open(lockwheel.Options{})
	require.NoError(t, other.Close())
	check("closed", locktest.Second(lockwheel.Quorum(e.Mutex("n"), other.Mutex("n")).TryLock(ctx)))
}

// A name that is mapped away is nowhere in a span, also not in what its error says.
func TestTracer_NameMapped_NotInSpan(t *testing.T) {
	t.Parallel()
	for what, names := range map[string]struct {
		option lockwheelotel.Option
		want   any
	}{
		"replaced": {lockwheelotel.WithLockName(func(name string) string { return name[:len("orders/")] }), "orders/"},
		"left out": {lockwheelotel.WithLockName(nil), nil},
	} {
		e := openTraced(t, names.option)
		hold := locktest.Lock(t, e.Mutex("orders/secret"))
		e.server.Do("DEL", "orders/secret")
		err := hold.Unlock(t.Context())
		require.ErrorContains(t, err, "secret")
		spans := tracetest.SpanStubsFromReadOnlySpans(e.ended.Ended())
		require.Len(t, spans, 2)
		for i, span := range spans {
			require.Equal(t, names.want, says(e.ended.Ended()[i])["lockwheel.lock.name"], what)
			require.NotContains(t, span.Name+span.Status.Description, "secret")
			for _, a := range span.Attributes {
				require.NotContains(t, a.Value.String(), "secret")
			}
		}
		require.Equal(t, sdktrace.Status{Code: codes.Error, Description: "lost"}, e.ended.Ended()[1].Status())
	}
}

// A name of any bytes is valid text in a span, and no longer than the bound.
func TestTracer_AnyName_BoundedText(t *testing.T) {
	t.Parallel()
	e := openTraced(t)
	for name, want := range map[string]string{
		"a\xffb":                        "a\uFFFDb",
		strings.Repeat("x", 300):        strings.Repeat("x", 256),
		"x" + strings.Repeat("é", 200):  "x" + strings.Repeat("é", 127),
		strings.Repeat("\xffx", 129):    strings.Repeat("\uFFFDx", 64),
		strings.Repeat("x", 255) + "é":  strings.Repeat("x", 255),
		strings.Repeat("x", 256) + "éé": strings.Repeat("x", 256),
	} {
		locktest.Lock(t, e.Mutex(name))
		got := says(e.next(t))["lockwheel.lock.name"]
		require.Equal(t, want, got)
		require.True(t, utf8.ValidString(want))
		require.LessOrEqual(t, len(want), 256)
	}
}

// An error of any length is valid text in a span, and no longer than the bound.
func TestTracer_LongError_BoundedText(t *testing.T) {
	t.Parallel()
	e := openTraced(t)
	tracer := lockwheelotel.NewTracer(lockwheelotel.WithTracerProvider(e.provider))
	call := lockwheel.TracedCall{Op: "lock", Name: "n", Kind: "plain"}
	tracer.CallEnd(tracer.CallStart(t.Context(), call), call, nil, errors.New("x"+strings.Repeat("é", 1000)))
	require.Equal(t, "x"+strings.Repeat("é", 511), e.next(t).Status().Description)
}

// A provider that is nil is none: the global one counts.
func TestOptions_NilProvider_GlobalCounts(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{Tracer: lockwheelotel.NewTracer(lockwheelotel.WithTracerProvider(nil))})
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
	unregister, err := lockwheelotel.RegisterMetrics(&fixed{}, "of nil", lockwheelotel.WithMeterProvider(nil))
	require.NoError(t, err)
	require.NoError(t, unregister())
}

// A provider that makes no spans leaves the caller's span as it is: the current one, and not ended.
func TestTracer_NoopProvider_CallersSpanStays(t *testing.T) {
	t.Parallel()
	s, ended := locktest.AnyServer(t), tracetest.NewSpanRecorder()
	e := s.Open(lockwheel.Options{Tracer: lockwheelotel.NewTracer(lockwheelotel.WithTracerProvider(noop.NewTracerProvider()))})
	ctx, caller := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(ended)).Tracer("test").Start(t.Context(), "caller")
	for _, ctx := range []context.Context{ctx, t.Context()} {
		hold := locktest.LockWith(t, ctx, e.Mutex("n"))
		require.Equal(t, trace.SpanFromContext(ctx), trace.SpanFromContext(hold.Context()))
		require.NoError(t, hold.Unlock(ctx))
	}
	require.True(t, caller.IsRecording())
	require.Empty(t, ended.Ended())
	require.Len(t, ended.Started(), 1)
}

// What runs under a span that is not sampled is not sampled either.
func TestTracer_NotSampled_NorItsChildren(t *testing.T) {
	t.Parallel()
	ended := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(ended), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample())))
	e := locktest.AnyServer(t).Open(lockwheel.Options{Tracer: lockwheelotel.NewTracer(lockwheelotel.WithTracerProvider(provider))})
	hold := locktest.Lock(t, e.Mutex("n"))
	require.True(t, trace.SpanContextFromContext(hold.Context()).IsValid())
	require.False(t, trace.SpanContextFromContext(hold.Context()).IsSampled())
	locktest.Unlock(t, hold)
	require.Empty(t, ended.Ended())
}

// The tracers of two engines do not end each other's spans.
func TestTracer_TwoOfThem_OwnSpans(t *testing.T) {
	t.Parallel()
	e := openTraced(t)
	silent := lockwheelotel.NewTracer(lockwheelotel.WithTracerProvider(noop.NewTracerProvider()))
	loud := lockwheelotel.NewTracer(lockwheelotel.WithTracerProvider(e.provider))
	call := lockwheel.TracedCall{Op: "lock", Name: "n", Kind: "plain"}
	outer := loud.CallStart(t.Context(), call)
	inner := silent.CallStart(outer, call)
	silent.CallEnd(inner, call, nil, nil)
	require.Empty(t, e.ended.Ended())
	loud.CallEnd(outer, call, nil, nil)
	e.next(t)
}

// Concurrent calls have a span each.
func TestTracer_Concurrent_SpanEach(t *testing.T) {
	t.Parallel()
	e := openTraced(t)
	locktest.Crowd(t, 32, func(int) error { return e.Mutex("n").Do(t.Context(), locktest.Nothing) })
	require.Len(t, e.ended.Ended(), 64)
	require.Len(t, e.ended.Started(), 64)
}

// The span of a lock that was handed off inside the engine says so; others have no such attribute.
func TestTracer_HandedOff_Attribute(t *testing.T) {
	t.Parallel()
	e := openTraced(t)
	tracer := lockwheelotel.NewTracer(lockwheelotel.WithTracerProvider(e.provider))
	for _, handed := range []bool{false, true} {
		call := lockwheel.TracedCall{Op: "lock", Name: "n", Kind: "plain"}
		ctx := tracer.CallStart(t.Context(), call)
		call.HandedOff = handed
		tracer.CallEnd(ctx, call, nil, nil)
		_, has := says(e.next(t))["lockwheel.handed_off"]
		require.Equal(t, handed, has)
	}
}
