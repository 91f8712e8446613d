package topology_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// moveTo exchanges the roles of master and replica, and leads new connections through the proxy to the new master.
func moveTo(t *testing.T, p *proxy.Proxy, replica, master *locktest.Server) {
	t.Helper()
	locktest.Eventually(t, "the replica has caught up", func() bool { return master.Do("WAIT", 1, 50) == int64(1) && inSync(replica) })
	p.Retarget(replica.Addr)
	require.Equal(t, "OK", replica.Do("REPLICAOF", "NO", "ONE"))
	require.Equal(t, "OK", master.Do("REPLICAOF", "127.0.0.1", replica.Real.Port()))
}

func inSync(replica *locktest.Server) bool {
	told, _ := replica.Do("INFO", "replication").(string)
	return strings.Contains(told, "master_link_status:up")
}

// fastFailover has a renewal interval so short that the engine soon notices that a server is no longer the master.
var fastFailover = lockwheel.Options{Lease: 9 * time.Second, RenewInterval: 500 * time.Millisecond, CallTimeout: time.Second}

// The engine finds the next master at the address of the previous one, and back again. Locks are granted there, holds
// continue, and waiters are woken.
func TestDemoted_NextMasterSameAddress_Found(t *testing.T) {
	t.Parallel()
	master, replica := locktest.WithReplica(t)
	p := proxy.Start(t, master.Addr)
	e := master.OpenAt(p.Addr(), fastFailover)
	hold := locktest.Lock(t, e.Mutex("held"))
	master.HoldAsOther("taken", time.Hour)
	waiting := locktest.Locking(t.Context(), e.Mutex("taken"))
	locktest.RequireWaiting(t, e, 1, 1)
	for range 2 {
		moveTo(t, p, replica, master)
		began := time.Now()
		got := locktest.Granted(t, locktest.Locking(t.Context(), e.Mutex("free"))) // without a Wait
		require.Less(t, time.Since(began), locktest.TestDeadline, "before the lease of a hold ends")
		require.Equal(t, 1, replica.Real.Int(t, "EXISTS", "free"))
		locktest.UnlockHold(t, got)
		locktest.Eventually(t, "who waits listens there", func() bool { return len(replica.Channels()) == 1 })
		locktest.Eventually(t, "no subscriber at the old one", func() bool { return master.Subscribers() == 0 })
		locktest.RequireRenewed(t, replica, hold)
		master, replica = replica, master
	}
	locktest.RequireNoReply(t, waiting, 10*time.Millisecond)
	master.Do("DEL", "taken")
	master.Do("PUBLISH", "redisson_lock__channel:{taken}", 0)
	locktest.UnlockHold(t, locktest.Granted(t, waiting))
	locktest.UnlockHold(t, hold)
	locktest.RequireIdle(t, e)
}

// The same with Options.Replicas, and for every kind of lock.
func TestDemoted_EveryKind_NextMasterFound(t *testing.T) {
	t.Parallel()
	for name, mutex := range locktest.Grantable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			master, replica := locktest.WithReplica(t)
			p := proxy.Start(t, master.Addr)
			plain := master.OpenAt(p.Addr(), fastFailover)
			asking := fastFailover
			asking.Replicas.Min = 1
			asks := master.OpenAt(p.Addr(), asking)
			takes := func() {
				locktest.Eventually(t, "a grant that the replica has", func() bool {
					hold, err := mutex(asks, "n").Lock(t.Context(), lockwheel.Wait(locktest.TestDeadline))
					if err == nil {
						locktest.UnlockHold(t, hold) // on a connection that may lead to the old master
					} else {
						require.ErrorIs(t, err, lockwheel.ErrNotReplicated) // the replica follows a little later
					}
					return err == nil
				})
			}
			locktest.UnlockHold(t, locktest.Lock(t, mutex(plain, "n")))
			takes()
			moveTo(t, p, replica, master)
			takes()
			locktest.UnlockHold(t, locktest.Lock(t, mutex(plain, "n")))
			locktest.RequireIdle(t, asks)
			locktest.RequireIdle(t, plain)
			require.False(t, replica.Exists("n"), "what was granted is released at the next master")
		})
	}
}

// The engine reconnects less and less often to an address that permanently leads to a replica.
func TestDemoted_StaysReplica_PausesGrow(t *testing.T) {
	t.Parallel()
	_, replica := locktest.WithReplica(t)
	p := proxy.Start(t, replica.Addr)
	const timeout = 200 * time.Millisecond
	said := make(locktest.LogLines, 100)
	e := replica.OpenAt(p.Addr(), lockwheel.Options{Lease: time.Minute, CallTimeout: timeout, Notify: lockwheel.Poll, Logger: slog.New(slog.NewTextHandler(said, nil))})
	waiting := locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.Queued(t, e, 1)
	opened := p.Accepted()
	ended, rounds := 0, 0
	for ; ended < 2 && rounds < 3; rounds++ { // more than one where the machine stood still
		locktest.Pause(t.Context(), 18*timeout)
		for len(said) > 0 {
			if line := <-said; strings.Contains(line, `level=WARN msg="lockwheel: the server is a replica; connecting to its address again"`) {
				ended++ // and not because a busy machine did not reply
			}
		}
	}
	require.GreaterOrEqual(t, ended, 2)
	require.LessOrEqual(t, ended, 5+3*(rounds-1), "after 1, 2, 4 and 8 Timeouts, and what goes by between two tries")
	locktest.Eventually(t, "a connection for each that was ended", func() bool { return p.Accepted()-opened >= ended })
	require.Equal(t, "OK", replica.Do("REPLICAOF", "NO", "ONE"))
	locktest.UnlockHold(t, locktest.Granted(t, waiting))
}

// The engine keeps the connections of a caller's client: others use them.
func TestDemoted_CallersClient_NotClosed(t *testing.T) {
	t.Parallel()
	master, replica := locktest.WithReplica(t)
	p := proxy.Start(t, master.Addr)
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{p.Addr()}, ForceSingleClient: true, DisableCache: true, DisableRetry: true, PipelineMultiplex: -1,
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	e := locktest.OpenRetrying(t, lockwheel.Options{Client: client, CallTimeout: time.Second, Notify: lockwheel.Poll})
	locktest.UnlockHold(t, locktest.Lock(t, e.Mutex("n")))
	connections := p.Accepted()
	moveTo(t, p, replica, master)
	locktest.Eventually(t, "told why", func() bool { // after CallTimeout the engine would close its own connections
		_, err := e.Mutex("n").Lock(t.Context(), lockwheel.Wait(2*time.Second))
		require.ErrorIs(t, err, lockwheel.ErrUnavailable)
		return strings.Contains(err.Error(), "READONLY")
	})
	require.Equal(t, connections, p.Accepted())
	master.Do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") // as the caller must do
	locktest.UnlockHold(t, locktest.Lock(t, e.Mutex("n")))
}
