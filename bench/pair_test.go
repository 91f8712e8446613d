package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/lockwheel/lockwheel"
)

// BenchmarkPair locks and unlocks names of their own from many goroutines; an operation is a round of
// both contestants, ours first.
func BenchmarkPair(b *testing.B) {
	for _, goroutines := range []int{1, 16, 256, 2048, 16384} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) { benchmarkPair(b, goroutines) })
	}
}

func benchmarkPair(b *testing.B, goroutines int) {
	addr := address(b)
	locks := openEngine(b, addr, lockwheel.Options{})
	client := openPlain(b, addr)
	mutexes := make([]lockwheel.Mutex, goroutines)
	directs := make([]*direct, goroutines)
	for g := range goroutines {
		mutexes[g] = locks.Mutex(fmt.Sprintf("pair-%d", g))
		directs[g] = newDirect(client, fmt.Sprintf("direct-%d", g), g)
	}
	ours := func(g int) error {
		hold, err := mutexes[g].Lock(context.Background())
		if err != nil {
			return err
		}
		return hold.Unlock(context.Background())
	}
	theirs := func(g int) error {
		if err := directs[g].lock(); err != nil {
			return err
		}
		return directs[g].unlock()
	}
	pairs := max(min(goroutines*500, 100_000), 5_000, 2*goroutines)
	a, d := rate{pairs: pairs / goroutines * goroutines}, rate{pairs: pairs / goroutines * goroutines}
	run(b, goroutines, pairs, ours) // warm up
	run(b, goroutines, pairs, theirs)
	for b.Loop() {
		a.measure(b, goroutines, ours)
		d.measure(b, goroutines, theirs)
	}
	b.ReportMetric(a.perSecond(), "pairs/s")
	b.ReportMetric(d.perSecond(), "direct-pairs/s")
	b.ReportMetric(a.perSecond()/d.perSecond(), "x-direct")
	b.ReportMetric(a.cpuPerPair(), "cpu-µs/pair")
	b.ReportMetric(d.cpuPerPair(), "direct-cpu-µs/pair")
}
