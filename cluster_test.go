package lockwheel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// A cluster on this machine: every slot works, messages wake waiters, and what cannot work is rejected at once.

// clusterEnv is the cluster of one test.
type clusterEnv struct {
	*redistest.Cluster
	t *testing.T
}

func newClusterEnv(t *testing.T, replicas int, args ...string) *clusterEnv {
	t.Helper()
	return &clusterEnv{Cluster: redistest.StartCluster(t, 3, replicas, args...), t: t}
}

// open opens an engine on the cluster that closes with the test.
func (r *clusterEnv) open(opts lockwheel.Options) *lockwheel.Engine {
	r.t.Helper()
	if opts.Client == nil {
		opts.Redis.InitAddress = r.Addrs()
	}
	if opts.CallTimeout == 0 && opts.Lease > 0 {
		opts.CallTimeout = min(3*time.Second, opts.Lease/3)
	}
	if polls(r.t) {
		opts.Notify = lockwheel.Poll
	}
	return openRetrying(r.t, opts)
}

// calls returns how often all nodes together have run a command.
func (r *clusterEnv) calls(commands ...string) (n int) {
	for _, s := range r.Nodes {
		if s.Running() {
			n += s.CommandCalls(r.t, commands...)
		}
	}
	return n
}

// channels returns the number of sharded channels with a subscription.
func (r *clusterEnv) channels() (n int) {
	for _, s := range r.Nodes {
		if s.Running() {
			n += len(s.Strings(r.t, "PUBSUB", "SHARDCHANNELS"))
		}
	}
	return n
}

// spreadNames returns n names in different slots, evenly distributed.
func (r *clusterEnv) spreadNames(n int) []string { return r.SpreadKeys("n", n) }

func TestClusterLocks(t *testing.T) {
	t.Parallel()
	r := newClusterEnv(t, 1)
	t.Run("names of all slots are handed from engine to engine by message", func(t *testing.T) { r.t = t; r.handsOver(t) })
	t.Run("names of one slot leave in one call", func(t *testing.T) { r.t = t; r.sharesCalls(t) })
	t.Run("a name with a channel in another slot is refused at once", func(t *testing.T) { r.t = t; r.refusesBraces(t) })
	t.Run("clients that publish and subscribe as Redisson does are understood", func(t *testing.T) { r.t = t; r.speaksRedisson(t) })
	t.Run("every operation finds its node", func(t *testing.T) { r.t = t; r.findsNodes(t) })
	t.Run("who writes and reads has all its keys in one slot, and leaves none", func(t *testing.T) { r.t = t; r.writesAndReads(t) })
	t.Run("a node that forgot the scripts learns them again", func(t *testing.T) { r.t = t; r.loadsScripts(t) })
	t.Run("a client of the caller's does as well", func(t *testing.T) { r.t = t; r.acceptsClient(t) })
	t.Run("listeners elsewhere are seen", func(t *testing.T) { r.t = t; r.countsListeners(t) })
}

func (r *clusterEnv) handsOver(t *testing.T) {
	holder, waiter := r.open(lockwheel.Options{}), r.open(lockwheel.Options{})
	names := append(r.spreadNames(300), "a{b}c", "{b}:x", "x{y}{z}", "orders:17", "ü", strings.Repeat("k", 1000))
	holds := make([]*lockwheel.Hold, len(names))
	for i, name := range names {
		holds[i] = lock(t, holder.Mutex(name))
	}
	pending := make([]*lockwheel.Pending, len(names))
	for i, name := range names {
		pending[i] = waiter.Mutex(name).LockAsync(t.Context())
	}
	requireWaiting(t, waiter, int64(len(names)), int64(len(names)))
	require.Equal(t, len(names), r.channels())
	for i := range names {
		unlock(t, holds[i])
		receive(t, pending[i].Done()) // long before the lease ends
		hold, err := pending[i].Hold()
		require.NoError(t, err)
		unlock(t, hold)
	}
	require.Zero(t, r.calls("publish", "subscribe"), "a cluster's messages stay in their shard")
	requireIdle(t, holder)
	requireIdle(t, waiter)
	eventually(t, "no channel", func() bool { return r.channels() == 0 })
}

func (r *clusterEnv) sharesCalls(t *testing.T) {
	e := r.open(lockwheel.Options{Lease: 3 * time.Second, RenewInterval: 300 * time.Millisecond})
	const many = 100
	holds := takesMany(t, e, allLocks("shared", many))
	before := e.Stats()
	eventually(t, "every lock renewed a few times", func() bool { return e.Stats().Renewed >= before.Renewed+3*many })
	after := e.Stats()
	require.Less(t, after.Batches-before.Batches, (after.Commands-before.Commands)/2)
	for _, hold := range holds {
		require.NoError(t, hold.Err())
		unlock(t, hold)
	}
}

