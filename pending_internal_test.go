package lockwheel

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/engine"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/internal/embedded"
)

// The loop is kept busy. Callers that drop what LockAsync returns, also those that cancel it, then post a bounded
// number of requests, and the calls beyond it are rejected at once, counted and reported. After that the engine works
// as before.
func TestLockAsync_BusyLoop_IsBounded(t *testing.T) {
	t.Parallel()
	const maxWaiting, callers, calls = 100, 4, 5_000
	server, err := embedded.Start()
	require.NoError(t, err)
	t.Cleanup(server.Close)
	var told atomic.Int64
	e, err := Open(t.Context(), Options{
		Redis:      rueidis.ClientOption{InitAddress: []string{server.Addr()}, ForceSingleClient: true},
		MaxWaiting: maxWaiting,
		Observer:   Observer{Rejected: func(string, time.Duration, error) { told.Add(1) }},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	hold, err := e.Mutex("n").Lock(t.Context())
	require.NoError(t, err)

	held, release := make(chan struct{}), make(chan struct{})
	busy := engine.NewCallback(func() {
		close(held)
		<-release
	})
	busy.Op, busy.Name, busy.Key = coordinator.AskCount, "n", "n"
	require.True(t, e.loop.Post(busy))
	<-held
	const want = `lockwheel: lock "n": too many wait already: 100 in this engine (Options.MaxWaiting)`
	var wg sync.WaitGroup
	var posted, rejected atomic.Int64
	for range callers {
		wg.Go(func() {
			for i := range calls {
				p := e.Mutex("n").LockAsync(context.Background())
				if p.call != nil {
					posted.Add(1)
				} else {
					rejected.Add(1)
					<-p.Done()
					if _, err := p.Hold(); !errors.Is(err, ErrTooManyWaiters) || err.Error() != want {
						t.Error(err)
					}
				}
				if i%2 == 0 {
					p.Cancel()
				}
			}
		})
	}
	wg.Wait()
	close(release)
	require.EqualValues(t, callers*calls, posted.Load()+rejected.Load())
	require.LessOrEqual(t, posted.Load(), int64(maxWaiting+engine.AsyncBacklog))

	require.NoError(t, hold.Unlock(t.Context()))
	require.Eventually(t, func() bool { return uint64(told.Load())+e.Stats().DroppedEvents >= e.Stats().Failed }, 10*time.Second, 10*time.Millisecond)
	stats := e.Stats()
	require.GreaterOrEqual(t, stats.Shed, uint64(rejected.Load()))
	require.GreaterOrEqual(t, stats.Failed, stats.Shed)
}
