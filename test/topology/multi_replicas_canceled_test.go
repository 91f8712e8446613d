package topology_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// waitsForReplicas reports whether a server has a client that waits for replicas.
func waitsForReplicas(s *locktest.Server) bool {
	return strings.Contains(fmt.Sprint(s.Do("INFO", "clients")), "blocked_clients:1")
}

// canceled cancels a call, and requires that it ends soon because of that. It returns the error.
func canceled(t *testing.T, cancel context.CancelCauseFunc, waiting <-chan locktest.Outcome) error {
	t.Helper()
	locktest.RequireNoReply(t, waiting, 0)
	cancel(locktest.ErrTest)
	err := locktest.ReceiveWithin(t, locktest.TestDeadline, waiting).Err
	locktest.RequireCanceled(t, err)
	return err
}

// patientReplicas has replicas that may take longer than any test: neither Timeout nor CallTimeout ends a wait.
var patientReplicas = lockwheel.Options{
	Lease: 3 * time.Minute, CallTimeout: time.Minute, Replicas: lockwheel.Replicas{Min: 1, Timeout: 30 * time.Second},
}

// The context of a Multi ends while its first lock waits for replicas. The call does not wait for them, that lock is
// given back when they have replied, and the others are not requested.
func TestReplication_MultiCanceledInFirstWAIT_NothingLeft(t *testing.T) {
	t.Parallel()
	master, replica := locktest.WithReplica(t)
	e := master.Open(patientReplicas)
	m := locktest.Multi(e, "a", "b", "c")
	locktest.Unlock(t, locktest.LockAll(t, m))
	replica.Pause(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	waiting := locktest.Locking(ctx, m)
	locktest.Eventually(t, "WAIT", func() bool { return master.Exists("a") && waitsForReplicas(master) })
	sent := e.Stats().Commands
	require.ErrorIs(t, canceled(t, cancel, waiting), lockwheel.ErrUnavailable)
	require.Equal(t, sent, e.Stats().Commands, "b and c are not asked for")
	require.NoError(t, replica.Real.Continue())
	master.Empty(t)
	replica.Empty(t)
	locktest.RequireIdle(t, e)
	locktest.Unlock(t, locktest.LockAll(t, m))
	locktest.RequireIdle(t, e)
}

// cancelsInLaterWAIT cancels a Multi while its lock b waits for replicas. It reports false if that WAIT ended before.
func cancelsInLaterWAIT(t *testing.T, master, replica *locktest.Server, e, other *lockwheel.Engine, m lockwheel.Multi) bool {
	t.Helper()
	held := locktest.Lock(t, other.Mutex("b"))
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	waiting := locktest.Locking(ctx, m)
	locktest.Eventually(t, "it to wait for b", func() bool { return len(waiting) > 0 || locktest.Listens(e) }) // it has a for 250 ms
	replica.Pause(t)
	locktest.Unlock(t, held)
	locktest.Eventually(t, "WAIT", func() bool { return len(waiting) > 0 || master.Exists("b") && waitsForReplicas(master) })
	cancel(locktest.ErrTest)
	err := locktest.ReceiveWithin(t, locktest.TestDeadline, waiting).Err
	if errors.Is(err, lockwheel.ErrNotReplicated) {
		return false
	}
	locktest.RequireCanceled(t, err)
	return true
}

// The context of a Multi ends while a later lock waits for replicas. The locks that it has are given back at once, and
// that one after its WAIT: when the replica is back, and also if it stays away.
func TestReplication_MultiCanceledInLaterWAIT_NothingLeft(t *testing.T) {
	t.Parallel()
	impatient := lockwheel.Options{CallTimeout: 10 * time.Second, Replicas: lockwheel.Replicas{Min: 1, Timeout: time.Second}}
	for name, away := range map[string]bool{"the replica comes back": false, "the replica stays away": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			master, replica := locktest.WithReplica(t)
			opts := patientReplicas
			if away {
				opts = impatient
			}
			e := master.Open(opts)
			other, m := master.Open(lockwheel.Options{}), locktest.Multi(e, "a", "b", "c")
			for try := 0; !cancelsInLaterWAIT(t, master, replica, e, other, m); try++ { // a WAIT of 1 s may be over before
				require.Less(t, try, 10, "never in time")
				require.NoError(t, replica.Real.Continue())
				locktest.RequireIdle(t, e)
			}
			locktest.Eventually(t, "a to be given back", func() bool { return !master.Exists("a") })
			require.False(t, master.Exists("c"), "never asked for")
			if !away {
				require.NoError(t, replica.Real.Continue())
			}
			master.Empty(t)
			locktest.RequireIdle(t, e)
			require.NoError(t, replica.Real.Continue())
			replica.Empty(t)
			locktest.Eventually(t, "the next one", func() bool {
				hold, err := m.Lock(t.Context())
				if err != nil {
					require.ErrorIs(t, err, lockwheel.ErrNotReplicated, "a busy replica")
					return false
				}
				locktest.Unlock(t, hold)
				return true
			})
			locktest.RequireIdle(t, e)
		})
	}
}

// A lock that the caller had before is not given back: the Multi only ends its own re-entry.
func TestReplication_MultiCanceledInWAIT_OuterHoldStays(t *testing.T) {
	t.Parallel()
	master, replica := locktest.WithReplica(t)
	e := master.Open(patientReplicas)
	outer := locktest.Lock(t, e.Mutex("a"))
	replica.Pause(t)
	ctx, cancel := context.WithCancelCause(outer.Context())
	defer cancel(nil)
	m := locktest.Multi(e, "a", "b")
	waiting := locktest.Locking(ctx, m)
	locktest.Eventually(t, "WAIT", func() bool { return master.Exists("b") && waitsForReplicas(master) })
	canceled(t, cancel, waiting)
	require.NoError(t, replica.Real.Continue())
	locktest.Eventually(t, "b to be given back", func() bool { return !master.Exists("b") })
	locktest.Eventually(t, "one hold of a", func() bool { return master.Hash("a")[outer.ID()] == "1" })
	locktest.RequireCount(t, outer.Context(), e.Mutex("a"), 1)
	require.NoError(t, outer.Err())
	both, err := m.Lock(outer.Context())
	require.NoError(t, err)
	locktest.Unlock(t, both)
	locktest.Unlock(t, outer)
	locktest.RequireIdle(t, e)
	master.Empty(t)
}
