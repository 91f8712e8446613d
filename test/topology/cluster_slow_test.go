package topology_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// stutters pauses a server most of the time, until stop is called: every call to it takes long.
func stutters(t *testing.T, s *redistest.Server) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var going sync.WaitGroup
	going.Go(func() {
		for ctx.Err() == nil {
			_ = s.Pause()
			locktest.Pause(ctx, 300*time.Millisecond)
			_ = s.Continue()
			locktest.Pause(ctx, 30*time.Millisecond)
		}
	})
	return func() { cancel(); going.Wait() }
}

// Ten thousand locks, a hundred per slot and so per batch, and a slow node. No lock is lost, there or elsewhere, and
// those elsewhere are renewed as usual.
func TestCluster_SlowNode_ManyHoldsRenewed(t *testing.T) {
	long.Only(t, "10 000 locks of a cluster are held beside a node that is silent")
	t.Parallel()
	r := locktest.NewClusterEnv(t, 0)
	const (
		slots, each = 100, 100
		lease       = 12 * time.Second
	)
	e := r.Open(lockwheel.Options{Lease: lease, RenewInterval: lease / 4, CallTimeout: lease / 3})
	var names []string
	for _, tag := range r.SpreadNames(slots) {
		for i := range each {
			names = append(names, fmt.Sprintf("{%s}%d", tag, i))
		}
	}
	holds := locktest.TakesMany(t, e, names)
	var here []*lockwheel.Hold
	slow := r.Nodes[1]
	for i, hold := range holds {
		if r.OwnerOf(names[i]) != slow {
			here = append(here, hold)
		}
	}
	require.Greater(t, len(here), len(holds)/2)
	before := e.Stats()
	stop := stutters(t, slow)
	defer stop()
	for end := time.Now().Add(lease + lease/4); time.Now().Before(end); time.Sleep(100 * time.Millisecond) { // checking so many takes time, too
		for _, hold := range holds {
			if err := hold.Err(); err != nil {
				require.NoError(t, err)
			}
		}
		for _, hold := range here {
			if left := time.Until(hold.Deadline()); left < lease/3 {
				require.FailNow(t, "renewed too late", "%s has %v left", hold.Name(), left)
			}
		}
	}
	stop()
	after := e.Stats()
	require.GreaterOrEqual(t, after.Renewed-before.Renewed, 3*uint64(len(holds)))
	t.Logf("%d renewals in %d calls", after.Renewed-before.Renewed, after.Batches-before.Batches)
	locktest.RequireHeld(t, holds)
	locktest.Crowd(t, len(holds)/each, func(i int) error {
		for _, hold := range holds[i*each : (i+1)*each] {
			if err := hold.Unlock(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	locktest.RequireIdle(t, e)
}
