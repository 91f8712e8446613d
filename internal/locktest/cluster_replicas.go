package locktest

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// onReplica returns the data of a name on the replica of its master.
func (r *ClusterEnv) onReplica(name string) map[string]string {
	r.T.Helper()
	c := r.Replica(r.T, r.Master(r.T, r.Slot(r.T, name))).Conn(r.T)
	_, err := c.Do("READONLY")
	require.NoError(r.T, err)
	reply, err := c.Do("HGETALL", name)
	require.NoError(r.T, err)
	hash := make(map[string]string)
	pairs, _ := reply.([]any)
	for i := 0; i+1 < len(pairs); i += 2 {
		hash[fmt.Sprint(pairs[i])] = fmt.Sprint(pairs[i+1])
	}
	return hash
}

func (r *ClusterEnv) Replicates(t *testing.T) {
	e := r.Open(Twice)
	for kindName, kind := range Grantable() {
		names := r.SpreadKeys(kindName, 30)
		var waiting []<-chan Outcome
		for _, name := range names { // many slots are sent together
			waiting = append(waiting, Locking(t.Context(), kind(e, name)))
		}
		for i, done := range waiting {
			hold := Granted(t, done)
			require.Contains(t, fmt.Sprint(r.onReplica(names[i])), hold.ID())
			Unlock(t, hold)
		}
	}
	RequireIdle(t, e)
}

// ReplicatesForPollers is Redisson's spin lock testInCluster: replicas have 3 s to reply.
func (r *ClusterEnv) ReplicatesForPollers(t *testing.T) {
	const inTime = 3 * time.Second
	opts := lockwheel.Options{Notify: lockwheel.Poll, CallTimeout: 2 * inTime, Replicas: lockwheel.Replicas{Min: 1, Timeout: inTime}}
	holder, waiter := r.Open(opts), r.Open(opts)
	const name = "polled"
	requireReplicated := func(hold *lockwheel.Hold) {
		t.Helper()
		require.Equal(t, map[string]string{hold.ID(): "1"}, r.onReplica(name))
		RequireLocked(t, holder.Mutex(name), true)
	}
	for range 3 {
		hold := Lock(t, holder.Mutex(name))
		requireReplicated(hold)
		waiting := Locking(t.Context(), waiter.Mutex(name))
		Eventually(t, "it to poll", func() bool { return waiter.Stats().Polling == 1 })
		Unlock(t, hold)
		next := Granted(t, waiting)
		requireReplicated(next)
		Unlock(t, next)
		RequireLocked(t, holder.Mutex(name), false)
	}

	replica := r.Replica(t, r.Master(t, r.Slot(t, name)))
	require.NoError(t, replica.Pause())
	asked := time.Now()
	late := Locking(t.Context(), holder.Mutex(name))
	refused := Receive(t, late)
	require.NoError(t, replica.Continue())
	require.ErrorIs(t, refused.Err, lockwheel.ErrNotReplicated)
	require.GreaterOrEqual(t, time.Since(asked), inTime-Skew, "they had their time")
	Unlock(t, Lock(t, waiter.Mutex(name)))
	for _, e := range []*lockwheel.Engine{holder, waiter} {
		RequireIdle(t, e)
	}
	require.Zero(t, r.Channels())
}

// ReplicatesElsewhere requires replicas with a user that has exactly the permissions of docs/acl.md.
func (r *ClusterEnv) ReplicatesElsewhere(t *testing.T) {
	opts := Twice
	opts.Redis = r.Limited()
	for _, s := range r.Nodes {
		require.Equal(t, "OK", s.Do(t, "ACL", "SETUSER", "limited", "+wait"))
	}
	e := r.Open(opts)
	name := r.Key("moving", 5)
	Unlock(t, Lock(t, e.Mutex(name)))
	from := r.Master(t, 5)
	for _, to := range append(r.Nodes[1:3:3], from) {
		m := r.Migrate(t, 5, to)
		asked := Lock(t, e.Mutex(name)) // redirected with ASK
		Unlock(t, asked)
		m.End(t)
		hold := Lock(t, e.Mutex(name)) // redirected with MOVED
		require.Equal(t, map[string]string{hold.ID(): "1"}, r.onReplica(name))
		Unlock(t, hold)
	}
	RequireIdle(t, e)
}

func (r *ClusterEnv) AsksNoReplicas(t *testing.T) {
	e := r.Open(lockwheel.Options{})
	before := r.Calls("wait", "waitaof")
	for _, name := range r.SpreadNames(60) {
		Unlock(t, Lock(t, e.Mutex(name)))
	}
	require.Equal(t, before, r.Calls("wait", "waitaof"))
}

func (r *ClusterEnv) RefusesToBeAsked(t *testing.T) {
	for _, s := range r.Nodes {
		require.Equal(t, "OK", s.Do(t, "ACL", "SETUSER", "mute", "on", ">secret", "~*", "&*", "+@all", "-wait"))
	}
	opts := Twice
	opts.Redis = rueidis.ClientOption{InitAddress: r.Addrs(), Username: "mute", Password: "secret"}
	_, err := lockwheel.Open(t.Context(), opts)
	require.ErrorContains(t, err, "Options.Replicas")
	require.ErrorContains(t, err, "NOPERM")
}

func (r *ClusterEnv) LosesAReplica(t *testing.T) {
	e := r.Open(Twice)
	names := r.SpreadNames(3)
	replica := r.Replica(t, r.Master(t, r.Slot(t, names[0])))
	require.NoError(t, replica.Pause())
	failing := Locking(t.Context(), e.Mutex(names[0]))
	for _, name := range names[1:] {
		hold := Lock(t, e.Mutex(name))
		Unlock(t, hold)
	}
	require.ErrorIs(t, Receive(t, failing).Err, lockwheel.ErrNotReplicated)
	require.NoError(t, replica.Continue())
	Eventually(t, "a grant when it is back", func() bool {
		hold, err := e.Mutex(names[0]).Lock(t.Context())
		if err != nil {
			require.ErrorIs(t, err, lockwheel.ErrNotReplicated)
			return false
		}
		Unlock(t, hold)
		return true
	})
	RequireIdle(t, e)
}

func (r *ClusterEnv) Promotes(t *testing.T) {
	opts := Twice
	opts.RenewInterval = 500 * time.Millisecond
	e := r.Open(opts)
	name := r.Key("n", 0)
	master := r.Master(t, 0)
	replica := r.Replica(t, master)
	hold := Lock(t, e.FencedMutex(name))
	require.NoError(t, master.Kill())
	require.Same(t, replica, r.Master(t, 0))
	require.Equal(t, map[string]string{hold.ID(): "1"}, replica.Hash(t, name))
	Unlock(t, hold)
	_, err := e.FencedMutex(name).Lock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotReplicated, "it has no replica itself")
	RequireIdle(t, e)
}
