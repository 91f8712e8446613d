package lockwheel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel"
)

// BenchmarkMultiOfTen takes and releases ten locks as one and in turn, alternately, and prints how many times
// faster the first is.
func BenchmarkMultiOfTen(b *testing.B) {
	e := realSite(b).open(lockwheel.Options{})
	var locks []lockwheel.Mutex
	for i := range 10 {
		locks = append(locks, e.Mutex(fmt.Sprint("n", i)))
	}
	m := e.Multi(locks...)
	var together, inTurn time.Duration
	for b.Loop() {
		began := time.Now()
		unlock(b, lockAll(b, m))
		together += time.Since(began)

		began = time.Now()
		var holds []*lockwheel.Hold
		for _, l := range locks {
			holds = append(holds, lock(b, l))
		}
		for _, hold := range holds {
			unlock(b, hold)
		}
		inTurn += time.Since(began)
	}
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N) }
	b.ReportMetric(each(together), "µs/multi")
	b.ReportMetric(each(inTurn), "µs/in-turn")
	b.ReportMetric(float64(inTurn)/float64(together), "times-faster")
}
