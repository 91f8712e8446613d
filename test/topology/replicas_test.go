package topology_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// lockReplicated acquires a lock that the replicas must have. On a busy machine they may confirm it too late; then it
// tries again. It calls each of before before each try.
func lockReplicated(t *testing.T, m interface {
	Lock(context.Context, ...lockwheel.Option) (*lockwheel.Hold, error)
}, before ...func()) (hold *lockwheel.Hold) {
	t.Helper()
	locktest.Eventually(t, "a grant that the replicas have", func() bool {
		for _, prepare := range before {
			prepare()
		}
		var err error
		if hold, err = m.Lock(t.Context(), lockwheel.Wait(locktest.TestDeadline)); err != nil {
			require.ErrorIs(t, err, lockwheel.ErrNotReplicated)
		}
		return err == nil
	})
	return hold
}

// redisson#7321: WAIT was sent although it was disabled.
func TestReplicas_NotWanted_NoWAIT(t *testing.T) {
	t.Parallel()
	master, _ := locktest.WithReplica(t)
	plain, careful := master.Open(lockwheel.Options{}), master.Open(locktest.Twice)
	calls := master.Real.CommandCalls(t, "wait", "waitaof")
	for i := range 200 {
		locktest.Unlock(t, locktest.Lock(t, plain.Mutex(fmt.Sprint("n", i))))
	}
	require.Equal(t, calls, master.Real.CommandCalls(t, "wait", "waitaof"), "none")

	c := master.Real.Conn(t)
	require.NoError(t, c.Send("MONITOR"))
	require.Equal(t, "OK", locktest.Monitored(t, c))
	locktest.Unlock(t, lockReplicated(t, careful.Mutex("n")))
	asked := ""
	for !strings.Contains(asked, `"WAIT" "1" "1500"`) {
		before := asked
		if asked = locktest.Monitored(t, c); strings.Contains(asked, `"WAIT"`) {
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
func TestReplication_LockMissing_Undone(t *testing.T) {
	t.Parallel()
	master, replica := locktest.WithReplica(t)
	e := master.Open(locktest.Twice)
	before := lockReplicated(t, e.Mutex("before"))
	require.NoError(t, replica.Real.Pause())
	for _, call := range locktest.Locks(e.Mutex("n")) {
		_, err := call(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotReplicated)
		require.NotErrorIs(t, err, lockwheel.ErrNotAcquired)
		require.ErrorContains(t, err, `"n"`)
		require.ErrorContains(t, err, "0 of 1")
		require.False(t, master.Exists("n"), "undone")
	}
	require.NoError(t, replica.Real.Continue())
	hold := lockReplicated(t, e.Mutex("n"))
	require.Equal(t, map[string]string{hold.ID(): "1"}, master.Hash("n"))
	locktest.Eventually(t, "there, too", func() bool { return replica.Hash("n")[hold.ID()] == "1" })
	locktest.Unlock(t, hold)
	locktest.Unlock(t, before)
	locktest.RequireIdle(t, e)
}

// One of two replicas does not reply: that is enough for an engine that requires one, and too few for one that
// requires two.
func TestReplicas_AsManyAsWanted_Granted(t *testing.T) {
	t.Parallel()
	master, replicas := locktest.WithReplicas(t, 2)
	one := master.Open(locktest.Twice)
	both := master.Open(lockwheel.Options{Replicas: lockwheel.Replicas{Min: 2}})
	locktest.Unlock(t, lockReplicated(t, both.Mutex("before")))
	require.NoError(t, replicas[1].Real.Pause())

	hold := lockReplicated(t, one.Mutex("one"))
	require.Equal(t, map[string]string{hold.ID(): "1"}, replicas[0].Hash("one"))
	locktest.Eventually(t, "1 of 2 in time", func() bool {
		_, err := both.Mutex("both").Lock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotReplicated)
		require.False(t, master.Exists("both"), "undone")
		return strings.Contains(err.Error(), "1 of 2")
	})
	locktest.Eventually(t, "undone on the replica, too", func() bool { return !replicas[0].Exists("both") })
	require.NoError(t, hold.Err())
	locktest.Unlock(t, hold)

	require.NoError(t, replicas[1].Real.Continue())
	locktest.Unlock(t, lockReplicated(t, both.Mutex("both")))
	for _, e := range []*lockwheel.Engine{one, both} {
		locktest.RequireIdle(t, e)
	}
}

// redisson#4211, #3474: a caller that waits for replicas does not delay other callers.
func TestReplicas_Waiting_OthersNotDelayed(t *testing.T) {
	t.Parallel()
	master, replica := locktest.WithReplica(t)
	e := master.Open(locktest.Twice)
	hold := lockReplicated(t, e.Mutex("held"))
	require.NoError(t, replica.Real.Pause())
	var waiting []<-chan locktest.Outcome
	asked := time.Now()
	for i := range 20 {
		waiting = append(waiting, locktest.Locking(t.Context(), e.Mutex(fmt.Sprint("n", i))))
	}
	locktest.Eventually(t, "all asked for", func() bool { return e.Stats().InFlight > 0 })
	for range 5 {
		require.NoError(t, hold.Extend(t.Context(), time.Minute))
	}
	locktest.Unlock(t, hold)
	for _, done := range waiting {
		if time.Since(asked) < time.Second { // the replicas have more time than that to reply; a busy machine may have used it
			locktest.RequireNoReply(t, done, 0)
		}
	}
	for _, done := range waiting {
		require.ErrorIs(t, locktest.Receive(t, done).Err, lockwheel.ErrNotReplicated)
	}
	require.Equal(t, int64(0), master.Do("DBSIZE"))
	locktest.RequireIdle(t, e)
}

// If a server does not reply to WAIT, Open finds that out, and not the first lock.
func TestReplicas_NoReplyToWAIT_OpenFails(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	s.Do("ACL", "SETUSER", locktest.User, "on", ">"+locktest.Password, "~*", "&*", "+@all", "-wait")
	opts := locktest.Twice
	opts.Redis.InitAddress = []string{s.Addr}
	opts.Redis.Username, opts.Redis.Password = locktest.User, locktest.Password
	_, err := lockwheel.Open(t.Context(), opts)
	require.ErrorContains(t, err, "Options.Replicas")
	require.ErrorContains(t, err, "NOPERM")
	opts.Replicas.Timeout = time.Hour
	_, err = lockwheel.Open(t.Context(), opts)
	require.ErrorContains(t, err, "Options.Replicas.Timeout")
}

// Faults during WAIT: a grant is on both servers, or it is no grant.
func TestReplicas_BrokenLink_OnBothOrNoGrant(t *testing.T) {
	t.Parallel()
	master, replica := locktest.WithReplica(t)
	p := proxy.Start(t, master.Addr)
	e := master.OpenAt(p.Addr(), locktest.Twice)
	for i := range 20 {
		hold := lockReplicated(t, e.Mutex("n"), func() { p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(i*7%50)) })
		require.Equal(t, map[string]string{hold.ID(): "1"}, replica.Hash("n"))
		locktest.Unlock(t, hold)
	}
	locktest.RequireIdle(t, e)
	require.Equal(t, int64(0), master.Do("DBSIZE"))
}

// A repeated acquire writes nothing if the first one ran. Its replicas are counted nevertheless: those that have the
// earlier write.
func TestReplicas_SentAgain_StillCounted(t *testing.T) {
	t.Parallel()
	master, replica := locktest.WithReplica(t)
	p := proxy.Start(t, master.Addr)
	e := master.OpenAt(p.Addr(), locktest.Twice)
	locktest.Unlock(t, lockReplicated(t, e.Mutex("before")))
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
	locktest.RequireIdle(t, e)
}

// If a replica has the lock, it survives its master; otherwise its holder learns of the loss from a renewal.
func TestFailover_ReplicaHasLock_Kept(t *testing.T) {
	t.Parallel()
	for name, replicated := range map[string]bool{"replicated": true, "not replicated": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			master, replica := locktest.WithReplica(t)
			p := proxy.Start(t, master.Addr)
			opts := lockwheel.Options{Lease: 6 * time.Second, Replicas: locktest.Twice.Replicas}
			if !replicated {
				opts = locktest.ShortLeaseOptions
				require.NoError(t, replica.Real.Pause())
				require.Equal(t, 1, master.Real.Int(t, "CLIENT", "KILL", "TYPE", "replica")) // or it would find the lock in its socket
			}
			e := master.OpenAt(p.Addr(), opts)
			hold := lockReplicated(t, e.FencedMutex("n"))
			locktest.FailOver(t, master.Real, replica.Real, p)
			next := locktest.Locking(context.WithoutCancel(t.Context()), replica.Open(lockwheel.Options{}).FencedMutex("n"), lockwheel.Wait(2*locktest.TestDeadline))
			if replicated {
				locktest.RequireNoReply(t, next, opts.Lease)
				require.NoError(t, hold.Err())
				locktest.Unlock(t, hold)
				after := locktest.Granted(t, next)
				require.Greater(t, after.Token(), hold.Token())
				locktest.Unlock(t, after)
				return
			}
			locktest.Unlock(t, locktest.Granted(t, next))
			locktest.Receive(t, hold.Done())
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		})
	}
}

