package main

import (
	"context"
	"io"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/lockwheelotel"
)

// spans writes spans as JSON. A program of yours has an exporter for its collector in the place of stdouttrace.
type spans struct {
	provider *sdktrace.TracerProvider // nil: no spans
	file     *os.File                 // nil: not a file of ours
}

// openSpans writes spans to a file, to out if the name is "-", or nowhere if it is empty.
func openSpans(name string, out io.Writer) (s *spans, err error) {
	s = new(spans)
	switch name {
	case "":
		return s, nil
	case "-":
	default:
		if s.file, err = os.Create(name); err != nil {
			return nil, err
		}
		out = s.file
	}
	exporter, err := stdouttrace.New(stdouttrace.WithWriter(out))
	if err != nil {
		return nil, err
	}
	service := resource.NewSchemaless(attribute.String("service.name", "gateway"))
	// At most 2048 spans wait; those beyond are dropped.
	s.provider = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(service))
	return s, nil
}

// tracer returns the tracer of requests.
func (s *spans) tracer() trace.Tracer {
	if s.provider == nil {
		return noop.NewTracerProvider().Tracer("gateway")
	}
	return s.provider.Tracer("gateway")
}

// lockTracer returns the tracer of an engine. Without spans there is none: calls then cost nothing more.
func (s *spans) lockTracer() lockwheel.Tracer {
	if s.provider == nil {
		return nil
	}
	return lockwheelotel.NewTracer(lockwheelotel.WithTracerProvider(s.provider))
}

// close writes what waits to be written.
func (s *spans) close(ctx context.Context) (err error) {
	if s.provider != nil {
		err = s.provider.Shutdown(ctx)
	}
	if s.file != nil {
		s.file.Close()
	}
	return err
}
