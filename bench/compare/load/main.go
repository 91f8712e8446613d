// Load runs one load on the library and prints figures of it, one a line: a value, its decimals, what it is. It uses
// only the API that every revision of the library has, because compare builds it with two of them.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
	"golang.org/x/sys/unix"

	"github.com/lockwheel/lockwheel"
)

// load is what all loads need.
type load struct {
	ctx  context.Context
	addr string
	n    int           // goroutines, or locks that are held
	span time.Duration // how long it is measured
}

var loads = map[string]func(load){
	"pairs":   func(l load) { l.pairs(func(i int) string { return "pairs:" + strconv.Itoa(i) }) },
	"two":     func(l load) { l.pairs(func(i int) string { return "two:" + strconv.Itoa(i/2) }) },
	"hot":     func(l load) { l.pairs(func(int) string { return "hot" }) },
	"hold":    load.hold,
	"latency": load.latency,
	"used":    load.used,
}

func main() {
	addr := flag.String("redis", "127.0.0.1:6379", "`address` of the server")
	what := flag.String("load", "pairs", "pairs, two, hot, hold, latency or used")
	n := flag.Int("n", 2048, "how many goroutines lock and unlock, or how many locks are held")
	span := flag.Duration("for", time.Second, "for how long it is measured")
	flag.Parse()
	run := loads[*what]
	if run == nil {
		log.Fatalf("no load is named %q", *what)
	}
	run(load{context.Background(), *addr, *n, *span})
}

// open opens an engine; lease 0 is the default.
func (l load) open(lease time.Duration) *lockwheel.Engine {
	locks, err := lockwheel.Open(l.ctx, lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{l.addr}}, Lease: lease})
	if err != nil {
		log.Fatal(err)
	}
	return locks
}

// pairs lets goroutines lock and unlock, each one name.
func (l load) pairs(name func(int) string) {
	locks := l.open(0)
	defer locks.Close()
	var stop atomic.Bool
	var all sync.WaitGroup
	counts := make([]struct {
		pairs atomic.Int64
		_     [56]byte // fills a cache line
	}, l.n)
	for i := range counts {
		all.Go(func() {
			for m := locks.Mutex(name(i)); !stop.Load(); {
				l.pair(m)
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
	time.Sleep(l.span / 3)
	before, began, idle := sum(), time.Now(), cpu()
	time.Sleep(l.span)
	done, took, used := float64(sum()-before), time.Since(began), cpu()-idle
	stop.Store(true)
	all.Wait()
	figure(done/took.Seconds(), 0, "pairs/s")
	figure(float64(used)/1e3/done, 2, "CPU of a pair, µs")
}

func (l load) pair(m lockwheel.Mutex) {
	hold, err := m.Lock(l.ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := hold.Unlock(l.ctx); err != nil {
		log.Fatal(err)
	}
}

// hold holds many locks, and renews each three times a lease. The span is that of a lease.
func (l load) hold() {
	locks := l.open(l.span)
	defer locks.Close()
	const takers = 256
	holds := make([]*lockwheel.Hold, l.n)
	empty := heap()
	var all sync.WaitGroup
	for first := range takers {
		all.Go(func() {
			for i := first; i < l.n; i += takers {
				hold, err := locks.Mutex("hold:" + strconv.Itoa(i)).Lock(l.ctx)
				if err != nil {
					log.Fatal(err)
				}
				holds[i] = hold
			}
		})
	}
	all.Wait()
	time.Sleep(l.span)
	used := heap() - empty
	client, server := cpu(), l.serverCPU()
	time.Sleep(l.span)
	renewals := float64(3 * l.n)
	figure(float64(cpu()-client)/1e3/renewals, 2, "client's CPU of a renewal, µs")
	figure((l.serverCPU()-server)*1e6/renewals, 2, "server's CPU of a renewal, µs")
	figure(float64(used)/float64(l.n), 0, "bytes of a held lock, with its name and hold")
	for _, hold := range holds {
		if err := hold.Err(); err != nil {
			log.Fatal(err)
		}
	}
}

// latency measures one caller, alone.
func (l load) latency() {
	locks := l.open(0)
	defer locks.Close()
	l.alone(locks)
}

// used measures one caller, alone, of an engine that has had many at once.
func (l load) used() {
	locks := l.open(0)
	defer locks.Close()
	var all sync.WaitGroup
	for i := range l.n {
		all.Go(func() {
			for range 10 {
				l.pair(locks.Mutex("used:" + strconv.Itoa(i)))
			}
		})
	}
	all.Wait()
	l.alone(locks)
}

func (l load) alone(locks *lockwheel.Engine) {
	m := locks.Mutex("latency")
	var took []time.Duration
	idle := cpu()
	for began, warm := time.Now(), false; time.Since(began) < l.span+l.span/3; {
		at := time.Now()
		if !warm && at.Sub(began) > l.span/3 {
			warm, idle = true, cpu()
		}
		l.pair(m)
		if warm {
			took = append(took, time.Since(at))
		}
	}
	used := cpu() - idle
	slices.Sort(took)
	figure(float64(used)/1e3/float64(len(took)), 1, "CPU of a pair, µs")
	figure(float64(took[len(took)/2])/1e3, 1, "p50 of a pair, µs")
	figure(float64(took[len(took)*99/100])/1e3, 1, "p99 of a pair, µs")
}

// figure prints one figure.
func figure(value float64, decimals int, what string) { fmt.Println(value, decimals, what) }

// heap returns the number of bytes that live.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// cpu returns the CPU time that this process has used.
func cpu() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serverCPU returns the CPU time that the server has used, in seconds.
func (l load) serverCPU() (seconds float64) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{l.addr}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	info, err := client.Do(l.ctx, client.B().Info().Section("cpu").Build()).ToString()
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"used_cpu_sys:", "used_cpu_user:"} {
		seconds += number(info, name)
	}
	return seconds
}

// number returns the number that follows a name in the reply to INFO.
func number(info, name string) (value float64) {
	_, after, found := strings.Cut(info, "\n"+name)
	if _, err := fmt.Sscan(after, &value); !found || err != nil {
		log.Fatalf("INFO says nothing of %s", name)
	}
	return value
}
