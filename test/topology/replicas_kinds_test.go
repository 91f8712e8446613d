package topology_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/proxy"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// A lock of any kind that too few replicas have is released and reported with ErrNotReplicated.
func TestReplication_AnyKindMissing_Undone(t *testing.T) {
	t.Parallel()
	master, replica := locktest.WithReplica(t)
	e := master.Open(locktest.Twice)
	for name, kind := range locktest.Grantable() {
		hold := lockReplicated(t, kind(e, name))
		require.Contains(t, fmt.Sprint(replica.Hash(name)), hold.ID(), name)
		locktest.Unlock(t, hold)
	}
	require.NoError(t, replica.Real.Pause())
	refused := make(map[string]<-chan locktest.Outcome)
	for name, kind := range locktest.Grantable() {
		refused[name] = locktest.Locking(t.Context(), kind(e, name))
	}
	for name, done := range refused {
		require.ErrorIs(t, locktest.Receive(t, done).Err, lockwheel.ErrNotReplicated, name)
		require.False(t, master.Exists(name), name)
	}
	require.NoError(t, replica.Real.Continue())
	for name, kind := range locktest.Grantable() {
		locktest.Unlock(t, lockReplicated(t, kind(e, name)))
	}
	locktest.RequireIdle(t, e)
	require.ElementsMatch(t, []any{"redisson_lock_token:{fenced}"}, master.Do("KEYS", "*"), "nothing else is left behind")
}

// Callers of one name get ErrNotReplicated together. They do not each wait for replicas, one after the other.
func TestReplication_Missing_WaitersNotified(t *testing.T) {
	t.Parallel()
	const callers = 20
	master, replica := locktest.WithReplica(t)
	e := master.Open(lockwheel.Options{Replicas: lockwheel.Replicas{Min: 1, Timeout: 500 * time.Millisecond}})
	lockable := func(m lockwheel.Mutex) {
		t.Helper()
		locktest.Eventually(t, "the replica has it in time", func() bool {
			hold, err := m.Lock(t.Context())
			return err == nil && hold.Unlock(t.Context()) == nil
		})
	}
	lockable(e.Mutex("before"))
	require.NoError(t, replica.Real.Pause())
	asked := master.Real.CommandCalls(t, "wait")
	refused := make(map[string][]<-chan locktest.Outcome)
	for name, kind := range locktest.Grantable() {
		for i := range callers {
			var opts []lockwheel.Option
			if i%2 == 1 {
				opts = append(opts, lockwheel.Wait(locktest.TestDeadline))
			}
			refused[name] = append(refused[name], locktest.Locking(t.Context(), kind(e, name), opts...))
		}
	}
	for name, all := range refused {
		for _, done := range all {
			err := locktest.Receive(t, done).Err
			require.ErrorIs(t, err, lockwheel.ErrNotReplicated, name)
			require.ErrorContains(t, err, "0 of 1", name)
		}
	}
	require.Less(t, master.Real.CommandCalls(t, "wait")-asked, callers, "the exclusive ones alone would have taken four times as many")
	require.NoError(t, replica.Real.Continue())
	for name, kind := range locktest.Grantable() {
		lockable(kind(e, name))
	}
	locktest.RequireIdle(t, e)
}

// A repeated acquire finds its own field. It is a grant only if replicas have that field.
func TestReplicas_AnyKindSentAgain_Counted(t *testing.T) {
	t.Parallel()
	master, replica := locktest.WithReplica(t)
	p := proxy.Start(t, master.Addr)
	e := master.OpenAt(p.Addr(), locktest.Twice)
	for name, kind := range locktest.Grantable() {
		require.NoError(t, replica.Real.Pause())
		p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(0))
		_, err := kind(e, name).Lock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotReplicated, name)
		require.NoError(t, replica.Real.Continue())
		hold := lockReplicated(t, kind(e, name), func() { p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(0)) })
		require.Contains(t, fmt.Sprint(replica.Hash(name)), hold.ID(), name)
		locktest.Unlock(t, hold)
	}
	locktest.RequireIdle(t, e)
}

// The next owner in the same engine has a token of its own, which counts only if replicas have it.
func TestReplication_TokenMissing_NoHandoff(t *testing.T) {
	t.Parallel()
	master, replica := locktest.WithReplica(t)
	patient := master.Open(lockwheel.Options{CallTimeout: 10 * time.Second, Replicas: lockwheel.Replicas{Min: 1, Timeout: 5 * time.Second}})
	m := patient.FencedMutex("n")
	first := locktest.Lock(t, m)
	second := locktest.Locking(t.Context(), m)
	locktest.Queued(t, patient, 1)
	locktest.Unlock(t, first)
	hold := locktest.Granted(t, second)
	require.Equal(t, uint64(1), patient.Stats().HandedOff)
	require.Equal(t, fmt.Sprint(hold.Token()), replica.Do("GET", "redisson_lock_token:{n}"))
	locktest.Unlock(t, hold)

	e := master.Open(locktest.Twice)
	m = e.FencedMutex("n")
	hold = lockReplicated(t, m)
	third := locktest.Locking(t.Context(), m)
	locktest.Queued(t, e, 1)
	require.NoError(t, replica.Real.Pause())
	locktest.Unlock(t, hold)
	require.ErrorIs(t, locktest.Receive(t, third).Err, lockwheel.ErrNotReplicated)
	require.Zero(t, e.Stats().HandedOff)
	require.False(t, master.Exists("n"))
	require.NoError(t, replica.Real.Continue())
	last := lockReplicated(t, m)
	require.Greater(t, last.Token(), hold.Token())
	locktest.Unlock(t, last)
	locktest.RequireIdle(t, e)
	locktest.RequireIdle(t, patient)
}

// Behind Sentinel the replicas are those of the current master.
func TestSentinelsNextMasterHasWhatReplicasHad(t *testing.T) {
	long.Only(t, "it starts sentinels, and they replace the master")
	t.Parallel()
	w := redistest.StartSentinels(t, 2, 3)
	e, err := lockwheel.Open(t.Context(), lockwheel.Options{
		Redis:    rueidis.ClientOption{InitAddress: w.Addrs(), Sentinel: rueidis.SentinelOption{MasterSet: w.Name}},
		Replicas: lockwheel.Replicas{Min: 2},
	})
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	holds := make(map[string]*lockwheel.Hold)
	for name, kind := range locktest.Grantable() {
		holds[name] = lockReplicated(t, kind(e, name))
	}
	old := w.Master(t)
	require.NoError(t, old.Kill())
	next := w.AwaitMaster(t, old)
	for name, hold := range holds {
		require.Contains(t, fmt.Sprint(next.Hash(t, name)), hold.ID(), "it was granted, so every replica had it")
		locktest.Unlock(t, hold)
	}
	_, err = e.Mutex("other").Lock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotReplicated, "there is one replica left")
	locktest.RequireIdle(t, e)
}
