package lockwheelprom_test

import (
	"context"
	"fmt"
	"log"
	"regexp"

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

// The locks that whole jobs depend on have series of their own.
func ExampleNewLockCollector() {
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

	few := regexp.MustCompile(`^(import|report)/`)
	prometheus.MustRegister(lockwheelprom.NewLockCollector(locks, "orders", few))

	for _, name := range []string{"orders/7", "report/daily"} {
		hold, err := locks.Mutex(name).Lock(ctx)
		if err != nil {
			log.Fatal(err)
		}
		defer hold.Unlock(ctx)
	}
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "lockwheel_lock_holds" {
			fmt.Println(family.Metric[0].Label[1].GetValue(), family.Metric[0].Gauge.GetValue())
		}
	}
	// Output: report/daily 1
}
