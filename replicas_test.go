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

// WithReplica returns a master, and a replica that has caught up.
func WithReplica(t *testing.T, args ...string) (master, replica *Server) {
	t.Helper()
	master, replicas := WithReplicas(t, 1, args...)
	return master, replicas[0]
}

// WithReplicas returns a master, and n replicas that have caught up.
func WithReplicas(t *testing.T, n int, args ...string) (master *Server, replicas []*Server) {
	t.Helper()
	master = RealServer(t, slices.Concat(args, []string{"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0"})...)
	for range n {
		replicas = append(replicas, RealServer(t, slices.Concat(args, []string{"--replicaof", "127.0.0.1 " + strconv.Itoa(master.Real.Port())})...))
	}
	for _, replica := range replicas {
		Eventually(t, "a replica has caught up", func() bool {
			return strings.Contains(fmt.Sprint(replica.Do("INFO", "replication")), "master_link_status:up")
		})
	}
	Eventually(t, "all replicas answer", func() bool { return master.Do("WAIT", n, 50) == int64(n) })
	return master, replicas
}

var Twice = lockwheel.Options{Replicas: lockwheel.Replicas{Min: 1}}

// redisson#7321: WAIT was sent although it was disabled.
func TestReplicasAreAskedOnlyByThoseWhoWant(t *testing.T) {
	t.Parallel()
	master, _ := WithReplica(t)
	plain, careful := master.Open(lockwheel.Options{}), master.Open(Twice)
	calls := master.Real.CommandCalls(t, "wait", "waitaof")
	for i := range 200 {
		Unlock(t, Lock(t, plain.Mutex(fmt.Sprint("n", i))))
	}
	require.Equal(t, calls, master.Real.CommandCalls(t, "wait", "waitaof"), "none")

	c := master.Real.Conn(t)
	require.NoError(t, c.Send("MONITOR"))
	require.Equal(t, "OK", Monitored(t, c))
	Unlock(t, Lock(t, careful.Mutex("n")))
	asked := ""
	for !strings.Contains(asked, `"WAIT" "1" "1500"`) {
		before := asked
		if asked = Monitored(t, c); strings.Contains(asked, `"WAIT"`) {
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
	master, replica := WithReplica(t)
	e := master.Open(Twice)
	before := Lock(t, e.Mutex("before"))
	require.NoError(t, replica.Real.Pause())
	for _, call := range Locks(e.Mutex("n")) {
		_, err := call(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotReplicated)
		require.NotErrorIs(t, err, lockwheel.ErrNotAcquired)
		require.ErrorContains(t, err, `"n"`)
		require.ErrorContains(t, err, "0 of 1")
		require.False(t, master.Exists("n"), "undone")
	}
	require.NoError(t, replica.Real.Continue())
	hold := Lock(t, e.Mutex("n"))
	require.Equal(t, map[string]string{hold.ID(): "1"}, master.Hash("n"))
	Eventually(t, "there, too", func() bool { return replica.Hash("n")[hold.ID()] == "1" })
	Unlock(t, hold)
	Unlock(t, before)
	RequireIdle(t, e)
}

// One of two replicas does not reply: that is enough for an engine that requires one, and too few for one that
// requires two.
func TestAsManyReplicasAsWantedAreEnough(t *testing.T) {
	t.Parallel()
	master, replicas := WithReplicas(t, 2)
	one := master.Open(Twice)
	both := master.Open(lockwheel.Options{Replicas: lockwheel.Replicas{Min: 2}})
	Unlock(t, Lock(t, both.Mutex("before")))
	require.NoError(t, replicas[1].Real.Pause())

	hold := Lock(t, one.Mutex("one"))
	require.Equal(t, map[string]string{hold.ID(): "1"}, replicas[0].Hash("one"))
	_, err := both.Mutex("both").Lock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotReplicated)
	require.ErrorContains(t, err, "1 of 2")
	require.False(t, master.Exists("both"), "undone")
	Eventually(t, "undone on the replica, too", func() bool { return !replicas[0].Exists("both") })
	require.NoError(t, hold.Err())
	Unlock(t, hold)

	require.NoError(t, replicas[1].Real.Continue())
	Unlock(t, Lock(t, both.Mutex("both")))
	for _, e := range []*lockwheel.Engine{one, both} {
		RequireIdle(t, e)
	}
}

// redisson#4211, #3474: a caller that waits for replicas does not delay other callers.
func TestNobodyWaitsBehindReplicas(t *testing.T) {
	t.Parallel()
	master, replica := WithReplica(t)
	e := master.Open(Twice)
	hold := Lock(t, e.Mutex("held"))
	require.NoError(t, replica.Real.Pause())
	var waiting []<-chan Outcome
	asked := time.Now()
	for i := range 20 {
		waiting = append(waiting, Locking(t.Context(), e.Mutex(fmt.Sprint("n", i))))
	}
	Eventually(t, "all asked for", func() bool { return e.Stats().InFlight > 0 })
	for range 5 {
		require.NoError(t, hold.Extend(t.Context(), time.Minute))
	}
	Unlock(t, hold)
	for _, done := range waiting {
		if time.Since(asked) < time.Second { // the replicas have more time than that to reply; a busy machine may have used it
			RequireNoReply(t, done, 0)
		}
	}
	for _, done := range waiting {
		require.ErrorIs(t, Receive(t, done).Err, lockwheel.ErrNotReplicated)
	}
	require.Equal(t, int64(0), master.Do("DBSIZE"))
	RequireIdle(t, e)
}

// If a server does not reply to WAIT, Open finds that out, and not the first lock.
func TestOpenRefusesReplicasThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	s.Do("ACL", "SETUSER", User, "on", ">"+Password, "~*", "&*", "+@all", "-wait")
	opts := Twice
	opts.Redis.InitAddress = []string{s.Addr}
	opts.Redis.Username, opts.Redis.Password = User, Password
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
	master, replica := WithReplica(t)
	p := proxy.Start(t, master.Addr)
	e := master.OpenAt(p.Addr(), Twice)
	for i := range 20 {
		p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(i*7%50))
		hold := Lock(t, e.Mutex("n"))
		require.Equal(t, map[string]string{hold.ID(): "1"}, replica.Hash("n"))
		Unlock(t, hold)
	}
	RequireIdle(t, e)
	require.Equal(t, int64(0), master.Do("DBSIZE"))
}

