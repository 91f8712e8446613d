package goredis_test

import (
	"context"
	"errors"
	"net"
	"reflect"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/goredis"
)

// requireSame fails unless two results are the same, as far as that can be seen of functions.
func requireSame(t *testing.T, want, got rueidis.ClientOption) {
	t.Helper()
	require.Empty(t, differs(reflect.ValueOf(want), reflect.ValueOf(got)))
}

// redis.NewClusterClient fills in the struct that it gets, and the options that a client returns are filled in, too.
func TestOptions_FilledIn_SameResult(t *testing.T) {
	t.Parallel()
	nodes := &redis.ClusterOptions{Addrs: []string{"127.0.0.1:7001"}, Username: "app", Password: "secret"}
	before, err := goredis.ClusterOptions(nodes)
	require.NoError(t, err)
	client := redis.NewClusterClient(nodes)
	t.Cleanup(func() { client.Close() })
	require.NotNil(t, nodes.NewClient)
	for _, o := range []*redis.ClusterOptions{nodes, client.Options()} {
		after, err := goredis.ClusterOptions(o)
		require.NoError(t, err)
		requireSame(t, before, after)
	}

	alone := &redis.Options{Addr: "127.0.0.1:7001", Username: "app", Password: "secret", DB: 2}
	before, err = goredis.Options(alone)
	require.NoError(t, err)
	simple := redis.NewClient(alone)
	t.Cleanup(func() { simple.Close() })
	after, err := goredis.Options(simple.Options())
	require.NoError(t, err)
	require.NotNil(t, after.DialCtxFn, "go-redis's own dialer")
	after.DialCtxFn = nil
	requireSame(t, before, after)
}

// UniversalOptions chooses among the others as redis.NewUniversalClient does, and leaves its argument as it is.
func TestUniversal_Each_LikeItsClient(t *testing.T) {
	t.Parallel()
	one, two := []string{"127.0.0.1:7001"}, []string{"127.0.0.1:7001", "127.0.0.1:7002"}
	for name, o := range map[string]redis.UniversalOptions{
		"nothing":                 {},
		"an address":              {Addrs: one, DB: 3, Password: "secret"},
		"a socket":                {Addrs: []string{"/run/redis.sock"}},
		"addresses":               {Addrs: two, DB: 3, Password: "secret", ReadOnly: true},
		"a cluster's address":     {Addrs: one, IsClusterMode: true},
		"a cluster's":             {IsClusterMode: true},
		"sentinels":               {Addrs: two, MasterName: "locks", DB: 3, SentinelPassword: "secret"},
		"sentinels, reads spread": {Addrs: one, MasterName: "locks", RouteRandomly: true, ReadOnly: true},
		"sentinels as a cluster":  {MasterName: "locks", IsClusterMode: true, DB: 3, ReadOnly: true},
	} {
		given := o
		var want rueidis.ClientOption
		var err error
		client := redis.NewUniversalClient(&o)
		switch other := given; client.(type) {
		case *redis.ClusterClient:
			if o.MasterName != "" {
				want, err = goredis.FailoverOptions(func() *redis.FailoverOptions {
					f := other.Failover()
					f.RouteRandomly = true
					return f
				}())
			} else {
				want, err = goredis.ClusterOptions(other.Cluster())
			}
		default:
			if o.MasterName != "" {
				want, err = goredis.FailoverOptions(other.Failover())
			} else {
				want, err = goredis.Options(other.Simple())
			}
		}
		require.NoError(t, err, name)
		require.NoError(t, client.Close())
		untouched := given
		untouched.Addrs = slices.Clone(given.Addrs)
		got, err := goredis.UniversalOptions(&given)
		require.NoError(t, err, name)
		require.Empty(t, differs(reflect.ValueOf(want), reflect.ValueOf(got)), name)
		got.InitAddress[0] = "changed"
		require.Equal(t, untouched.Addrs, given.Addrs, name)
	}
}

