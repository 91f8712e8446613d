package producer_test

import (
	"context"
	"log"

	"github.com/redis/rueidis"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/lockwheelotel/producer"
)

// exporter is where a program sends its metrics.
var exporter metric.Exporter

// The histograms of an engine are exported with the program's other metrics.
func ExampleNew() {
	ctx := context.Background()
	locks, err := lockwheel.Open(ctx, lockwheel.Options{
		Redis: rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()

	histograms, err := producer.New(locks, "orders")
	if err != nil {
		log.Fatal(err)
	}
	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(histograms))
	meters := metric.NewMeterProvider(metric.WithReader(reader))
	defer meters.Shutdown(ctx)
}
