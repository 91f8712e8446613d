package kinds_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// BenchmarkMultiOfTen acquires and releases ten locks, alternately atomically and sequentially, and prints how many
// times faster the first is. It does so for a server that is a memory copy away, and for one that is half a
// millisecond away.
func BenchmarkMultiOfTen(b *testing.B) {
	s := locktest.RealServer(b)
	b.Run("loopback", func(b *testing.B) { asOneAndInTurn(b, s.Open(lockwheel.Options{})) })
	b.Run("500µs-away", func(b *testing.B) {
		p := proxy.Start(b, s.Addr)
		p.Set(proxy.Replies, proxy.Delay(500*time.Microsecond))
		asOneAndInTurn(b, s.OpenAt(p.Addr(), lockwheel.Options{}))
	})
}

func asOneAndInTurn(b *testing.B, e *lockwheel.Engine) {
	var locks []lockwheel.Mutex
	for i := range 10 {
		locks = append(locks, e.Mutex(fmt.Sprint("n", i)))
	}
	m := e.Multi(locks...)
	var asOne, inTurn time.Duration
	for b.Loop() {
		began := time.Now()
		locktest.Unlock(b, locktest.LockAll(b, m))
		asOne += time.Since(began)

		began = time.Now()
		var holds []*lockwheel.Hold
		for _, l := range locks {
			holds = append(holds, locktest.Lock(b, l))
		}
		for _, hold := range holds {
			locktest.Unlock(b, hold)
		}
		inTurn += time.Since(began)
	}
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N) }
	b.ReportMetric(each(asOne), "µs/as-one")
	b.ReportMetric(each(inTurn), "µs/in-turn")
	b.ReportMetric(float64(inTurn)/float64(asOne), "times-faster")
}