// A master that becomes a replica during its WAIT does not decide for the next one: a caller that may wait continues
// there.
func TestReplicas_FailoverDuringWAIT_GoesOn(t *testing.T) {
	t.Parallel()
	old, next := locktest.WithReplica(t)
	p := proxy.Start(t, old.Addr)
	e := old.OpenAt(p.Addr(), lockwheel.Options{CallTimeout: 10 * time.Second, Replicas: lockwheel.Replicas{Min: 1, Timeout: 5 * time.Second}})
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("before")))
	require.NoError(t, next.Real.Pause())
	waiting := locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.Eventually(t, "the master waits for its replica", func() bool {
		return strings.Contains(fmt.Sprint(old.Do("INFO", "clients")), "blocked_clients:1")
	})
	require.Equal(t, "OK", old.Do("REPLICAOF", "127.0.0.1", next.Real.Port()))
	require.NoError(t, next.Real.Continue())
	require.Equal(t, "OK", next.Do("REPLICAOF", "NO", "ONE"))
	locktest.Eventually(t, "the old master follows", func() bool {
		return next.Do("SET", "probe", "1") == "OK" && next.Do("WAIT", 1, 50) == int64(1)
	})
	locktest.RequireNoReply(t, waiting, 0)
	p.Retarget(next.Addr)
	p.Cut()
	hold := locktest.Granted(t, waiting)
	require.Equal(t, map[string]string{hold.ID(): "1"}, next.Hash("n"))
	require.Equal(t, map[string]string{hold.ID(): "1"}, old.Hash("n"), "its replica now")
	locktest.Unlock(t, hold) // it is released once more a CallTimeout later, which this test does not wait for
}

