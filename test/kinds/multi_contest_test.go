package kinds_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// again acquires a lock repeatedly until ctx ends, and holds it for a moment. It returns the number of grants and the
// longest wait, including a wait without a grant.
func again(ctx context.Context, t *testing.T, lock func() (*lockwheel.Hold, error), had *atomic.Int64) (longest time.Duration) {
	for ctx.Err() == nil {
		asked := time.Now()
		hold, err := lock()
		longest = max(longest, time.Since(asked))
		if err != nil {
			if ctx.Err() == nil {
				t.Error(err)
			}
			return longest
		}
		had.Add(1)
		time.Sleep(2 * time.Millisecond) // the work
		if err := hold.Unlock(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}
	return longest
}

// At any time some part is held by a caller that wants only that one. The next such caller acquires it as soon as it is
// free.
func TestMulti_BusyMembers_GetsItsTurn(t *testing.T) {
	t.Parallel()
	const callers, turns = 8, 20
	for name, engines := range map[string]int{"callers of its own engine": 1, "callers of other engines": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			all := make([]*lockwheel.Engine, engines)
			for i := range all {
				all[i] = s.Open(locktest.SlowTimeouts)
			}
			ctx, stop := context.WithTimeout(t.Context(), 4*locktest.TestDeadline)
			defer stop()
			var singles sync.WaitGroup
			var had, others atomic.Int64
			waits := make([]time.Duration, callers)
			for i := range callers {
				part := all[(i+1)%engines].Mutex([]string{"1", "2", "3"}[i%3])
				singles.Go(func() {
					waits[i] = again(ctx, t, func() (*lockwheel.Hold, error) { return part.Lock(ctx) }, &others)
				})
			}
			m := locktest.Multi(all[0], "3", "2", "1")
			longest := again(ctx, t, func() (*lockwheel.Hold, error) {
				if had.Load() == turns {
					stop()
				}
				return m.Lock(ctx)
			}, &had)
			singles.Wait()
			usual := locktest.LateTimer / 5 // a busy machine may delay this caller only
			for _, wait := range waits {
				usual = max(usual, wait)
			}
			t.Logf("%d grants, longest wait %v; the others %d grants, longest wait %v", had.Load(), longest, others.Load(), usual)
			require.GreaterOrEqual(t, had.Load(), int64(turns))
			require.LessOrEqual(t, longest, 10*usual)
			locktest.Eventually(t, "nothing left", func() bool { return s.Do("DBSIZE") == int64(0) })
		})
	}
}
