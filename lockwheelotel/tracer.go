package lockwheelotel

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/lockwheel/lockwheel"
)

const (
	// maxName is the maximum length of a lock's name in a span, maxDescription that of a status, in bytes. Longer ones
	// are cut.
	maxName, maxDescription = 256, 1024

	operationKey = attribute.Key("lockwheel.operation.name")
	nameKey      = attribute.Key("lockwheel.lock.name")
	kindKey      = attribute.Key("lockwheel.lock.kind")
	holderKey    = attribute.Key("lockwheel.holder.id")
	tokenKey     = attribute.Key("lockwheel.fencing.token")
	outcomeKey   = attribute.Key("lockwheel.outcome")
	handedKey    = attribute.Key("lockwheel.handed_off")
)

// NewTracer returns a tracer for lockwheel.Options.Tracer. It makes one span for each call that locks, tries to lock,
// unlocks, extends or forces. Several locks held as one have one span.
//
// The span of a lock is the parent of the hold's context, so what runs with [lockwheel.Hold.Context] belongs to it.
// That span ends when Lock returns, not when the hold ends.
//
// A span's name is "lockwheel" and the operation, such as "lockwheel lock", and its kind is internal. Its status is
// Error if the call returned an error, with one exception. A TryLock that finds the lock held by another owner has
// answered what it was asked. It stays unset, with the outcome "not_acquired".
//
// If the provider makes no spans, as a no-op provider does, the tracer changes no context. A tracer may be used by
// several engines, and is safe for concurrent use. It never blocks, except in the provider's span processors.
func NewTracer(options ...Option) lockwheel.Tracer {
	c := newConfig(options)
	return &tracer{
		spans:    c.tracers.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)),
		common:   trace.WithAttributes(c.attributes...),
		lockName: c.lockName,
	}
}

// tracer makes spans. It does not change after it was made.
type tracer struct {
	spans    trace.Tracer
	common   trace.SpanStartEventOption // the attributes of all spans
	lockName func(string) string        // nil: names as they are
}

// spanKey is the key of the span that a tracer made for a call, in the call's context. The current span of the context
// can be the caller's, and that of another tracer.
type spanKey struct{ of *tracer }

// CallStart starts a span. Without one it returns ctx.
func (t *tracer) CallStart(ctx context.Context, call lockwheel.TracedCall) context.Context {
	attributes := make([]attribute.KeyValue, 0, 3)
	attributes = append(attributes, operationKey.String(call.Op))
	if name := t.nameOf(call.Name); name != "" {
		attributes = append(attributes, nameKey.String(name))
	}
	if call.Kind != "" {
		attributes = append(attributes, kindKey.String(call.Kind))
	}
	within, span := t.spans.Start(ctx, "lockwheel "+call.Op, trace.WithSpanKind(trace.SpanKindInternal), t.common, trace.WithAttributes(attributes...))
	if made := span.SpanContext(); !made.IsValid() || made.SpanID() == trace.SpanContextFromContext(ctx).SpanID() {
		return ctx // a no-op provider: it made no span
	}
	return context.WithValue(within, spanKey{t}, span)
}

// CallEnd ends the span that CallStart started.
func (t *tracer) CallEnd(ctx context.Context, call lockwheel.TracedCall, hold *lockwheel.Hold, err error) {
	span, _ := ctx.Value(spanKey{t}).(trace.Span)
	if span == nil {
		return
	}
	defer span.End()
	if !span.IsRecording() {
		return
	}
	if hold != nil {
		span.SetAttributes(holderKey.String(hold.ID()))
		if token := hold.Token(); token != 0 {
			span.SetAttributes(tokenKey.Int64(int64(token)))
		}
	}
	if call.HandedOff {
		span.SetAttributes(handedKey.Bool(true))
	}
	if err == nil {
		span.SetAttributes(outcomeKey.String("ok"))
		return
	}
	class := classOf(err)
	span.SetAttributes(outcomeKey.String(class))
	if isAnswer(ctx, call, class, err) {
		return
	}
	span.SetAttributes(semconv.ErrorTypeKey.String(class))
	description := class
	if t.lockName == nil {
		description = printable(err.Error(), maxDescription)
	}
	span.SetStatus(codes.Error, description)
}

// isAnswer reports whether the error of a call is the reply to its question: a TryLock that found the lock held. It is
// none if the caller's context ended the call.
func isAnswer(ctx context.Context, call lockwheel.TracedCall, class string, err error) bool {
	if call.Op != "try lock" || class != notAcquired {
		return false
	}
	gone := context.Cause(ctx)
	return gone == nil || !errors.Is(err, gone)
}

// nameOf returns the name of a lock in its span, empty for none.
func (t *tracer) nameOf(name string) string {
	if t.lockName != nil {
		name = t.lockName(name)
	}
	return printable(name, maxName)
}

// printable returns a text as valid UTF-8, which exporters require, and at most that long.
func printable(text string, limit int) string {
	text = strings.ToValidUTF8(text[:min(len(text), limit+utf8.UTFMax)], "\uFFFD")
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
