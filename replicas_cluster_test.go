package lockwheel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/long"
)

// Grants that count only if the replicas of the slot's master have them.

func TestClusterGrantsHaveTheirReplicas(t *testing.T) {
	long.Only(t, "the nodes of a cluster with replicas fail")
	t.Parallel()
	r := newClusterEnv(t, 1)
	t.Run("those of all slots, of all kinds", func(t *testing.T) { r.t = t; r.replicates(t) })
	t.Run("those of pollers, in time or not at all", func(t *testing.T) { r.t = t; r.replicatesForPollers(t) })
	t.Run("a slot that moves takes its grants along", func(t *testing.T) { r.t = t; r.replicatesElsewhere(t) })
	t.Run("replicas are asked only if wanted", func(t *testing.T) { r.t = t; r.asksNoReplicas(t) })
	t.Run("a user who may not ask is found out by Open", func(t *testing.T) { r.t = t; r.refusesToBeAsked(t) })
	t.Run("one replica that is silent is the business of its master alone", func(t *testing.T) { r.t = t; r.losesAReplica(t) })
	t.Run("a replica takes over with what was granted", func(t *testing.T) { r.t = t; r.promotes(t) })
}

// onReplica returns the data of a name on the replica of its master.
func (r *clusterEnv) onReplica(name string) map[string]string {
	r.t.Helper()
	c := r.Replica(r.t, r.Master(r.t, r.Slot(r.t, name))).Conn(r.t)
	_, err := c.Do("READONLY")
	require.NoError(r.t, err)
	reply, err := c.Do("HGETALL", name)
	require.NoError(r.t, err)
	hash := make(map[string]string)
	pairs, _ := reply.([]any)
	for i := 0; i+1 < len(pairs); i += 2 {
		hash[fmt.Sprint(pairs[i])] = fmt.Sprint(pairs[i+1])
	}
	return hash
}

func (r *clusterEnv) replicates(t *testing.T) {
	e := r.open(twice)
	for kindName, kind := range grantable() {
		names := r.SpreadKeys(kindName, 30)
		var waiting []<-chan outcome
		for _, name := range names { // many slots are sent together
			waiting = append(waiting, locking(t.Context(), kind(e, name)))
		}
		for i, done := range waiting {
			hold := granted(t, done)
			require.Contains(t, fmt.Sprint(r.onReplica(names[i])), hold.ID())
			unlock(t, hold)
		}
	}
	requireIdle(t, e)
}

// Redisson's spin lock testInCluster: replicas have 3 s to reply.
func (r *clusterEnv) replicatesForPollers(t *testing.T) {
	const inTime = 3 * time.Second
	opts := lockwheel.Options{Notify: lockwheel.Poll, CallTimeout: 2 * inTime, Replicas: lockwheel.Replicas{Min: 1, Timeout: inTime}}
	holder, waiter := r.open(opts), r.open(opts)
	const name = "polled"
	requireReplicated := func(hold *lockwheel.Hold) {
		t.Helper()
		require.Equal(t, map[string]string{hold.ID(): "1"}, r.onReplica(name))
		requireLocked(t, holder.Mutex(name), true)
	}
	for range 3 {
		hold := lock(t, holder.Mutex(name))
		requireReplicated(hold)
		waiting := locking(t.Context(), waiter.Mutex(name))
		eventually(t, "it to poll", func() bool { return waiter.Stats().Polling == 1 })
		unlock(t, hold)
		next := granted(t, waiting)
		requireReplicated(next)
		unlock(t, next)
		requireLocked(t, holder.Mutex(name), false)
	}

	replica := r.Replica(t, r.Master(t, r.Slot(t, name)))
	require.NoError(t, replica.Pause())
	asked := time.Now()
	late := locking(t.Context(), holder.Mutex(name))
	refused := receive(t, late)
	require.NoError(t, replica.Continue())
	require.ErrorIs(t, refused.err, lockwheel.ErrNotReplicated)
	require.GreaterOrEqual(t, time.Since(asked), inTime-skew, "they had their time")
	unlock(t, lock(t, waiter.Mutex(name)))
	for _, e := range []*lockwheel.Engine{holder, waiter} {
		requireIdle(t, e)
	}
	require.Zero(t, r.channels())
}

// The user has exactly the permissions that README lists.
func (r *clusterEnv) replicatesElsewhere(t *testing.T) {
	opts := twice
	opts.Redis = r.limited()
	for _, s := range r.Nodes {
		require.Equal(t, "OK", s.Do(t, "ACL", "SETUSER", "limited", "+wait"))
	}
	e := r.open(opts)
	name := r.Key("moving", 5)
	unlock(t, lock(t, e.Mutex(name)))
	from := r.Master(t, 5)
	for _, to := range append(r.Nodes[1:3:3], from) {
		m := r.Migrate(t, 5, to)
		asked := lock(t, e.Mutex(name)) // redirected with ASK
		unlock(t, asked)
		m.End(t)
		hold := lock(t, e.Mutex(name)) // redirected with MOVED
		require.Equal(t, map[string]string{hold.ID(): "1"}, r.onReplica(name))
		unlock(t, hold)
	}
	requireIdle(t, e)
}

func (r *clusterEnv) asksNoReplicas(t *testing.T) {
	e := r.open(lockwheel.Options{})
	before := r.calls("wait", "waitaof")
	for _, name := range r.spreadNames(60) {
		unlock(t, lock(t, e.Mutex(name)))
	}
	require.Equal(t, before, r.calls("wait", "waitaof"))
}

func (r *clusterEnv) refusesToBeAsked(t *testing.T) {
	for _, s := range r.Nodes {
		require.Equal(t, "OK", s.Do(t, "ACL", "SETUSER", "mute", "on", ">secret", "~*", "&*", "+@all", "-wait"))
	}
	opts := twice
	opts.Redis = rueidis.ClientOption{InitAddress: r.Addrs(), Username: "mute", Password: "secret"}
	_, err := lockwheel.Open(t.Context(), opts)
	require.ErrorContains(t, err, "Options.Replicas")
	require.ErrorContains(t, err, "NOPERM")
}

func (r *clusterEnv) losesAReplica(t *testing.T) {
	e := r.open(twice)
	names := r.spreadNames(3)
	replica := r.Replica(t, r.Master(t, r.Slot(t, names[0])))
	require.NoError(t, replica.Pause())
	failing := locking(t.Context(), e.Mutex(names[0]))
	for _, name := range names[1:] {
		hold := lock(t, e.Mutex(name))
		unlock(t, hold)
	}
	require.ErrorIs(t, receive(t, failing).err, lockwheel.ErrNotReplicated)
	require.NoError(t, replica.Continue())
	eventually(t, "a grant when it is back", func() bool {
		hold, err := e.Mutex(names[0]).Lock(t.Context())
		if err != nil {
			require.ErrorIs(t, err, lockwheel.ErrNotReplicated)
			return false
		}
		unlock(t, hold)
		return true
	})
	requireIdle(t, e)
}

func (r *clusterEnv) promotes(t *testing.T) {
	opts := twice
	opts.RenewInterval = 500 * time.Millisecond
	e := r.open(opts)
	name := r.Key("n", 0)
	master := r.Master(t, 0)
	replica := r.Replica(t, master)
	hold := lock(t, e.FencedMutex(name))
	require.NoError(t, master.Kill())
	require.Same(t, replica, r.Master(t, 0))
	require.Equal(t, map[string]string{hold.ID(): "1"}, replica.Hash(t, name))
	unlock(t, hold)
	_, err := e.FencedMutex(name).Lock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotReplicated, "it has no replica itself")
	requireIdle(t, e)
}