// The name of the library has the suffix that go-redis would add, whatever server it is told to.
func TestOptions_Identity_InSetInfo(t *testing.T) {
	t.Parallel()
	name := func(o redis.Options) []string {
		where, err := goredis.Options(&o)
		require.NoError(t, err)
		return where.ClientSetInfo
	}
	require.Empty(t, name(redis.Options{}), "that of rueidis")
	require.Equal(t, []string{rueidis.LibName + "(shop)", rueidis.LibVer}, name(redis.Options{IdentitySuffix: "shop"}))
	require.Equal(t, rueidis.DisableClientSetInfo, name(redis.Options{IdentitySuffix: "shop", DisableIdentity: true}))
}

// handshaken is a connection that counts its handshakes.
type handshaken struct {
	net.Conn
	times int
}

func (c *handshaken) HandshakeContext(context.Context) error {
	c.times++
	return errHandshake
}

var errHandshake = errors.New("no certificate")

// What a Dialer returns for a sentinel is used as it is: its handshake is that of the connection, no connection is
// none, and an error is the error.
func TestSentinel_Dialer_ResultKept(t *testing.T) {
	t.Parallel()
	made := &handshaken{}
	for _, c := range []struct {
		conn net.Conn
		err  error
	}{{made, nil}, {nil, nil}, {nil, errHandshake}} {
		where, err := goredis.FailoverOptions(&redis.FailoverOptions{
			MasterName: "locks", SentinelAddrs: []string{"127.0.0.1:1"}, CredentialsProvider: func() (string, string) { return "", "" },
			Dialer: func(context.Context, string, string) (net.Conn, error) { return c.conn, c.err },
		})
		require.NoError(t, err)
		for _, d := range []*net.Dialer{&where.Sentinel.Dialer, &where.Dialer} {
			conn, err := where.DialCtxFn(t.Context(), "127.0.0.1:1", d, nil)
			require.Equal(t, c.err, err)
			if c.conn == nil {
				require.Nil(t, conn)
				continue
			}
			secure, ok := conn.(interface{ HandshakeContext(context.Context) error })
			require.True(t, ok)
			require.ErrorIs(t, secure.HandshakeContext(t.Context()), errHandshake)
		}
	}
	require.Equal(t, 2, made.times)
}

// Each field that is wrong is in the error, in the words of the struct that the program has.
func TestOptions_Rejected_AllAreNamed(t *testing.T) {
	t.Parallel()
	failing := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "locks", SentinelAddrs: []string{"127.0.0.1:1"}})
	t.Cleanup(func() { failing.Close() })
	wrong := map[error][]string{
		second(goredis.Options(nil)):          {"redis.Options is nil"},
		second(goredis.ClusterOptions(nil)):   {"redis.ClusterOptions is nil"},
		second(goredis.FailoverOptions(nil)):  {"redis.FailoverOptions is nil"},
		second(goredis.UniversalOptions(nil)): {"redis.UniversalOptions is nil"},

		second(goredis.Options(failing.Options())):                                                     {"redis.Options.Addr: "},
		second(goredis.Options(&redis.Options{Protocol: 4, Limiter: limiter{}})):                       {"redis.Options.Protocol: ", "redis.Options.Limiter: "},
		second(goredis.ClusterOptions(&redis.ClusterOptions{})):                                        {"redis.ClusterOptions.Addrs: "},
		second(goredis.ClusterOptions(&redis.ClusterOptions{NewClient: newNode})):                      {"redis.ClusterOptions.NewClient: ", "redis.ClusterOptions.Addrs: "},
		second(goredis.FailoverOptions(&redis.FailoverOptions{ReplicaOnly: true})):                     {"MasterName: ", "SentinelAddrs: ", "ReplicaOnly: "},
		second(goredis.UniversalOptions(&redis.UniversalOptions{Protocol: 4})):                         {"redis.UniversalOptions.Protocol: "},
		second(goredis.UniversalOptions(&redis.UniversalOptions{MasterName: "locks", ReadOnly: true})): {"redis.UniversalOptions.ReadOnly: "},
	}
	require.Len(t, wrong, 11)
	for err, names := range wrong {
		for _, name := range names {
			require.ErrorContains(t, err, "goredis: ")
			require.ErrorContains(t, err, name)
		}
	}
}

func newNode(o *redis.Options) *redis.Client { return redis.NewClient(o) }

func second(_ rueidis.ClientOption, err error) error { return err }
