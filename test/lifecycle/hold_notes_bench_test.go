package lifecycle

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// BenchmarkHoldNotes measures a pair of many callers, with and without what can be recorded of holds.
func BenchmarkHoldNotes(b *testing.B) {
	s := locktest.AnyServer(b)
	for _, with := range []struct {
		name string
		opts lockwheel.Options
		ctx  context.Context
	}{
		{"plain", lockwheel.Options{}, b.Context()},
		{"label", lockwheel.Options{}, lockwheel.WithLabel(b.Context(), "nightly report")},
		{"call sites", lockwheel.Options{CallSites: true}, b.Context()},
		{"find leaks", lockwheel.Options{FindLeaks: true}, b.Context()},
	} {
		b.Run(with.name, func(b *testing.B) {
			e := s.Open(with.opts)
			b.ReportAllocs()
			b.SetParallelism(512)
			var callers atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				m := e.Mutex(strconv.FormatInt(callers.Add(1), 10))
				for pb.Next() {
					hold, err := m.Lock(with.ctx)
					require.NoError(b, err)
					require.NoError(b, hold.Unlock(with.ctx))
				}
			})
		})
	}
}
