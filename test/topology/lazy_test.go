package topology

import (
	"fmt"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/proxy"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// awaitLazily has calls of every kind wait at an engine that was opened before its servers were there.
func awaitLazily(t *testing.T, p *proxy.Proxy, redis rueidis.ClientOption) {
	t.Helper()
	require.NoError(t, p.Refuse(true))
	redis.InitAddress = []string{p.Addr()}
	e, err := lockwheel.Open(t.Context(), lockwheel.Options{Lazy: true, Redis: redis})
	require.NoError(t, err)
	defer e.Close()
	require.True(t, e.Status()[0].Down)
	require.Error(t, e.Status()[0].Err)

	const each = 100
	var waits []<-chan locktest.Outcome
	for i := range each {
		waits = append(waits,
			locktest.Locking(t.Context(), e.Mutex(fmt.Sprintf("plain-%d", i))),
			locktest.Locking(t.Context(), e.RWMutex(fmt.Sprintf("read-%d", i)).RLocker()),
			locktest.TakingAsync(t.Context(), e.FairMutex(fmt.Sprintf("fair-%d", i))))
	}
	locktest.Queued(t, e, 3*each)
	require.NoError(t, p.Refuse(false))
	for _, w := range waits {
		locktest.Unlock(t, locktest.Granted(t, w))
	}
	for _, n := range e.Status() {
		require.False(t, n.Down)
		require.NotEmpty(t, n.Address)
	}
	locktest.RequireIdle(t, e)
}

// An engine that was opened before its cluster sends what waited to the masters of the slots.
func TestLazy_Cluster_ComesLater(t *testing.T) {
	t.Parallel()
	c := locktest.NewClusterEnv(t, 0)
	awaitLazily(t, proxy.Start(t, c.Addrs()[0]), rueidis.ClientOption{})
}

// An engine that was opened before its sentinels finds the master through them.
func TestLazy_Sentinel_ComesLater(t *testing.T) {
	long.Only(t, "starts sentinels")
	t.Parallel()
	w := redistest.StartSentinels(t, 1, 1)
	awaitLazily(t, proxy.Start(t, w.Addrs()[0]), rueidis.ClientOption{Sentinel: rueidis.SentinelOption{MasterSet: w.Name}})
}
