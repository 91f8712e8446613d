package lockwheel_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/proxy"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// Grants that count only if replicas have them, and locks during a failover.

// withReplica returns a master, and a replica that has caught up.
func withReplica(t *testing.T, args ...string) (master, replica *Server) {
	t.Helper()
	master, replicas := withReplicas(t, 1, args...)
	return master, replicas[0]
}

// withReplicas returns a master, and n replicas that have caught up.
func withReplicas(t *testing.T, n int, args ...string) (master *Server, replicas []*Server) {
	t.Helper()
	master = RealServer(t, slices.Concat(args, []string{"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0"})...)
	for range n {
		replicas = append(replicas, RealServer(t, slices.Concat(args, []string{"--replicaof", "127.0.0.1 " + strconv.Itoa(master.real.Port())})...))
	}
	for _, replica := range replicas {
		eventually(t, "a replica has caught up", func() bool {
			return strings.Contains(fmt.Sprint(replica.do("INFO", "replication")), "master_link_status:up")
		})
	}
	eventually(t, "all replicas answer", func() bool { return master.do("WAIT", n, 50) == int64(n) })
	return master, replicas
}

var twice = lockwheel.Options{Replicas: lockwheel.Replicas{Min: 1}}

// redisson#7321: WAIT was sent although it was disabled.
func TestReplicasAreAskedOnlyByThoseWhoWant(t *testing.T) {
	t.Parallel()
	master, _ := withReplica(t)
	plain, careful := master.open(lockwheel.Options{}), master.open(twice)
	calls := master.real.CommandCalls(t, "wait", "waitaof")
	for i := range 200 {
		unlock(t, lock(t, plain.Mutex(fmt.Sprint("n", i))))
	}
	require.Equal(t, calls, master.real.CommandCalls(t, "wait", "waitaof"), "none")

	c := master.real.Conn(t)
	require.NoError(t, c.Send("MONITOR"))
	require.Equal(t, "OK", monitored(t, c))
	unlock(t, lock(t, careful.Mutex("n")))
	asked := ""
	for !strings.Contains(asked, `"WAIT" "1" "1500"`) {
		before := asked
		if asked = monitored(t, c); strings.Contains(asked, `"WAIT"`) {
			require.Contains(t, before, source(asked), "behind the acquire, on its connection")
		}
		if strings.Contains(asked, " lua]") {
			asked = before // commands of the script
		}
	}
}

// source returns the client of a line of MONITOR.
func source(line string) string {
	_, rest, _ := strings.Cut(line, "[")
	from, _, _ := strings.Cut(rest, "]")
	return from
}

// redisson#4822: the acquire ran without its replicas, and was neither granted nor undone.
func TestALockThatNoReplicaHasIsUndone(t *testing.T) {
	t.Parallel()
	master, replica := withReplica(t)
	e := master.open(twice)
	before := lock(t, e.Mutex("before"))
	require.NoError(t, replica.real.Pause())
	for _, call := range locks(e.Mutex("n")) {
		_, err := call(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotReplicated)
		require.NotErrorIs(t, err, lockwheel.ErrNotAcquired)
		require.ErrorContains(t, err, `"n"`)
		require.ErrorContains(t, err, "0 of 1")
		require.False(t, master.exists("n"), "undone")
	}
	require.NoError(t, replica.real.Continue())
	hold := lock(t, e.Mutex("n"))
	require.Equal(t, map[string]string{hold.ID(): "1"}, master.hash("n"))
	eventually(t, "there, too", func() bool { return replica.hash("n")[hold.ID()] == "1" })
	unlock(t, hold)
	unlock(t, before)
	requireIdle(t, e)
}

// One of two replicas does not reply: that is enough for an engine that requires one, and too few for one that
// requires two.
func TestAsManyReplicasAsWantedAreEnough(t *testing.T) {
	t.Parallel()
	master, replicas := withReplicas(t, 2)
	one := master.open(twice)
	both := master.open(lockwheel.Options{Replicas: lockwheel.Replicas{Min: 2}})
	unlock(t, lock(t, both.Mutex("before")))
	require.NoError(t, replicas[1].real.Pause())

	hold := lock(t, one.Mutex("one"))
	require.Equal(t, map[string]string{hold.ID(): "1"}, replicas[0].hash("one"))
	_, err := both.Mutex("both").Lock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotReplicated)
	require.ErrorContains(t, err, "1 of 2")
	require.False(t, master.exists("both"), "undone")
	eventually(t, "undone on the replica, too", func() bool { return !replicas[0].exists("both") })
	require.NoError(t, hold.Err())
	unlock(t, hold)

	require.NoError(t, replicas[1].real.Continue())
	unlock(t, lock(t, both.Mutex("both")))
	for _, e := range []*lockwheel.Engine{one, both} {
		requireIdle(t, e)
	}
}

