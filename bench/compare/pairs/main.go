// Pairs prints how many times per second this many goroutines lock and unlock a name each. It also prints how many
// microseconds of this process's CPU a pair takes. It uses only the API that every revision of the library has, because
// compare builds it with two of them.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
	"golang.org/x/sys/unix"

	"github.com/lockwheel/lockwheel"
)

func main() {
	addr := flag.String("redis", "127.0.0.1:6379", "`address` of the server")
	goroutines := flag.Int("goroutines", 2048, "how many lock and unlock, a name each")
	span := flag.Duration("for", time.Second, "for how long, after a third of that which does not count")
	flag.Parse()
	ctx := context.Background()
	locks, err := lockwheel.Open(ctx, lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{*addr}}})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	var stop atomic.Bool
	var all sync.WaitGroup
	counts := make([]struct {
		pairs atomic.Int64
		_     [56]byte // fills a cache line
	}, *goroutines)
	for i := range counts {
		all.Go(func() {
			m := locks.Mutex("pairs:" + strconv.Itoa(i))
			for !stop.Load() {
				hold, err := m.Lock(ctx)
				if err != nil {
					log.Fatal(err)
				}
				if err := hold.Unlock(ctx); err != nil {
					log.Fatal(err)
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
	time.Sleep(*span / 3)
	before, began, idle := sum(), time.Now(), cpu()
	time.Sleep(*span)
	done, took, used := float64(sum()-before), time.Since(began), cpu()-idle
	stop.Store(true)
	all.Wait()
	fmt.Printf("%.0f %.3f\n", done/took.Seconds(), float64(used)/1e3/done)
}

// cpu returns the CPU time that this process has used.
func cpu() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
