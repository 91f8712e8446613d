package goredis_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/goredis"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

const user, password = "app", "s3cr3tPW"

// allow makes the user of these tests on servers.
func allow(t *testing.T, servers ...*redistest.Server) {
	t.Helper()
	for _, s := range servers {
		require.Equal(t, "OK", s.Do(t, "ACL", "SETUSER", user, "reset", "on", ">"+password, "~*", "&*", "+@all"))
	}
}

func open(t *testing.T, where rueidis.ClientOption) *lockwheel.Engine {
	t.Helper()
	return locktest.OpenRetrying(t, lockwheel.Options{Redis: where})
}

// requireSeen fails unless the client sees a lock while the engine has it, and only then.
func requireSeen(t *testing.T, client redis.UniversalClient, engine *lockwheel.Engine, names ...string) {
	t.Helper()
	for _, name := range names {
		hold := locktest.Lock(t, engine.Mutex(name))
		there, err := client.HExists(t.Context(), name, hold.ID()).Result()
		require.NoError(t, err)
		require.True(t, there, name)
		locktest.Unlock(t, hold)
		left, err := client.Exists(t.Context(), name).Result()
		require.NoError(t, err)
		require.Zero(t, left, name)
	}
}

// connections returns what a server knows of each connection that f makes and leaves open, by id. Sentinels and
// replicas connect when they like, so theirs do not count.
func connections(t *testing.T, s *redistest.Server, f func()) map[string]map[string]string {
	t.Helper()
	list := func() map[string]map[string]string {
		all := map[string]map[string]string{}
		for line := range strings.Lines(s.String(t, "CLIENT", "LIST")) {
			of := map[string]string{}
			for _, word := range strings.Fields(line) {
				key, value, _ := strings.Cut(word, "=")
				of[key] = value
			}
			if !strings.HasPrefix(of["name"], "sentinel-") && of["flags"] != "S" && of["cmd"] != "NULL" { // NULL: it has said nothing yet
				all[of["id"]] = of
			}
		}
		return all
	}
	before := list()
	f()
	made := list()
	maps.DeleteFunc(made, func(id string, _ map[string]string) bool { return before[id] != nil })
	return made
}

// requireAll fails unless there are connections, all of them with these properties.
func requireAll(t *testing.T, all map[string]map[string]string, want map[string]string) {
	t.Helper()
	require.NotEmpty(t, all)
	for _, of := range all {
		for key, value := range want {
			require.Equal(t, value, of[key], "%s: %v", key, of)
		}
	}
}

// requireAlike makes both connect with the same options. It fails unless all connections have these properties and the
// client sees what the engine locks.
func requireAlike(t *testing.T, s *redistest.Server, o *redis.Options, want map[string]string) {
	t.Helper()
	var client *redis.Client
	var engine *lockwheel.Engine
	requireAll(t, connections(t, s, func() {
		client = redis.NewClient(o)
		t.Cleanup(func() { client.Close() })
		require.NoError(t, client.Ping(t.Context()).Err())
	}), want)
	requireAll(t, connections(t, s, func() {
		where, err := goredis.Options(o)
		require.NoError(t, err)
		engine = open(t, where)
		waits := locktest.Lock(t, engine.Mutex("waited for")) // so that the engine also subscribes
		waiting := locktest.Locking(t.Context(), open(t, where).Mutex("waited for"))
		locktest.Eventually(t, "a waiter that listens", func() bool { return s.Int(t, "PUBSUB", "NUMPAT")+len(s.Strings(t, "PUBSUB", "CHANNELS")) > 0 })
		locktest.Unlock(t, waits)
		locktest.Unlock(t, locktest.Granted(t, waiting))
	}), want)
	requireSeen(t, client, engine, "orders/7", "orders/8")
}

// Both log in as the same user, to the same database and with the same name. The engine speaks RESP3, whatever go-redis
// does.
func TestOptions_UserDBName_AreTheSame(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	allow(t, s)
	for _, protocol := range []int{2, 3} {
		o := &redis.Options{Addr: s.Addr(), Username: user, Password: password, DB: 3, ClientName: "orders", Protocol: protocol}
		requireAlike(t, s, o, map[string]string{"user": user, "db": "3", "name": "orders"})
		requireAll(t, connections(t, s, func() {
			where, err := goredis.Options(o)
			require.NoError(t, err)
			open(t, where)
		}), map[string]string{"resp": "3"})
	}
}

// go-redis does not log in as a user without a password, and takes a negative database for 0.
func TestOptions_NoPassword_NoLoginInBoth(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	allow(t, s)
	requireAlike(t, s, &redis.Options{Addr: s.Addr(), Username: user, DB: -1}, map[string]string{"user": "default", "db": "0"})
}

