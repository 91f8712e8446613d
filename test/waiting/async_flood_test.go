package waiting_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// Callers that wait for nothing can call LockAsync faster than the loop decides. At no moment have more of their
// requests no result than Options.MaxWaiting and docs/bounds.md say, whether they cancel them or not.
func TestLockAsync_Flood_PendingsAreBounded(t *testing.T) {
	t.Parallel()
	const maxWaiting, backlog, callers, calls = 100, 4096, 4, 50_000
	for name, cancels := range map[string]bool{"dropped": false, "canceled": true} {
		t.Run(name, func(t *testing.T) {
			s := locktest.AnyServer(t)
			e := s.Open(lockwheel.Options{MaxWaiting: maxWaiting})
			hold := locktest.Lock(t, e.Mutex("n"))
			all := make([][]*lockwheel.Pending, callers)
			var wg sync.WaitGroup
			for c := range all {
				wg.Go(func() {
					for range calls {
						p := e.Mutex("n").LockAsync(t.Context())
						if cancels {
							p.Cancel()
						}
						all[c] = append(all[c], p)
					}
				})
			}
			wg.Wait()
			open := 0
			for _, some := range all {
				for i := len(some) - 1; i >= 0; i-- { // the latest first, because their results come last
					if !locktest.IsClosed(some[i].Done()) {
						open++
					}
				}
			}
			require.LessOrEqual(t, open, maxWaiting+backlog)
			t.Logf("%d without a result", open)

			_, err := e.Mutex("another").State(t.Context())
			require.NoError(t, err)
			for _, some := range all {
				for _, p := range some {
					p.Cancel()
					locktest.Receive(t, p.Done())
				}
			}
			stats := e.Stats()
			require.EqualValues(t, callers*calls, stats.Failed, "each rejection is counted")
			require.Equal(t, stats.Acquired+stats.Failed, stats.AcquireWaits.Count(), "in the histogram, too")
			locktest.Unlock(t, hold)
			locktest.RequireIdle(t, e)
			s.Empty(t)
		})
	}
}