// redisson#4211, #3474: a caller that waits for replicas does not delay other callers.
func TestNobodyWaitsBehindReplicas(t *testing.T) {
	t.Parallel()
	master, replica := withReplica(t)
	e := master.open(twice)
	hold := lock(t, e.Mutex("held"))
	require.NoError(t, replica.real.Pause())
	var waiting []<-chan outcome
	asked := time.Now()
	for i := range 20 {
		waiting = append(waiting, locking(t.Context(), e.Mutex(fmt.Sprint("n", i))))
	}
	eventually(t, "all asked for", func() bool { return e.Stats().InFlight > 0 })
	for range 5 {
		require.NoError(t, hold.Extend(t.Context(), time.Minute))
	}
	unlock(t, hold)
	for _, done := range waiting {
		if time.Since(asked) < time.Second { // the replicas have more time than that to reply; a busy machine may have used it
			requireNoReply(t, done, 0)
		}
	}
	for _, done := range waiting {
		require.ErrorIs(t, receive(t, done).err, lockwheel.ErrNotReplicated)
	}
	require.Equal(t, int64(0), master.do("DBSIZE"))
	requireIdle(t, e)
}

// If a server does not reply to WAIT, Open finds that out, and not the first lock.
func TestOpenRefusesReplicasThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	s.do("ACL", "SETUSER", user, "on", ">"+password, "~*", "&*", "+@all", "-wait")
	opts := twice
	opts.Redis.InitAddress = []string{s.addr}
	opts.Redis.Username, opts.Redis.Password = user, password
	_, err := lockwheel.Open(t.Context(), opts)
	require.ErrorContains(t, err, "Options.Replicas")
	require.ErrorContains(t, err, "NOPERM")
	opts.Replicas.Timeout = time.Hour
	_, err = lockwheel.Open(t.Context(), opts)
	require.ErrorContains(t, err, "Options.Replicas.Timeout")
}

// Faults during WAIT: a grant is on both servers, or it is no grant.
func TestGrantsThroughABrokenLinkHaveTheirReplicas(t *testing.T) {
	t.Parallel()
	master, replica := withReplica(t)
	p := proxy.Start(t, master.addr)
	e := master.openAt(p.Addr(), twice)
	for i := range 20 {
		p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(i*7%50))
		hold := lock(t, e.Mutex("n"))
		require.Equal(t, map[string]string{hold.ID(): "1"}, replica.hash("n"))
		unlock(t, hold)
	}
	requireIdle(t, e)
	require.Equal(t, int64(0), master.do("DBSIZE"))
}

// A repeated acquire writes nothing if the first one ran. Its replicas are counted nevertheless: those that have the
// earlier write.
func TestAnAcquireThatIsSentAgainIsNotGrantedWithoutItsReplicas(t *testing.T) {
	t.Parallel()
	master, replica := withReplica(t)
	p := proxy.Start(t, master.addr)
	e := master.openAt(p.Addr(), twice)
	unlock(t, lock(t, e.Mutex("before")))
	require.NoError(t, replica.real.Pause())
	again := 0
	for try := 0; try < 10 && again < 2; try++ { // it may be sent on a connection that was made after the fault
		p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(0))
		calls := master.scripts()
		_, err := e.Mutex("n").Lock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotReplicated)
		if master.scripts()-calls > 2 { // an acquire, another one, and a release
			again++
		}
	}
	require.NotZero(t, again, "it was sent again")
	require.NoError(t, replica.real.Continue())
	requireIdle(t, e)
}

