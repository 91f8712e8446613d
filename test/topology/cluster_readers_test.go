package topology_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// The lock of several readers has moved to the target node of its slot, and the keys of their holds have not. A
// release there sees none of them. The remaining readers are not dead for that: no writer may acquire the lock, and
// the lock lives as long as they need.
func TestCluster_SlotMoves_ReadersAlive(t *testing.T) {
	t.Parallel()
	r := locktest.NewClusterEnv(t, 0)
	opts := lockwheel.Options{Lease: 30 * time.Second, CallTimeout: 10 * time.Second}
	one, other, writer := r.Open(opts), r.Open(opts), r.Open(opts)
	leaves := map[string]func(m lockwheel.RWMutex) (leaving, staying *lockwheel.Hold){
		"a reader": func(m lockwheel.RWMutex) (leaving, staying *lockwheel.Hold) {
			return locktest.Lock(t, m.RLocker()), locktest.Lock(t, other.RWMutex(m.Name()).RLocker())
		},
		"a writer who reads": func(m lockwheel.RWMutex) (leaving, staying *lockwheel.Hold) {
			leaving = locktest.Lock(t, m.Writer())
			staying, err := m.RLocker().Lock(context.WithoutCancel(leaving.Context()))
			require.NoError(t, err)
			return leaving, staying
		},
	}
	for who, takes := range leaves {
		name := "{slot}" + who
		leaving, staying := takes(one.RWMutex(name))
		from := r.Master(t, r.Slot(t, name))
		to := r.Nodes[(locktest.IndexOf(r.Nodes, from)+1)%3]
		m := r.Migrate(t, r.Slot(t, name), to)
		m.MoveKey(t, name)
		locktest.Unlock(t, leaving)
		_, err := writer.RWMutex(name).TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired, who)
		m.End(t)
		require.NoError(t, staying.Err(), who)
		require.Greater(t, to.Int(t, "PTTL", name), 10_000, who)
		locktest.Unlock(t, staying)
		locktest.Unlock(t, locktest.Lock(t, writer.RWMutex(name).Writer()))
	}
	for _, e := range []*lockwheel.Engine{one, other, writer} {
		locktest.RequireIdle(t, e)
		require.Zero(t, e.Stats().Lost)
	}
}
