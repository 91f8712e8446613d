package locktest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// ClusterEnv is the cluster of one test.
type ClusterEnv struct {
	*redistest.Cluster
	T *testing.T
}

func NewClusterEnv(t *testing.T, replicas int, args ...string) *ClusterEnv {
	t.Helper()
	return &ClusterEnv{Cluster: redistest.StartCluster(t, 3, replicas, args...), T: t}
}

// Open opens an engine on the cluster that closes with the test.
func (r *ClusterEnv) Open(opts lockwheel.Options) *lockwheel.Engine {
	r.T.Helper()
	if opts.Client == nil {
		opts.Redis.InitAddress = r.Addrs()
	}
	if opts.CallTimeout == 0 && opts.Lease > 0 {
		opts.CallTimeout = min(3*time.Second, opts.Lease/3)
	}
	if Polls(r.T) {
		opts.Notify = lockwheel.Poll
	}
	return OpenRetrying(r.T, opts)
}

// Calls returns how often all nodes together have run a command.
func (r *ClusterEnv) Calls(commands ...string) (n int) {
	for _, s := range r.Nodes {
		if s.Running() {
			n += s.CommandCalls(r.T, commands...)
		}
	}
	return n
}

// Channels returns the number of sharded channels with a subscription.
func (r *ClusterEnv) Channels() (n int) {
	for _, s := range r.Nodes {
		if s.Running() {
			n += len(s.Strings(r.T, "PUBSUB", "SHARDCHANNELS"))
		}
	}
	return n
}

// SpreadNames returns n names in different slots, evenly distributed.
func (r *ClusterEnv) SpreadNames(n int) []string { return r.SpreadKeys("n", n) }

func (r *ClusterEnv) HandsOver(t *testing.T) {
	holder, waiter := r.Open(lockwheel.Options{}), r.Open(lockwheel.Options{})
	names := append(r.SpreadNames(300), "a{b}c", "{b}:x", "x{y}{z}", "orders:17", "ü", strings.Repeat("k", 1000))
	holds := make([]*lockwheel.Hold, len(names))
	for i, name := range names {
		holds[i] = Lock(t, holder.Mutex(name))
	}
	pending := make([]*lockwheel.Pending, len(names))
	for i, name := range names {
		pending[i] = waiter.Mutex(name).LockAsync(t.Context())
	}
	RequireWaiting(t, waiter, int64(len(names)), int64(len(names)))
	require.Equal(t, len(names), r.Channels())
	for i := range names {
		Unlock(t, holds[i])
		Receive(t, pending[i].Done()) // long before the lease ends
		hold, err := pending[i].Hold()
		require.NoError(t, err)
		Unlock(t, hold)
	}
	require.Zero(t, r.Calls("publish", "subscribe"), "a cluster's messages stay in their shard")
	RequireIdle(t, holder)
	RequireIdle(t, waiter)
	Eventually(t, "no channel", func() bool { return r.Channels() == 0 })
}

func (r *ClusterEnv) SharesCalls(t *testing.T) {
	e := r.Open(lockwheel.Options{Lease: 30 * time.Second, RenewInterval: 300 * time.Millisecond})
	const many = 100
	holds := TakesMany(t, e, AllLocks("shared", many))
	before := e.Stats()
	Eventually(t, "every lock renewed a few times", func() bool { return e.Stats().Renewed >= before.Renewed+3*many })
	after := e.Stats()
	require.Less(t, after.Batches-before.Batches, (after.Commands-before.Commands)/2)
	for _, hold := range holds {
		require.NoError(t, hold.Err())
		Unlock(t, hold)
	}
}

func (r *ClusterEnv) RefusesBraces(t *testing.T) {
	e, braced := r.Open(lockwheel.Options{}), r.Open(lockwheel.Options{Prefix: "app{"})
	before := r.Calls("evalsha", "eval")
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
	require.Equal(t, before, r.Calls("evalsha", "eval"), "nothing was sent")
	Unlock(t, Lock(t, braced.Mutex("n}")))
}