// If a replica has the lock, it survives its master; otherwise its holder learns of the loss from a renewal.
func TestAFailoverKeepsWhatTheReplicaHas(t *testing.T) {
	t.Parallel()
	for name, replicated := range map[string]bool{"replicated": true, "not replicated": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			master, replica := withReplica(t)
			p := proxy.Start(t, master.addr)
			opts := lockwheel.Options{Lease: 6 * time.Second, Replicas: twice.Replicas}
			if !replicated {
				opts = shortLeaseOptions
				require.NoError(t, replica.real.Pause())
				require.Equal(t, 1, master.real.Int(t, "CLIENT", "KILL", "TYPE", "replica")) // or it would find the lock in its socket
			}
			e := master.openAt(p.Addr(), opts)
			hold := lock(t, e.FencedMutex("n"))
			failOver(t, master.real, replica.real, p)
			next := locking(context.WithoutCancel(t.Context()), replica.open(lockwheel.Options{}).FencedMutex("n"), lockwheel.Wait(2*testDeadline))
			if replicated {
				requireNoReply(t, next, opts.Lease)
				require.NoError(t, hold.Err())
				unlock(t, hold)
				after := granted(t, next)
				require.Greater(t, after.Token(), hold.Token())
				unlock(t, after)
				return
			}
			unlock(t, granted(t, next))
			receive(t, hold.Done())
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		})
	}
}

// failOver makes the replica the master, as Sentinel would: clients find it at the address of the old one.
func failOver(t *testing.T, master, replica *redistest.Server, links ...*proxy.Proxy) {
	t.Helper()
	require.NoError(t, master.Kill())
	require.NoError(t, replica.Continue())
	require.Equal(t, "OK", replica.Do(t, "REPLICAOF", "NO", "ONE"))
	for _, p := range links {
		p.Retarget(replica.Addr())
		p.Cut()
	}
}

// A master that becomes a replica during its WAIT does not decide for the next one: a caller that may wait continues
// there.
func TestAWaitForReplicasThatAFailoverInterruptsGoesOnAtTheNextMaster(t *testing.T) {
	t.Parallel()
	old, next := withReplica(t)
	p := proxy.Start(t, old.addr)
	e := old.openAt(p.Addr(), lockwheel.Options{CallTimeout: 10 * time.Second, Replicas: lockwheel.Replicas{Min: 1, Timeout: 5 * time.Second}})
	unlock(t, lock(t, e.Mutex("before")))
	require.NoError(t, next.real.Pause())
	waiting := locking(t.Context(), e.Mutex("n"))
	eventually(t, "the master waits for its replica", func() bool {
		return strings.Contains(fmt.Sprint(old.do("INFO", "clients")), "blocked_clients:1")
	})
	require.Equal(t, "OK", old.do("REPLICAOF", "127.0.0.1", next.real.Port()))
	require.NoError(t, next.real.Continue())
	require.Equal(t, "OK", next.do("REPLICAOF", "NO", "ONE"))
	eventually(t, "the old master follows", func() bool {
		return next.do("SET", "probe", "1") == "OK" && next.do("WAIT", 1, 50) == int64(1)
	})
	requireNoReply(t, waiting, 0)
	p.Retarget(next.addr)
	p.Cut()
	hold := granted(t, waiting)
	require.Equal(t, map[string]string{hold.ID(): "1"}, next.hash("n"))
	require.Equal(t, map[string]string{hold.ID(): "1"}, old.hash("n"), "its replica now")
	unlock(t, hold) // it is released once more a CallTimeout later, which this test does not wait for
}

// Without replicas one script grants several locks as one; with replicas each of them must be replicated, too.
func TestAMultiThatNoReplicaHasIsUndone(t *testing.T) {
	t.Parallel()
	master, replica := withReplica(t)
	e := master.open(twice)
	m := multi(e, "a", "b", "c")
	hold := lockAll(t, m)
	for _, name := range []string{"a", "b", "c"} {
		require.Len(t, replica.hash(name), 1, "granted, so it is there")
	}
	unlock(t, hold)
	require.NoError(t, replica.real.Pause())
	_, err := m.TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotReplicated)
	eventually(t, "all to be undone", func() bool { return !master.exists("a") && !master.exists("b") && !master.exists("c") })
	require.NoError(t, replica.real.Continue())
	unlock(t, lockAll(t, m))
	requireIdle(t, e)
}
