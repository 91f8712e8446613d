// Command example takes and releases locks and serves the metrics of its engine:
//
//	go run ./example -redis 127.0.0.1:6379 -listen 127.0.0.1:9464
//	curl -s 127.0.0.1:9464/metrics | grep ^lockwheel
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/lockwheelprom"
)

func main() {
	redis := flag.String("redis", "127.0.0.1:6379", "the `address` of the server")
	listen := flag.String("listen", "127.0.0.1:9464", "the `address` to serve /metrics on")
	lease := flag.Duration("lease", 3*time.Second, "the lease of the locks")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *redis, *listen, *lease); err != nil {
		log.Fatal(err)
	}
}

// run serves the metrics of an engine that has something to do, until ctx ends.
func run(ctx context.Context, redis, listen string, lease time.Duration) error {
	locks, err := lockwheel.Open(ctx, lockwheel.Options{
		Redis: rueidis.ClientOption{InitAddress: []string{redis}},
		Lease: lease,
	})
	if err != nil {
		return err
	}
	defer locks.Close()

	registry := prometheus.NewRegistry()
	if err := registry.Register(lockwheelprom.NewCollector(locks, "orders")); err != nil {
		return err
	}
	metrics := http.NewServeMux()
	metrics.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	at, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: metrics, ReadHeaderTimeout: time.Second}
	fmt.Printf("http://%s/metrics\n", at.Addr())

	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() { lockSome(ctx, locks) })
	}
	callers.Go(func() {
		<-ctx.Done()
		_ = server.Close()
	})
	if err := server.Serve(at); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	callers.Wait()
	return nil
}

// lockSome holds one lock all the time, and takes others that several callers want.
func lockSome(ctx context.Context, locks *lockwheel.Engine) {
	kept, err := locks.Mutex(fmt.Sprintf("kept/%d", rand.Uint64())).Lock(ctx)
	if err != nil {
		return
	}
	defer kept.Unlock(context.WithoutCancel(ctx))
	for ctx.Err() == nil {
		_ = locks.Mutex(fmt.Sprintf("orders/%d", rand.IntN(4))).Do(ctx, func(context.Context) error {
			time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
			return nil
		}, lockwheel.Wait(time.Second))
	}
}