func (r *ClusterEnv) SpeaksRedisson(t *testing.T) {
	e := r.Open(lockwheel.Options{})
	const name = "shared with Java"
	master := r.Master(t, r.Slot(t, name))
	channel := "redisson_lock__channel:{" + name + "}"
	listener := master.Conn(t)
	_, err := listener.Do("SSUBSCRIBE", channel)
	require.NoError(t, err)
	hold := Lock(t, e.Mutex(name))
	require.Equal(t, map[string]string{hold.ID(): "1"}, master.Hash(t, name))
	Unlock(t, hold)
	push, err := listener.Receive(patience)
	require.NoError(t, err)
	require.Equal(t, []any{"smessage", channel, "0"}, push)

	require.Equal(t, 1, master.Int(t, "HSET", name, "00000000-0000-4000-8000-000000000000:1", 1))
	require.Equal(t, 1, master.Int(t, "PEXPIRE", name, 30_000))
	waiting := Locking(t.Context(), e.Mutex(name))
	RequireWaiting(t, e, 1, 1)
	require.Equal(t, 1, master.Int(t, "DEL", name))
	require.Equal(t, 2, master.Int(t, "SPUBLISH", channel, "0"))
	Unlock(t, Granted(t, waiting))
}

func (r *ClusterEnv) FindsNodes(t *testing.T) {
	e, other := r.Open(lockwheel.Options{}), r.Open(lockwheel.Options{})
	for _, name := range r.SpreadNames(9) {
		hold := Lock(t, e.Mutex(name), lockwheel.Lease(20*time.Second))
		state, err := other.Mutex(name).State(t.Context())
		require.NoError(t, err)
		require.Equal(t, hold.ID(), state.Owner)
		require.NoError(t, hold.Extend(t.Context(), time.Minute))
		ttl, err := other.Mutex(name).TTL(t.Context())
		require.NoError(t, err)
		require.Greater(t, ttl, 50*time.Second)
		inner := LockWith(t, hold.Context(), e.Mutex(name))
		Unlock(t, inner)
		forced, err := other.Mutex(name).ForceUnlock(t.Context())
		require.NoError(t, err)
		require.True(t, forced)
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	}
	RequireIdle(t, e)
	require.NoError(t, e.Shutdown(t.Context()))
}

// WritesAndReads is Redisson's testInCluster of the read/write lock.
func (r *ClusterEnv) WritesAndReads(t *testing.T) {
	e := r.Open(lockwheel.Options{})
	for _, name := range append(r.SpreadKeys("rw", 9), "a{b}c", "x{y}{z}") {
		slot := r.Slot(t, name)
		node := r.Master(t, slot)
		keys := func() []string { return node.Strings(t, "CLUSTER", "GETKEYSINSLOT", slot, 100) }
		rw := e.RWMutex(name)
		write := Lock(t, rw.Writer())
		require.Equal(t, []string{name}, keys())
		read := LockWith(t, write.Context(), rw.RLocker())
		require.Len(t, keys(), 2)
		for _, key := range keys() {
			if key != name {
				require.Contains(t, key, read.ID()+":rwlock_timeout:1")
			}
		}
		Unlock(t, read)
		require.Equal(t, []string{name}, keys())
		Unlock(t, write)
		require.Empty(t, keys())
	}
	RequireIdle(t, e)
	for _, s := range r.Nodes {
		Eventually(t, "nothing in any slot", func() bool { return len(s.Strings(t, "KEYS", "*rwlock_timeout*")) == 0 }) // replicas lag
	}
}

func (r *ClusterEnv) LoadsScripts(t *testing.T) {
	e := r.Open(lockwheel.Options{})
	names := r.SpreadNames(60)
	for _, s := range r.Nodes {
		require.Equal(t, "OK", s.Do(t, "SCRIPT", "FLUSH"))
	}
	Crowd(t, len(names), func(i int) error {
		return e.Mutex(names[i]).Do(t.Context(), Nothing)
	})
}

// AcceptsClient requires that an engine works with a client of the program's own, but for one that speaks RESP2.
func (r *ClusterEnv) AcceptsClient(t *testing.T) {
	own := rueidis.ClientOption{InitAddress: r.Addrs()[:1], DisableCache: true, PipelineMultiplex: -1, AlwaysRESP2: true}
	older, err := rueidis.NewClient(own)
	require.NoError(t, err)
	t.Cleanup(older.Close)
	_, err = lockwheel.Open(t.Context(), lockwheel.Options{Client: older, CallTimeout: 10 * time.Second})
	require.ErrorContains(t, err, "lockwheel: open: Options.Client speaks RESP2")
	own.AlwaysRESP2 = false
	client, err := rueidis.NewClient(own)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	e, other := r.Open(lockwheel.Options{Client: client}), r.Open(lockwheel.Options{})
	for _, name := range r.SpreadNames(9) {
		hold := Lock(t, e.Mutex(name))
		waiting := Locking(t.Context(), other.Mutex(name))
		RequireWaiting(t, other, 1, 1)
		Unlock(t, hold)
		Unlock(t, Granted(t, waiting))
		RequireIdle(t, other)
	}
}

