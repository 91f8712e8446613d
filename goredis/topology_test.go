package goredis_test

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/goredis"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// Both find all nodes of a cluster from one of them, encrypted and as a user, and agree on which node has a lock.
func TestCluster_TLSAndUser_LocksSeen(t *testing.T) {
	t.Parallel()
	ca := locktest.ServerCA(t)
	nodes := redistest.StartClusterOf(t, 3, 0, func() []string { return append(ca.Secured(), "--tls-cluster", "yes") })
	allow(t, nodes.Nodes...)
	o := &redis.ClusterOptions{
		Addrs: []string{nodes.Nodes[0].SecureAddr()}, TLSConfig: ca.Client(),
		Username: user, Password: password, ClientName: "orders", ReadOnly: true, RouteRandomly: true,
	}
	client := redis.NewClusterClient(o)
	t.Cleanup(func() { client.Close() })
	where, err := goredis.ClusterOptions(o)
	require.NoError(t, err)
	requireSeen(t, client, open(t, where), nodes.SpreadKeys("n", 30)...)
	for _, s := range nodes.Nodes {
		require.NotZero(t, s.CommandCalls(t, "evalsha"))
		list := s.String(t, "CLIENT", "LIST")
		require.NotZero(t, strings.Count(list, " name=orders "))
		for line := range strings.Lines(list) {
			if strings.Contains(line, " name=orders ") {
				require.Contains(t, line, " user="+user+" ")
			}
		}
	}

	o.Password = "wrong"
	other := redis.NewClusterClient(o)
	t.Cleanup(func() { other.Close() })
	require.ErrorContains(t, other.Ping(t.Context()).Err(), "WRONGPASS")
	where, err = goredis.ClusterOptions(o)
	require.NoError(t, err)
	requireNotOpened(t, where, "WRONGPASS")
}

// Behind Sentinel, both log in to sentinels and to servers with credentials of their own, also if those for servers
// come from a provider. They go to the next master when one dies.
func TestSentinel_Provider_FollowsTheMaster(t *testing.T) {
	t.Parallel()
	w := redistest.StartSentinels(t, 1, 1)
	allow(t, w.Servers...)
	for _, s := range w.Sentinels {
		require.Equal(t, "OK", s.Do(t, "ACL", "SETUSER", "watcher", "reset", "on", ">seen", "&*", "+@all"))
	}
	v := newVault(password)
	o := &redis.FailoverOptions{
		MasterName: w.Name, SentinelAddrs: w.Addrs(), SentinelUsername: "watcher", SentinelPassword: "seen",
		CredentialsProvider: v.get, DB: 2, ClientName: "orders",
	}
	client := redis.NewFailoverClient(o)
	t.Cleanup(func() { client.Close() })
	where, err := goredis.FailoverOptions(o)
	require.NoError(t, err)
	var made map[string]map[string]string
	engineMade := connections(t, w.Sentinels[0], func() {
		made = connections(t, w.Master(t), func() {
			requireSeen(t, client, open(t, where), "orders/7")
		})
	})
	requireAll(t, made, map[string]string{"user": user, "db": "2", "name": "orders"})
	requireAll(t, engineMade, map[string]string{"user": "watcher", "name": "orders"})
	for _, s := range w.Sentinels {
		require.Empty(t, s.Do(t, "ACL", "LOG"), "no login to a sentinel was rejected")
	}

	engine := open(t, where)
	old := w.Master(t)
	require.NoError(t, old.Kill())
	master := w.AwaitMaster(t, old)
	hold := locktest.Lock(t, engine.Mutex("orders/9"))
	locktest.CheckRange(t, 3*locktest.TestDeadline, "the client of go-redis at the next master", func() bool {
		there, err := client.HExists(t.Context(), "orders/9", hold.ID()).Result()
		return err == nil && there
	})
	require.Equal(t, "OK", master.Do(t, "SELECT", 2))
	require.Contains(t, master.Hash(t, "orders/9"), hold.ID())
	locktest.Unlock(t, hold)
}

// TLS protects connections to sentinels as well, whether it is the TLSConfig or a Dialer that leaves the handshake to
// the first write. The provider's credentials are for servers alone.
func TestSentinel_TLS_UsedByBoth(t *testing.T) {
	t.Parallel()
	ca := locktest.ServerCA(t)
	w := redistest.StartSentinelsOf(t, 0, 1, ca.Secured)
	allow(t, w.Servers...)
	secured := redis.FailoverOptions{
		MasterName: w.Name, SentinelAddrs: []string{w.Sentinels[0].SecureAddr()},
		CredentialsProvider: newVault(password).get, TLSConfig: ca.Client(),
	}
	dialled := secured
	dialled.TLSConfig = nil
	dialled.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return tls.Client(conn, ca.Client()), nil
	}
	for _, o := range []redis.FailoverOptions{secured, dialled} {
		client := redis.NewFailoverClient(&o)
		t.Cleanup(func() { client.Close() })
		where, err := goredis.FailoverOptions(&o)
		require.NoError(t, err)
		requireSeen(t, client, open(t, where), "orders/7")
		require.Empty(t, w.Sentinels[0].Do(t, "ACL", "LOG"), "no login to a sentinel was rejected")
	}
}

// The password of sentinels is checked there, and that of servers at these.
func TestSentinel_WrongPassword_BothFail(t *testing.T) {
	t.Parallel()
	w := redistest.StartSentinels(t, 0, 1)
	allow(t, w.Servers...)
	allow(t, w.Sentinels...)
	right := redis.UniversalOptions{
		MasterName: w.Name, Addrs: w.Addrs(), DB: 1,
		SentinelUsername: user, SentinelPassword: password, Username: user, Password: password,
	}
	client := redis.NewUniversalClient(&right)
	t.Cleanup(func() { client.Close() })
	where, err := goredis.UniversalOptions(&right)
	require.NoError(t, err)
	requireSeen(t, client, open(t, where), "orders/7")

	forSentinel, forServer := right, right
	forSentinel.SentinelPassword, forServer.Password = "wrong", "wrong"
	for _, wrong := range []redis.UniversalOptions{forSentinel, forServer} {
		client := redis.NewUniversalClient(&wrong)
		t.Cleanup(func() { client.Close() })
		require.Error(t, client.Ping(t.Context()).Err())
		where, err := goredis.UniversalOptions(&wrong)
		require.NoError(t, err)
		requireNotOpened(t, where, "WRONGPASS")
	}
}