// The name of the library is a part of the options. Servers before Redis 7.2 do not know it.
func TestOptions_Identity_IsTold(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	told := func(o redis.Options) string {
		o.Addr = s.Addr()
		where, err := goredis.Options(&o)
		require.NoError(t, err)
		for _, of := range connections(t, s, func() { open(t, where) }) {
			name, known := of["lib-name"]
			if !known {
				t.Skip("the server does not know names of libraries")
			}
			return name
		}
		require.Fail(t, "no connection")
		return ""
	}
	require.Equal(t, "rueidis", told(redis.Options{}))
	require.Equal(t, "rueidis(shop)", told(redis.Options{IdentitySuffix: "shop"}))
	require.Empty(t, told(redis.Options{IdentitySuffix: "shop", DisableIdentity: true}))
	//lint:ignore SA1019 go-redis still uses it
	require.Empty(t, told(redis.Options{DisableIndentity: true}))
}

func TestOptions_WrongPassword_BothFail(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	allow(t, s)
	o := &redis.Options{Addr: s.Addr(), Username: user, Password: locktest.MarkedPassword + "wrong"}
	client := redis.NewClient(o)
	t.Cleanup(func() { client.Close() })
	require.ErrorContains(t, client.Ping(t.Context()).Err(), "WRONGPASS")
	requireOpenFails(t, o, "WRONGPASS")
}

// requireOpenFails fails unless Open fails with an error that contains a text and no secret.
func requireOpenFails(t *testing.T, o *redis.Options, text string) {
	t.Helper()
	where, err := goredis.Options(o)
	require.NoError(t, err)
	requireNotOpened(t, where, text)
}

func requireNotOpened(t *testing.T, where rueidis.ClientOption, text string) {
	t.Helper()
	_, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: where, CallTimeout: 10 * time.Second})
	require.ErrorContains(t, err, text)
	require.NotContains(t, err.Error(), locktest.MarkedPassword)
}

// With TLS both show their certificate and check the server's. Without it neither connects.
func TestOptions_TLS_UsedByBoth(t *testing.T) {
	t.Parallel()
	ca := locktest.ServerCA(t)
	s := redistest.Start(t, ca.Secured()...)
	o := &redis.Options{Addr: s.SecureAddr(), TLSConfig: ca.Client(), DB: 1}
	requireAlike(t, s, o, map[string]string{"db": "1"})
	o.TLSConfig = ca.Client()
	o.TLSConfig.ServerName = "" // then it is the host of the address
	requireAlike(t, s, o, nil)

	unknown := ca.Client()
	unknown.RootCAs = x509.NewCertPool()
	o.TLSConfig, o.MaxRetries, o.DialerRetries = unknown, -1, 1
	client := redis.NewClient(o)
	t.Cleanup(func() { client.Close() })
	require.ErrorContains(t, client.Ping(t.Context()).Err(), "certificate")
	requireOpenFails(t, o, "certificate")
}

// A unix socket is named by its network or by its path alone.
func TestOptions_UnixSocket_UsedByBoth(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "s") // a path of a socket has about 100 bytes at most
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(folder) })
	socket := filepath.Join(folder, "s")
	s := redistest.Start(t, "--unixsocket", socket)
	for _, network := range []string{"", "unix"} {
		requireAlike(t, s, &redis.Options{Network: network, Addr: socket}, map[string]string{"addr": socket + ":0"})
	}
}

// A Dialer makes all connections and gets the network and the address. As for go-redis, TLS is then its own matter.
func TestOptions_Dialer_MakesConnections(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	var calls atomic.Int64
	o := &redis.Options{Network: "made up", Addr: "locks.example", TLSConfig: &tls.Config{ServerName: "not used"}}
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if network != "made up" || addr != "locks.example" {
			return nil, errors.New("other arguments")
		}
		calls.Add(1)
		return (&net.Dialer{}).DialContext(ctx, "tcp", s.Addr())
	}
	client := redis.NewClient(o)
	t.Cleanup(func() { client.Close() })
	require.NoError(t, client.Ping(t.Context()).Err())
	before := calls.Load()
	where, err := goredis.Options(o)
	require.NoError(t, err)
	engine := open(t, where)
	require.Greater(t, calls.Load(), before)
	requireSeen(t, client, engine, "orders/7")

	o = &redis.Options{Network: "tcp4", Addr: strings.Replace(s.Addr(), "127.0.0.1", "localhost", 1)}
	requireAlike(t, s, o, nil)
	o.Network = "tcp6"
	o.Addr = s.Addr()
	requireOpenFails(t, o, "no suitable address")
}