// CountsListeners requires that an engine releases a lock after a few of its own callers while other processes listen.
func (r *ClusterEnv) CountsListeners(t *testing.T) {
	greedy, other := r.Open(lockwheel.Options{}), r.Open(lockwheel.Options{})
	const name = "contested"
	hold := Lock(t, greedy.Mutex(name))
	waiting := Locking(t.Context(), other.Mutex(name))
	RequireWaiting(t, other, 1, 1)
	published := r.Calls("publish", "spublish")
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		Crowd(t, 4, func(int) error {
			for {
				select {
				case <-stop:
					return nil
				default:
				}
				if err := greedy.Mutex(name).Do(t.Context(), Nothing); err != nil {
					return err
				}
			}
		})
	}()
	Unlock(t, hold)
	Unlock(t, Granted(t, waiting))
	began := time.Now()
	for i := 0; i < 20 || greedy.Stats().HandedOff == 0 && time.Since(began) < TestDeadline; i++ {
		Unlock(t, Lock(t, other.Mutex(name)))
	}
	handed := greedy.Stats().HandedOff
	releases := r.Calls("publish", "spublish") - published
	close(stop)
	<-done
	require.NotZero(t, handed)
	require.LessOrEqual(t, handed, uint64(64*(releases+1)))
}

func Nothing(context.Context) error { return nil }

// TakesMany acquires locks that must be available, all at once.
func TakesMany(t *testing.T, e *lockwheel.Engine, names []string) []*lockwheel.Hold {
	t.Helper()
	pending := make([]*lockwheel.Pending, len(names))
	for i, name := range names {
		pending[i] = e.Mutex(name).LockAsync(t.Context())
	}
	holds := make([]*lockwheel.Hold, len(names))
	for i := range pending {
		Receive(t, pending[i].Done())
		hold, err := pending[i].Hold()
		require.NoError(t, err)
		holds[i] = hold
	}
	return holds
}

// AllLocks returns n names in one slot.
func AllLocks(tag string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("{%s}%d", tag, i)
	}
	return names
}

func RequireHeld(t testing.TB, holds []*lockwheel.Hold) {
	t.Helper()
	for _, hold := range holds {
		require.NoError(t, hold.Err(), hold.Name())
	}
}

// Limited creates a user with exactly the permissions that README lists for a cluster.
func (r *ClusterEnv) Limited() rueidis.ClientOption {
	user := append([]any{"ACL", "SETUSER", "limited", "on", ">secret"}, fields(clusterRules(r.T))...)
	for _, s := range r.Nodes {
		require.Equal(r.T, "OK", s.Do(r.T, user...))
	}
	return rueidis.ClientOption{Username: "limited", Password: "secret"}
}

// clusterRules returns the rules of ACL SETUSER that README lists for a plain lock in a cluster, with any key. It
// omits the line that README says is not needed there.
func clusterRules(t *testing.T) string {
	t.Helper()
	plain := RulesOf(t, "plain")
	besides, found := strings.CutPrefix(RulesOf(t, "a cluster"), plain)
	require.True(t, found)
	alone, _, found := strings.Cut(strings.Replace(plain, "~orders/*", "~*", 1), "+publish")
	require.True(t, found)
	return alone + besides
}

func fields(text string) (words []any) {
	for word := range strings.FieldsSeq(text) {
		words = append(words, word)
	}
	return words
}

func IndexOf(nodes []*redistest.Server, s *redistest.Server) int {
	for i := range nodes {
		if nodes[i] == s {
			return i
		}
	}
	return -1
}

// OwnerOf returns the owner of a name's slot, in a cluster in its initial state.
func (r *ClusterEnv) OwnerOf(name string) *redistest.Server {
	return r.Nodes[r.Slot(r.T, name)*3/16384]
}
