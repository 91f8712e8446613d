package waiting_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
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

// The caller of a Multi blocks, though there is no LockAsync of it: the UnlockAsync for which it waits does not leave
// behind a flood of others.
func TestUnlockAsync_FloodAndMultiWaits_LeavesNext(t *testing.T) {
	t.Parallel()
	const flood = 5000
	s, p, e := locktest.Behind(t, lockwheel.Options{})
	many := make([]*lockwheel.Pending, flood)
	for i := range many {
		many[i] = e.Mutex(fmt.Sprint("k", i)).LockAsync(t.Context())
	}
	holds := make([]*lockwheel.Hold, flood)
	for i := range many {
		holds[i], _ = locktest.OutcomeOf(t, many[i])
	}
	held := locktest.Lock(t, e.Mutex("a"))
	taken := make(chan *lockwheel.Hold, 1)
	go func() {
		all, err := e.Multi(e.Mutex("a"), e.Mutex("b")).Lock(t.Context())
		if err != nil {
			t.Error(err)
		}
		taken <- all
	}()
	locktest.Queued(t, e, 1)

	p.Set(proxy.Replies, proxy.Delay(400*time.Millisecond))
	unlocks := make([]*lockwheel.Unlocking, flood)
	for i, hold := range holds {
		unlocks[i] = hold.UnlockAsync()
	}
	held.UnlockAsync()
	all := locktest.Receive(t, taken)
	open := 0
	for _, u := range unlocks {
		if !locktest.IsClosed(u.Done()) {
			open++
		}
	}
	require.Greater(t, open, flood/10, "the server goes on while the grant is on its way")
	p.Set(proxy.Replies, proxy.Pass)
	locktest.Unlock(t, all)
	for _, u := range unlocks {
		locktest.Receive(t, u.Done())
	}
	locktest.RequireIdle(t, e)
	s.Empty(t)
}
