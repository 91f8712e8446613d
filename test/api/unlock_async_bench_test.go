package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// BenchmarkLoneCaller measures how long a caller that is alone waits for a lock and its unlock, with Unlock and with
// UnlockAsync. What UnlockAsync leaves to the engine is over before the next lock, and does not count.
func BenchmarkLoneCaller(b *testing.B) {
	s := locktest.AnyServer(b)
	for _, c := range []struct {
		name   string
		unlock func(*lockwheel.Hold) <-chan struct{}
	}{
		{"Unlock", func(hold *lockwheel.Hold) <-chan struct{} {
			require.NoError(b, hold.Unlock(b.Context()))
			return nil
		}},
		{"UnlockAsync", func(hold *lockwheel.Hold) <-chan struct{} { return hold.UnlockAsync().Done() }},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := s.Open(lockwheel.Options{}).Mutex("n")
			var waited time.Duration
			for b.Loop() {
				began := time.Now()
				hold, err := m.Lock(b.Context())
				require.NoError(b, err)
				over := c.unlock(hold)
				waited += time.Since(began)
				if over != nil {
					<-over
				}
			}
			b.ReportMetric(float64(waited.Nanoseconds())/float64(b.N), "ns-waited/op")
		})
	}
}