func (r *clusterEnv) refusesBraces(t *testing.T) {
	e, braced := r.open(lockwheel.Options{}), r.open(lockwheel.Options{Prefix: "app{"})
	before := r.calls("evalsha", "eval")
	for _, name := range []string{"a{b", "a}b", "{}x", "a{}b", "{", "}", "{}{b}"} {
		_, err := e.Mutex(name).Lock(t.Context())
		require.ErrorContains(t, err, fmt.Sprintf("lock %q: in a cluster", name))
		_, err = e.Mutex(name).TryLock(t.Context())
		require.ErrorContains(t, err, "in a cluster")
		_, err = e.Mutex(name).LockAsync(t.Context()).Hold()
		require.ErrorContains(t, err, "in a cluster")
		_, err = e.Mutex(name).State(t.Context())
		require.ErrorContains(t, err, "in a cluster")
		_, err = e.Mutex(name).ForceUnlock(t.Context())
		require.ErrorContains(t, err, "in a cluster")
	}
	_, err := braced.Mutex("n").Lock(t.Context())
	require.ErrorContains(t, err, `lock "n": in a cluster`)
	require.Equal(t, before, r.calls("evalsha", "eval"), "nothing was sent")
	unlock(t, lock(t, braced.Mutex("n}")))
}

func (r *clusterEnv) speaksRedisson(t *testing.T) {
	e := r.open(lockwheel.Options{})
	const name = "shared with Java"
	master := r.Master(t, r.Slot(t, name))
	channel := "redisson_lock__channel:{" + name + "}"
	ears := master.Conn(t)
	_, err := ears.Do("SSUBSCRIBE", channel)
	require.NoError(t, err)
	hold := lock(t, e.Mutex(name))
	require.Equal(t, map[string]string{hold.ID(): "1"}, master.Hash(t, name))
	unlock(t, hold)
	push, err := ears.Receive(testDeadline)
	require.NoError(t, err)
	require.Equal(t, []any{"smessage", channel, "0"}, push)

	require.Equal(t, 1, master.Int(t, "HSET", name, "00000000-0000-4000-8000-000000000000:1", 1))
	require.Equal(t, 1, master.Int(t, "PEXPIRE", name, 30_000))
	waiting := locking(t.Context(), e.Mutex(name))
	requireWaiting(t, e, 1, 1)
	require.Equal(t, 1, master.Int(t, "DEL", name))
	require.Equal(t, 2, master.Int(t, "SPUBLISH", channel, "0"))
	unlock(t, granted(t, waiting))
}

func (r *clusterEnv) findsNodes(t *testing.T) {
	e, other := r.open(lockwheel.Options{}), r.open(lockwheel.Options{})
	for _, name := range r.spreadNames(9) {
		hold := lock(t, e.Mutex(name), lockwheel.Lease(20*time.Second))
		state, err := other.Mutex(name).State(t.Context())
		require.NoError(t, err)
		require.Equal(t, hold.ID(), state.Owner)
		require.NoError(t, hold.Extend(t.Context(), time.Minute))
		ttl, err := other.Mutex(name).TTL(t.Context())
		require.NoError(t, err)
		require.Greater(t, ttl, 50*time.Second)
		inner := lockWith(t, hold.Context(), e.Mutex(name))
		unlock(t, inner)
		forced, err := other.Mutex(name).ForceUnlock(t.Context())
		require.NoError(t, err)
		require.True(t, forced)
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	}
	requireIdle(t, e)
	require.NoError(t, e.Shutdown(t.Context()))
}

// Redisson's testInCluster of the read/write lock.
func (r *clusterEnv) writesAndReads(t *testing.T) {
	e := r.open(lockwheel.Options{})
	for _, name := range append(r.SpreadKeys("rw", 9), "a{b}c", "x{y}{z}") {
		slot := r.Slot(t, name)
		node := r.Master(t, slot)
		keys := func() []string { return node.Strings(t, "CLUSTER", "GETKEYSINSLOT", slot, 100) }
		rw := e.RWMutex(name)
		write := lock(t, rw.Writer())
		require.Equal(t, []string{name}, keys())
		read := lockWith(t, write.Context(), rw.RLocker())
		require.Len(t, keys(), 2)
		for _, key := range keys() {
			if key != name {
				require.Contains(t, key, read.ID()+":rwlock_timeout:1")
			}
		}
		unlock(t, read)
		require.Equal(t, []string{name}, keys())
		unlock(t, write)
		require.Empty(t, keys())
	}
	requireIdle(t, e)
	for _, s := range r.Nodes {
		eventually(t, "nothing in any slot", func() bool { return len(s.Strings(t, "KEYS", "*rwlock_timeout*")) == 0 }) // replicas lag
	}
}