// A repeated acquire writes nothing if the first one ran. Its replicas are counted nevertheless: those that have the
// earlier write.
func TestAnAcquireThatIsSentAgainIsNotGrantedWithoutItsReplicas(t *testing.T) {
	t.Parallel()
	master, replica := WithReplica(t)
	p := proxy.Start(t, master.Addr)
	e := master.OpenAt(p.Addr(), Twice)
	Unlock(t, Lock(t, e.Mutex("before")))
	require.NoError(t, replica.Real.Pause())
	again := 0
	for try := 0; try < 10 && again < 2; try++ { // it may be sent on a connection that was made after the fault
		p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(0))
		calls := master.Scripts()
		_, err := e.Mutex("n").Lock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotReplicated)
		if master.Scripts()-calls > 2 { // an acquire, another one, and a release
			again++
		}
	}
	require.NotZero(t, again, "it was sent again")
	require.NoError(t, replica.Real.Continue())
	RequireIdle(t, e)
}

// If a replica has the lock, it survives its master; otherwise its holder learns of the loss from a renewal.
func TestAFailoverKeepsWhatTheReplicaHas(t *testing.T) {
	t.Parallel()
	for name, replicated := range map[string]bool{"replicated": true, "not replicated": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			master, replica := WithReplica(t)
			p := proxy.Start(t, master.Addr)
			opts := lockwheel.Options{Lease: 6 * time.Second, Replicas: Twice.Replicas}
			if !replicated {
				opts = ShortLeaseOptions
				require.NoError(t, replica.Real.Pause())
				require.Equal(t, 1, master.Real.Int(t, "CLIENT", "KILL", "TYPE", "replica")) // or it would find the lock in its socket
			}
			e := master.OpenAt(p.Addr(), opts)
			hold := Lock(t, e.FencedMutex("n"))
			FailOver(t, master.Real, replica.Real, p)
			next := Locking(context.WithoutCancel(t.Context()), replica.Open(lockwheel.Options{}).FencedMutex("n"), lockwheel.Wait(2*TestDeadline))
			if replicated {
				RequireNoReply(t, next, opts.Lease)
				require.NoError(t, hold.Err())
				Unlock(t, hold)
				after := Granted(t, next)
				require.Greater(t, after.Token(), hold.Token())
				Unlock(t, after)
				return
			}
			Unlock(t, Granted(t, next))
			Receive(t, hold.Done())
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		})
	}
}

// FailOver makes the replica the master, as Sentinel would: clients find it at the address of the old one.
func FailOver(t *testing.T, master, replica *redistest.Server, links ...*proxy.Proxy) {
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
	old, next := WithReplica(t)
	p := proxy.Start(t, old.Addr)
	e := old.OpenAt(p.Addr(), lockwheel.Options{CallTimeout: 10 * time.Second, Replicas: lockwheel.Replicas{Min: 1, Timeout: 5 * time.Second}})
	Unlock(t, Lock(t, e.Mutex("before")))
	require.NoError(t, next.Real.Pause())
	waiting := Locking(t.Context(), e.Mutex("n"))
	Eventually(t, "the master waits for its replica", func() bool {
		return strings.Contains(fmt.Sprint(old.Do("INFO", "clients")), "blocked_clients:1")
	})
	require.Equal(t, "OK", old.Do("REPLICAOF", "127.0.0.1", next.Real.Port()))
	require.NoError(t, next.Real.Continue())
	require.Equal(t, "OK", next.Do("REPLICAOF", "NO", "ONE"))
	Eventually(t, "the old master follows", func() bool {
		return next.Do("SET", "probe", "1") == "OK" && next.Do("WAIT", 1, 50) == int64(1)
	})
	RequireNoReply(t, waiting, 0)
	p.Retarget(next.Addr)
	p.Cut()
	hold := Granted(t, waiting)
	require.Equal(t, map[string]string{hold.ID(): "1"}, next.Hash("n"))
	require.Equal(t, map[string]string{hold.ID(): "1"}, old.Hash("n"), "its replica now")
	Unlock(t, hold) // it is released once more a CallTimeout later, which this test does not wait for
}

// Without replicas one script grants several locks as one; with replicas each of them must be replicated, too.
func TestAMultiThatNoReplicaHasIsUndone(t *testing.T) {
	t.Parallel()
	master, replica := WithReplica(t)
	e := master.Open(Twice)
	m := Multi(e, "a", "b", "c")
	hold := LockAll(t, m)
	for _, name := range []string{"a", "b", "c"} {
		require.Len(t, replica.Hash(name), 1, "granted, so it is there")
	}
	Unlock(t, hold)
	require.NoError(t, replica.Real.Pause())
	_, err := m.TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotReplicated)
	Eventually(t, "all to be undone", func() bool { return !master.Exists("a") && !master.Exists("b") && !master.Exists("c") })
	require.NoError(t, replica.Real.Continue())
	Unlock(t, LockAll(t, m))
	RequireIdle(t, e)
}
