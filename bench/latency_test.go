package bench

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// BenchmarkOneCaller compares a lock and an unlock of one caller alone with bare round trips of rueidis:
// a PING, and the single-lock script that does the same.
func BenchmarkOneCaller(b *testing.B) {
	addr := address(b)
	mutex := openEngine(b, addr, lockwheel.Options{}).Mutex("one")
	client := openPlain(b, addr)
	plain := newDirect(client, "direct", 1)
	series := map[string][]time.Duration{}
	measure := func(what string, f func() error) {
		started := time.Now()
		err := f()
		series[what] = append(series[what], time.Since(started))
		require.NoError(b, err)
	}
	for b.Loop() {
		for range 1000 {
			var hold *lockwheel.Hold
			measure("lock", func() (err error) { hold, err = mutex.Lock(context.Background()); return err })
			measure("unlock", func() error { return hold.Unlock(context.Background()) })
			measure("direct-lock", plain.lock)
			measure("direct-unlock", plain.unlock)
			measure("ping", func() error { return client.Do(context.Background(), client.B().Ping().Build()).Error() })
		}
	}
	for what, values := range series {
		b.ReportMetric(float64(median(values).Nanoseconds())/1000, what+"-p50-µs")
	}
	b.ReportMetric(float64(median(series["lock"]))/float64(median(series["direct-lock"])), "lock-x-direct")
	b.ReportMetric(float64(median(series["unlock"]))/float64(median(series["direct-unlock"])), "unlock-x-direct")
	b.ReportMetric(float64(median(series["lock"]))/float64(median(series["ping"])), "lock-x-ping")
	b.ReportMetric(float64(median(series["unlock"]))/float64(median(series["ping"])), "unlock-x-ping")
}
