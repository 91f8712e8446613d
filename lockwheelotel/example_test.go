package lockwheelotel_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/rueidis"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/lockwheelotel"
)

func ExampleNewTracer() {
	ctx := context.Background()
	server, err := miniredis.Run()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	spans := tracetest.NewSpanRecorder() // a program has an exporter here
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))

	locks, err := lockwheel.Open(ctx, lockwheel.Options{
		Redis:  rueidis.ClientOption{InitAddress: []string{server.Addr()}},
		Tracer: lockwheelotel.NewTracer(lockwheelotel.WithTracerProvider(provider)),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	err = locks.Mutex("orders/7").Do(ctx, func(context.Context) error { return nil })
	if err != nil {
		log.Fatal(err)
	}
	for _, span := range spans.Ended() {
		fmt.Println(span.Name())
	}
	// Output:
	// lockwheel lock
	// lockwheel unlock
}

func ExampleRegisterMetrics() {
	ctx := context.Background()
	server, err := miniredis.Run()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	locks, err := lockwheel.Dial(ctx, "redis://"+server.Addr())
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	reader := sdkmetric.NewManualReader() // a program has a periodic reader with an exporter here
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))

	unregister, err := lockwheelotel.RegisterMetrics(locks, "orders", lockwheelotel.WithMeterProvider(provider))
	if err != nil {
		log.Fatal(err)
	}
	defer unregister()

	var data metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &data); err != nil {
		log.Fatal(err)
	}
	fmt.Println(data.ScopeMetrics[0].Metrics[0].Name)
	// Output: lockwheel.hold.count
}

// A program with a server, and with the global providers. This example is compiled and not run.
func Example() {
	ctx := context.Background()
	locks, err := lockwheel.Open(ctx, lockwheel.Options{
		Redis:  rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}},
		Tracer: lockwheelotel.NewTracer(),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()

	unregister, err := lockwheelotel.RegisterMetrics(locks, "orders")
	if err != nil {
		log.Fatal(err)
	}
	defer unregister()
}

// A name that says too much, or has too many values, is replaced.
func ExampleWithLockName() {
	_ =
		lockwheelotel.NewTracer(lockwheelotel.WithLockName(func(name string) string {
			kind, _, _ := strings.Cut(name, "/")
			return kind // orders/7 becomes orders
		}))
}
