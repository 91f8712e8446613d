package topology_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/identity"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// told locks a name, has it taken away by another engine, and requires that the holder loses it at once.
func told(t *testing.T, holder, other *lockwheel.Engine, name string) {
	t.Helper()
	hold := locktest.Lock(t, holder.Mutex(name))
	locktest.Eventually(t, "an answer", func() bool { // so it listens
		h, err := other.Mutex(name).Holder(t.Context())
		require.NoError(t, err)
		require.Equal(t, hold.ID(), h.ID)
		return h.Engine.ID == holder.ID() && !h.Since.IsZero()
	})
	began := time.Now()
	locktest.ForceUnlock(t, other.Mutex(name))
	locktest.Receive(t, hold.Done())
	t.Logf("known after %v", time.Since(began))
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
}

var patient = lockwheel.Options{Name: "patient", Lease: 10 * time.Minute, CallTimeout: 3 * time.Second}

// In a cluster each record is at the slot of its key, and the names of any slot can be forced and asked about.
func TestIdentity_Cluster_AnySlot(t *testing.T) {
	t.Parallel()
	r := locktest.NewClusterEnv(t, 0)
	holder, other := r.Open(patient), r.Open(patient)
	for _, name := range r.SpreadNames(6) {
		told(t, holder, other, name)
	}
	require.EqualValues(t, 0, holder.Stats().Subscriptions)
	at := r.Master(t, r.Slot(t, "lockwheel:engine:"+holder.ID()))
	require.NotEmpty(t, at.Hash(t, "lockwheel:engine:"+holder.ID()))
	require.NoError(t, holder.Close())
	require.NoError(t, other.Close())
	for _, s := range r.Nodes {
		require.EqualValues(t, 0, s.Do(t, "DBSIZE"))
	}
}

// besideRecord returns a name at the node with the record of an engine, and all other nodes.
func besideRecord(t *testing.T, r *locktest.ClusterEnv, e *lockwheel.Engine) (name string, others map[*redistest.Server]bool) {
	home := r.Master(t, r.Slot(t, "lockwheel:engine:"+e.ID()))
	others = map[*redistest.Server]bool{} // a node that is chosen at random is most likely one of them
	for _, some := range r.SpreadNames(6) {
		if owner := r.OwnerOf(some); owner == home {
			name = some
		} else {
			others[owner] = true
		}
	}
	return name, others
}

// A question goes through the node of the engine's record, whatever other nodes of the cluster do.
func TestIdentity_ClusterNodeSilent_Answered(t *testing.T) {
	t.Parallel()
	r := locktest.NewClusterEnv(t, 0)
	holder, other := r.Open(patient), r.Open(patient)
	name, silent := besideRecord(t, r, holder)
	told(t, holder, other, name)
	hold := locktest.Lock(t, holder.Mutex(name))
	require.Len(t, silent, 2)
	forSilent := func(do func(*redistest.Server) error) {
		for node := range silent {
			require.NoError(t, do(node))
		}
	}
	answered := func() bool {
		h, err := other.Mutex(name).Holder(t.Context())
		return err == nil && h.ID == hold.ID() && !h.Since.IsZero()
	}
	forSilent((*redistest.Server).Pause)
	misses := 0
	for answers := 0; answers < 10; { // before the others miss it
		if answered() {
			answers++
			continue
		}
		// A busy machine may answer too late, and the others miss the silent nodes then. If the question went to any
		// node, two of three would have no answer.
		misses++
		require.LessOrEqual(t, misses, 2, "no answer")
		forSilent((*redistest.Server).Continue)
		locktest.Eventually(t, "an answer while no node is silent", answered)
		forSilent((*redistest.Server).Pause)
	}
	forSilent((*redistest.Server).Continue)
}

// Who waits is asked through the node of the lock, whatever other nodes of the cluster do.
func TestIdentity_ClusterNodeSilent_WaitersAnswered(t *testing.T) {
	t.Parallel()
	r := locktest.NewClusterEnv(t, 0, "--cluster-node-timeout", "15000") // the others do not miss the silent ones meanwhile
	holder, waiter := r.Open(patient), r.Open(patient)
	name, silent := besideRecord(t, r, waiter)
	locktest.Lock(t, holder.Mutex(name))
	waiting := locktest.Locking(t.Context(), waiter.Mutex(name))
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: r.Addrs()})
	require.NoError(t, err)
	defer client.Close()
	ask := func() int {
		answers, err := identity.AskWaiters(t.Context(), client, []string{waiter.ID()}, name, 3*time.Second)
		require.NoError(t, err)
		return answers[waiter.ID()].Waiting
	}
	locktest.Eventually(t, "an answer", func() bool { return ask() == 1 })
	require.Len(t, silent, 2)
	for node := range silent {
		require.NoError(t, node.Pause())
	}
	for range 10 { // before the others miss it
		require.Equal(t, 1, ask())
	}
	for node := range silent {
		require.NoError(t, node.Continue())
	}
	locktest.ForceUnlock(t, holder.Mutex(name))
	locktest.Unlock(t, locktest.Granted(t, waiting))
}

