package bench

import (
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

func quantile(values []time.Duration, q float64) time.Duration {
	slices.Sort(values)
	return values[int(q*float64(len(values)-1))]
}

// run calls work in so many goroutines, pairs times in all, and returns how long that took.
func run(b *testing.B, goroutines, pairs int, work func(goroutine int) error) time.Duration {
	var wg sync.WaitGroup
	started := time.Now()
	for g := range goroutines {
		wg.Go(func() {
			for range pairs / goroutines {
				if err := work(g); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(started)
}

// cpu is what this process has used so far.
func cpu() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// rate is a series of measurements of one contestant.
type rate struct {
	pairs int
	took  []time.Duration
	cpu   []time.Duration
}

func (r *rate) measure(b *testing.B, goroutines int, work func(int) error) {
	used := cpu()
	r.took = append(r.took, run(b, goroutines, r.pairs, work))
	r.cpu = append(r.cpu, cpu()-used)
}

// perSecond is the median of the series.
func (r *rate) perSecond() float64 { return float64(r.pairs) / median(r.took).Seconds() }

// cpuPerPair is the median, in microseconds.
func (r *rate) cpuPerPair() float64 { return float64(median(r.cpu).Microseconds()) / float64(r.pairs) }
