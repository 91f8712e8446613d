// Tracercost compares an engine with a Tracer to one without. It reports pairs per second of many goroutines with a
// name each, in turn, on one server that it starts. The tracer puts a value into the context of each call, as one that
// starts spans does, and counts what ended.
//
//	go run ./tracercost
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/measure"
)

// tracer does the least that a tracer with spans does.
type tracer struct{ ended, failed atomic.Int64 }

// span is what tracer puts into the context of a call.
type span struct {
	call  lockwheel.TracedCall
	begun time.Time
}

type spanKey struct{}

func (t *tracer) CallStart(ctx context.Context, call lockwheel.TracedCall) context.Context {
	return context.WithValue(ctx, spanKey{}, &span{call, time.Now()})
}

func (t *tracer) CallEnd(_ context.Context, _ lockwheel.TracedCall, _ *lockwheel.Hold, err error) {
	t.ended.Add(1)
	if err != nil {
		t.failed.Add(1)
	}
}

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", 9, "how often each is measured")
	goroutines := flag.Int("goroutines", 2048, "how many lock and unlock, a name each")
	span := flag.Duration("for", time.Second, "how long a round is, after a third of that which does not count")
	flag.Parse()
	if err := compare(*rounds, *goroutines, *span); err != nil {
		log.Fatal(err)
	}
}

func compare(rounds, goroutines int, span time.Duration) error {
	ctx := context.Background()
	server, err := bench.OpenServer(ctx, "")
	if err != nil {
		return err
	}
	defer server.Close()
	var engines [2]*lockwheel.Engine
	for i, t := range []lockwheel.Tracer{nil, &tracer{}} {
		options := lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{server.Addr}}, Tracer: t}
		if engines[i], err = lockwheel.Open(ctx, options); err != nil {
			return err
		}
		defer engines[i].Close()
	}
	var rates, cpu [2][]float64
	var ratios []float64
	for round := range rounds {
		var now [2]figures
		for turn := range engines {
			i := (round + turn) % 2 // neither is always first
			if now[i], err = pairs(ctx, engines[i], goroutines, span); err != nil {
				return err
			}
			rates[i], cpu[i] = append(rates[i], now[i].rate), append(cpu[i], now[i].cpu)
		}
		ratios = append(ratios, now[1].rate/now[0].rate)
	}
	fmt.Printf("pairs/s of %d goroutines, medians of %d: %.0f without a tracer, %.0f with one; ratios of a round: median %.3f, %.3f to %.3f\n",
		goroutines, rounds, median(rates[0]), median(rates[1]), median(ratios), slices.Min(ratios), slices.Max(ratios))
	fmt.Printf("this process's CPU of a pair, medians: %.2f µs without, %.2f µs with one\n", median(cpu[0]), median(cpu[1]))
	return nil
}

// figures are what a round measured: pairs per second, and the CPU time of a pair in this process in microseconds.
type figures struct{ rate, cpu float64 }

// pairs measures how the goroutines lock and unlock together.
func pairs(ctx context.Context, locks *lockwheel.Engine, goroutines int, span time.Duration) (figures, error) {
	var stop atomic.Bool
	var all sync.WaitGroup
	var failure atomic.Pointer[error]
	counts := make([]struct {
		pairs atomic.Int64
		_     [56]byte // fills a cache line
	}, goroutines)
	for i := range counts {
		all.Go(func() {
			m := locks.Mutex("pairs:" + strconv.Itoa(i))
			for !stop.Load() {
				hold, err := m.Lock(ctx)
				if err == nil {
					err = hold.Unlock(ctx)
				}
				if err != nil {
					failure.Store(&err)
					return
				}
				counts[i].pairs.Add(1)
			}
		})
	}
	sum := func() (sum int64) {
		for i := range counts {
			sum += counts[i].pairs.Load()
		}
		return sum
	}
	time.Sleep(span / 3)
	before, began, used := sum(), time.Now(), measure.Used()
	time.Sleep(span)
	done, took, cpu := sum()-before, time.Since(began), measure.Used().Minus(used).CPU
	stop.Store(true)
	all.Wait()
	if err := failure.Load(); err != nil {
		return figures{}, *err
	}
	return figures{float64(done) / took.Seconds(), float64(cpu.Nanoseconds()) / 1e3 / float64(done)}, nil
}

func median(of []float64) float64 {
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}
