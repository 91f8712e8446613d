package lockwheelprom_test

import (
	"context"
	"fmt"
	"log"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/lockwheelprom"
)

func ExampleNewCollector() {
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

	prometheus.MustRegister(lockwheelprom.NewCollector(locks, "orders"))

	hold, err := locks.Mutex("orders/7").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "lockwheel_holds" {
			fmt.Println(family.Metric[0].Label[0].GetValue(), family.Metric[0].Gauge.GetValue())
		}
	}
	// Output: orders 1
}