// The channel follows when its node dies.
func TestIdentity_ClusterFailover_StillTold(t *testing.T) {
	t.Parallel()
	r := locktest.NewClusterEnv(t, 1)
	holder, other := r.Open(patient), r.Open(patient)
	gone := r.Master(t, r.Slot(t, "lockwheel:engine:"+holder.ID()))
	var name string
	for _, some := range r.SpreadNames(6) {
		if r.OwnerOf(some) != gone {
			name = some
		}
	}
	told(t, holder, other, name)
	require.NoError(t, gone.Kill())
	// The cluster may be down at first. A record that its replica did not have is written again within 10 s.
	require.Eventually(t, func() bool {
		hold, err := holder.Mutex(name).Lock(t.Context())
		if err != nil {
			return false
		}
		h, err := other.Mutex(name).Holder(t.Context())
		return hold.Unlock(t.Context()) == nil && err == nil && !h.Since.IsZero()
	}, 5*locktest.TestDeadline, 10*time.Millisecond)
	told(t, holder, other, name)
}

// The channel follows when its node leaves the cluster and goes on running, though the engine has no lock there.
func TestIdentity_ClusterNodeLeaves_StillTold(t *testing.T) {
	long.Only(t, "an engine finds out within 10 s")
	t.Parallel()
	r := locktest.NewClusterEnv(t, 1)
	holder, other := r.Open(patient), r.Open(patient)
	channelSlot := r.Slot(t, "lockwheel:engine:"+holder.ID())
	leaver := r.Master(t, channelSlot)
	var names []string
	for _, some := range r.SpreadNames(6) {
		if r.OwnerOf(some) != leaver {
			names = append(names, some)
		}
	}
	told(t, holder, other, names[0])
	kept := locktest.Lock(t, holder.Mutex(names[1]))
	r.Replica(t, leaver).Do(t, "CLUSTER", "FAILOVER")
	locktest.Eventually(t, "another master", func() bool { return r.Master(t, channelSlot) != leaver })
	r.AwaitHealthy(t)
	id := leaver.String(t, "CLUSTER", "MYID")
	for _, s := range r.Nodes {
		if s != leaver {
			require.Equal(t, "OK", s.Do(t, "CLUSTER", "FORGET", id))
		}
	}
	require.Equal(t, "OK", leaver.Do(t, "CLUSTER", "RESET", "HARD"))
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(holder.Status(), func(s lockwheel.NodeStatus) bool { return s.Address == leaver.Addr() })
	}, 5*locktest.TestDeadline, 10*time.Millisecond)
	told(t, holder, other, names[0])
	require.NoError(t, kept.Err())
}

// Behind Sentinel the engine says it to the new master.
func TestIdentity_SentinelFailover_StillTold(t *testing.T) {
	t.Parallel()
	w := redistest.StartSentinels(t, 1, 1)
	opts := patient
	opts.Redis = rueidis.ClientOption{InitAddress: w.Addrs(), Sentinel: rueidis.SentinelOption{MasterSet: w.Name}}
	holder, other := locktest.OpenRetrying(t, opts), locktest.OpenRetrying(t, opts)
	told(t, holder, other, "n")
	locktest.Replicated(t, w.Servers[0], 1)
	require.NoError(t, w.Servers[0].Kill())
	require.Eventually(t, func() bool {
		hold, err := holder.Mutex("n").TryLock(t.Context())
		if err != nil {
			return false
		}
		h, err := other.Mutex("n").Holder(t.Context())
		return hold.Unlock(t.Context()) == nil && err == nil && !h.Since.IsZero()
	}, 5*locktest.TestDeadline, 10*time.Millisecond)
	told(t, holder, other, "n")
}

// Without the permissions for it, a cluster's locks work as before.
func TestIdentity_ClusterNotAllowed_LocksWork(t *testing.T) {
	t.Parallel()
	r := locktest.NewClusterEnv(t, 0)
	limited := r.Limited()
	open := func() *lockwheel.Engine {
		opts := patient
		opts.Redis = limited
		return r.Open(opts)
	}
	holder, other := open(), open()
	for _, name := range r.SpreadNames(3) {
		hold := locktest.Lock(t, holder.Mutex(name))
		waiting := locktest.Locking(t.Context(), other.Mutex(name))
		locktest.RequireWaiting(t, other, 1, 1)
		locktest.Unlock(t, hold)
		locktest.Unlock(t, locktest.Granted(t, waiting))
	}
}