func (r *clusterEnv) loadsScripts(t *testing.T) {
	e := r.open(lockwheel.Options{})
	names := r.spreadNames(60)
	for _, s := range r.Nodes {
		require.Equal(t, "OK", s.Do(t, "SCRIPT", "FLUSH"))
	}
	crowd(t, len(names), func(i int) error {
		return e.Mutex(names[i]).Do(t.Context(), nothing)
	})
}

func (r *clusterEnv) acceptsClient(t *testing.T) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: r.Addrs()[:1], DisableCache: true, PipelineMultiplex: -1})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	e, other := r.open(lockwheel.Options{Client: client}), r.open(lockwheel.Options{})
	for _, name := range r.spreadNames(9) {
		hold := lock(t, e.Mutex(name))
		waiting := locking(t.Context(), other.Mutex(name))
		requireWaiting(t, other, 1, 1)
		unlock(t, hold)
		unlock(t, granted(t, waiting))
		requireIdle(t, other)
	}
}

// While other processes listen, an engine releases a lock after a few of its own callers.
func (r *clusterEnv) countsListeners(t *testing.T) {
	greedy, other := r.open(lockwheel.Options{}), r.open(lockwheel.Options{})
	const name = "contested"
	hold := lock(t, greedy.Mutex(name))
	waiting := locking(t.Context(), other.Mutex(name))
	requireWaiting(t, other, 1, 1)
	published := r.calls("publish", "spublish")
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		crowd(t, 4, func(int) error {
			for {
				select {
				case <-stop:
					return nil
				default:
				}
				if err := greedy.Mutex(name).Do(t.Context(), nothing); err != nil {
					return err
				}
			}
		})
	}()
	unlock(t, hold)
	unlock(t, granted(t, waiting))
	for range 20 {
		unlock(t, lock(t, other.Mutex(name)))
	}
	handed := greedy.Stats().HandedOff
	releases := r.calls("publish", "spublish") - published
	close(stop)
	<-done
	require.NotZero(t, handed)
	require.LessOrEqual(t, handed, uint64(64*(releases+1)))
}

// If the server does not know the sharded commands, or does not permit them, engines use PUBLISH, and the number of
// listeners is unknown.
func TestClusterWithoutShardedMessages(t *testing.T) {
	long.Only(t, "it starts a cluster of its own")
	t.Parallel()
	r := newClusterEnv(t, 0, "--user", "default", "on", "nopass", "~*", "&*", "+@all", "-pubsub|shardnumsub", "-spublish", "-ssubscribe")
	holder, waiter := r.open(lockwheel.Options{}), r.open(lockwheel.Options{})
	for _, name := range r.spreadNames(12) {
		hold := lock(t, holder.Mutex(name))
		waiting := locking(t.Context(), waiter.Mutex(name))
		requireWaiting(t, waiter, 1, 1)
		unlock(t, hold)
		unlock(t, granted(t, waiting))
		requireIdle(t, waiter)
	}
	require.NotZero(t, r.calls("publish"))
	require.NotZero(t, r.calls("subscribe"))
	r.countsListeners(t)
}

func nothing(context.Context) error { return nil }

// A container that restarted with an empty disk is a node of no cluster. Any one node that knows of slots is enough.
func TestAClusterIsOpenedBesideANodeWithoutSlots(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 1, 0)
	fresh := redistest.Start(t, "--cluster-enabled", "yes")
	plain := redistest.Start(t)
	for _, addresses := range [][]string{
		{fresh.Addr(), c.Nodes[0].Addr()}, {c.Nodes[0].Addr(), fresh.Addr()}, {fresh.Addr(), unused(t), c.Nodes[0].Addr()},
	} {
		for range 5 { // which node replies first is random
			e := openRetrying(t, lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: addresses}, CallTimeout: 3 * time.Second})
			unlock(t, lock(t, e.Mutex("n")))
			require.NoError(t, e.Close())
		}
	}
	_, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{fresh.Addr(), plain.Addr()}}})
	require.Error(t, err, "what is no cluster is not taken for it")
	t.Log(err)
}
