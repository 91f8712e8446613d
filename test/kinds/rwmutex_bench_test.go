package kinds_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// BenchmarkRWMutex_Pairs measures locking and unlocking by many callers, each with its own name, and for readers also
// with one shared name.
func BenchmarkRWMutex_Pairs(b *testing.B) {
	e := locktest.RealServer(b).Open(lockwheel.Options{})
	for _, kind := range []struct {
		name string
		lock func(string) lockwheel.Mutex
	}{
		{"plain", e.Mutex},
		{"read", func(name string) lockwheel.Mutex { return e.RWMutex(name).RLocker() }},
		{"write", func(name string) lockwheel.Mutex { return e.RWMutex(name).Writer() }},
		{"read of one name", func(string) lockwheel.Mutex { return e.RWMutex("one").RLocker() }},
	} {
		b.Run(kind.name, func(b *testing.B) {
			var callers atomic.Int64
			b.SetParallelism(128)
			b.RunParallel(func(pb *testing.PB) {
				m := kind.lock(fmt.Sprint("n", callers.Add(1)))
				for pb.Next() {
					hold, err := m.Lock(b.Context())
					if err == nil {
						err = hold.Unlock(b.Context())
					}
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