// Without replicas one script grants several locks as one; with replicas each of them must be replicated, too.
func TestReplication_MultiMissing_Undone(t *testing.T) {
	t.Parallel()
	master, replica := locktest.WithReplica(t)
	e := master.Open(locktest.Twice)
	m := locktest.Multi(e, "a", "b", "c")
	hold := lockReplicated(t, m)
	for _, name := range []string{"a", "b", "c"} {
		require.Len(t, replica.Hash(name), 1, "granted, so it is there")
	}
	locktest.Unlock(t, hold)
	require.NoError(t, replica.Real.Pause())
	_, err := m.TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotReplicated)
	locktest.Eventually(t, "all to be undone", func() bool { return !master.Exists("a") && !master.Exists("b") && !master.Exists("c") })
	require.NoError(t, replica.Real.Continue())
	locktest.Unlock(t, lockReplicated(t, m))
	locktest.RequireIdle(t, e)
}

// A call for several locks waits for replicas once, whether or not it may wait for other holders.
func TestMulti_TooFewReplicas_AskedOnce(t *testing.T) {
	t.Parallel()
	master := locktest.RealServer(t)
	e := master.Open(lockwheel.Options{Replicas: lockwheel.Replicas{Min: 1, Timeout: 20 * time.Millisecond}})
	for _, names := range [][]string{{"a"}, {"a", "b"}} {
		m := locktest.Multi(e, names...)
		for what, lock := range map[string]func(context.Context, ...lockwheel.Option) (*lockwheel.Hold, error){"Lock": m.Lock, "TryLock": m.TryLock} {
			before := master.Real.CommandCalls(t, "wait")
			_, err := lock(t.Context())
			require.ErrorIs(t, err, lockwheel.ErrNotReplicated)
			require.Equal(t, before+1, master.Real.CommandCalls(t, "wait"), "%s of %v", what, names)
		}
	}
	locktest.RequireIdle(t, e)
}
