// Package goredis turns options of go-redis into those of lockwheel, so that a program that already uses go-redis
// says once where its server is:
//
//	redisOptions := &redis.Options{Addr: "10.0.0.1:6379", Username: "app", Password: secret}
//	values := redis.NewClient(redisOptions)
//
//	where, err := goredis.Options(redisOptions)
//	if err != nil {
//		return err
//	}
//	locks, err := lockwheel.Open(ctx, lockwheel.Options{Redis: where})
//
// Only the options are shared. The engine has connections of its own, made with rueidis, and neither hooks of the
// go-redis client nor its closing have an effect on it.
//
// Each exported field of the structs of go-redis belongs to one of three groups, which docs/goredis.md lists:
//
//   - It is carried over: the address, the user, the database, TLS, a dialer.
//   - It is rejected if it is set, because the program would do something else without it: OnConnect, ClusterSlots.
//     The error names the field and never its value.
//   - It is ignored, because it has no meaning for locks, or because the engine decides this itself: all timeouts,
//     retries and pool sizes.
//
// The result does not depend on whether go-redis has filled in its defaults in the struct before, as
// redis.NewClusterClient does. Only the Dialer of a client's Options() counts as one of the program: an engine does not
// know where it leads, so a Quorum cannot tell that two of its servers are one.
//
// No function of this package connects to a server, blocks or changes what it is given. The functions may be called
// concurrently. Slices are copied; a TLSConfig and functions are shared with the result. A result with a
// StreamingCredentialsProvider subscribes once, with its first connection. The garbage collector unsubscribes when
// nothing can use the result any more.
package goredis

import (
	"crypto/tls"
	"errors"
	"reflect"
	"slices"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

const (
	// defaultAddr is what redis.Options connects to without an Addr.
	defaultAddr = "localhost:6379"
	// failoverAddr is the Addr in the options of a client that redis.NewFailoverClient made.
	failoverAddr = "FailoverClient"
)

// Options turns the options of redis.NewClient into those of an engine on one server, for lockwheel.Options.Redis. As
// with go-redis, a node of a cluster is used as if it were alone: use [ClusterOptions] for a cluster.
//
// On failure the result is the zero value, and the error names each field that cannot be carried over, but no value.
// A nil o is an error. Options does not reject an address that cannot be dialled; lockwheel.Open does.
func Options(o *redis.Options) (rueidis.ClientOption, error) {
	if o == nil {
		return rueidis.ClientOption{}, errors.New("goredis: redis.Options is nil")
	}
	return single(o, &fields{of: "redis.Options"})
}

// ClusterOptions turns the options of redis.NewClusterClient into those of an engine on a cluster, for
// lockwheel.Options.Redis. With one address of a server that is in no cluster, the engine uses that server alone,
// where go-redis fails.
//
// On failure the result is the zero value, and the error names each field that cannot be carried over, but no value.
// A nil o is an error, and so is an o without Addrs.
func ClusterOptions(o *redis.ClusterOptions) (rueidis.ClientOption, error) {
	if o == nil {
		return rueidis.ClientOption{}, errors.New("goredis: redis.ClusterOptions is nil")
	}
	return cluster(o, &fields{of: "redis.ClusterOptions"})
}

// FailoverOptions turns the options of redis.NewFailoverClient and of redis.NewFailoverClusterClient into those of an
// engine that follows the master that sentinels name, for lockwheel.Options.Redis.
//
// On failure the result is the zero value, and the error names each field that cannot be carried over, but no value.
// A nil o is an error, and so is an o without MasterName or SentinelAddrs.
func FailoverOptions(o *redis.FailoverOptions) (rueidis.ClientOption, error) {
	if o == nil {
		return rueidis.ClientOption{}, errors.New("goredis: redis.FailoverOptions is nil")
	}
	// redis.NewFailoverClient panics with these two, so the client is one that sends reads alone to replicas.
	readsOnly := o.RouteByLatency || o.RouteRandomly
	return failover(o, readsOnly, &fields{of: "redis.FailoverOptions"})
}

// UniversalOptions turns the options of redis.NewUniversalClient into those of an engine, for
// lockwheel.Options.Redis. It decides as that function does: with a MasterName for sentinels, with several Addrs or
// IsClusterMode for a cluster, otherwise for one server.
//
// On failure the result is the zero value, and the error names each field that cannot be carried over, but no value.
// A nil o is an error.
func UniversalOptions(o *redis.UniversalOptions) (rueidis.ClientOption, error) {
	if o == nil {
		return rueidis.ClientOption{}, errors.New("goredis: redis.UniversalOptions is nil")
	}
	given := *o // the methods below set Addrs if there are none
	f := &fields{of: "redis.UniversalOptions", names: map[string]string{
		"Addr": "Addrs", "SentinelAddrs": "Addrs", "ReplicaOnly": "ReadOnly",
	}}
	switch {
	case given.MasterName != "":
		return failover(given.Failover(), given.RouteByLatency || given.RouteRandomly || given.IsClusterMode, f)
	case len(given.Addrs) > 1 || given.IsClusterMode:
		return cluster(given.Cluster(), f)
	default:
		return single(given.Simple(), f)
	}
}

func single(o *redis.Options, f *fields) (rueidis.ClientOption, error) {
	f.reject(o.Addr == failoverAddr, "Addr", "it is of a client that redis.NewFailoverClient made; pass its redis.FailoverOptions to goredis.FailoverOptions")
	f.reject(o.Limiter != nil, "Limiter", "the engine does not call it")
	addr := o.Addr
	if addr == "" {
		addr = defaultAddr
	}
	return build(&common{
		addrs: []string{addr}, network: o.Network, dialer: o.Dialer, tls: o.TLSConfig,
		onConnect: o.OnConnect != nil, protocol: o.Protocol, clientName: o.ClientName,
		//lint:ignore SA1019 go-redis still uses it
		anonymous: o.DisableIdentity || o.DisableIndentity,
		suffix:    o.IdentitySuffix,
		credentials: credentials{
			username: o.Username, password: o.Password, timeout: o.DialTimeout,
			plain: o.CredentialsProvider, withContext: o.CredentialsProviderContext, streaming: o.StreamingCredentialsProvider,
		},
	}, f, func(option *rueidis.ClientOption) {
		option.ForceSingleClient = true
		option.SelectDB = max(o.DB, 0)
	})
}

func cluster(o *redis.ClusterOptions, f *fields) (rueidis.ClientOption, error) {
	f.reject(len(o.Addrs) == 0, "Addrs", "it is empty")
	f.reject(o.ClusterSlots != nil, "ClusterSlots", "the engine asks the cluster itself for its nodes")
	// redis.NewClusterClient sets the field in the caller's struct.
	custom := o.NewClient != nil && reflect.ValueOf(o.NewClient).Pointer() != reflect.ValueOf(redis.NewClient).Pointer()
	f.reject(custom, "NewClient", "the engine does not call it to connect to nodes")
	return build(&common{
		addrs: o.Addrs, dialer: o.Dialer, tls: o.TLSConfig,
		onConnect: o.OnConnect != nil, protocol: o.Protocol, clientName: o.ClientName,
		//lint:ignore SA1019 go-redis still uses it
		anonymous: o.DisableIdentity || o.DisableIndentity,
		suffix:    o.IdentitySuffix,
		credentials: credentials{
			username: o.Username, password: o.Password, timeout: o.DialTimeout,
			plain: o.CredentialsProvider, withContext: o.CredentialsProviderContext, streaming: o.StreamingCredentialsProvider,
		},
	}, f, func(*rueidis.ClientOption) {})
}

// failover turns the options of a client behind Sentinel. readsOnly says that ReplicaOnly concerns only commands that
// read.
func failover(o *redis.FailoverOptions, readsOnly bool, f *fields) (rueidis.ClientOption, error) {
	f.reject(o.MasterName == "", "MasterName", "it is empty")
	f.reject(len(o.SentinelAddrs) == 0, "SentinelAddrs", "it is empty")
	f.reject(o.ReplicaOnly && !readsOnly, "ReplicaOnly", "only the master grants locks; clear it in a copy of the options if the engine is to use the master")
	c := &common{
		addrs: o.SentinelAddrs, dialer: o.Dialer, tls: o.TLSConfig,
		onConnect: o.OnConnect != nil, protocol: o.Protocol, clientName: o.ClientName,
		//lint:ignore SA1019 go-redis still uses it
		anonymous: o.DisableIdentity || o.DisableIndentity,
		suffix:    o.IdentitySuffix,
		credentials: credentials{
			username: o.Username, password: o.Password, timeout: o.DialTimeout,
			plain: o.CredentialsProvider, withContext: o.CredentialsProviderContext, streaming: o.StreamingCredentialsProvider,
			sentinels: true,
		},
	}
	c.credentials.sentinel.Username, c.credentials.sentinel.Password = login(o.SentinelUsername, o.SentinelPassword)
	return build(c, f, func(option *rueidis.ClientOption) {
		option.SelectDB = max(o.DB, 0)
		option.Sentinel.MasterSet = o.MasterName
		option.Sentinel.TLSConfig = o.TLSConfig
		option.Sentinel.ClientName = o.ClientName
		option.Sentinel.Username = c.credentials.sentinel.Username
		option.Sentinel.Password = c.credentials.sentinel.Password
	})
}

// common has the fields that all structs of options have and that are carried over in the same way. It does not change
// once build has returned: the functions in the result read it.
type common struct {
	addrs       []string
	network     string // "": by the address
	dialer      dialFunc
	tls         *tls.Config
	onConnect   bool
	protocol    int // an engine speaks RESP3, whatever it is
	clientName  string
	anonymous   bool   // no CLIENT SETINFO
	suffix      string // of the library's name
	credentials credentials
}

// build returns the options for c, completed by own. If a field is rejected, it returns the error instead.
func build(c *common, f *fields, own func(*rueidis.ClientOption)) (rueidis.ClientOption, error) {
	f.reject(c.onConnect, "OnConnect", "the engine's connections do not call it")
	f.reject(c.protocol > 3, "Protocol", "it is neither 2 nor 3")
	if err := f.err(); err != nil {
		return rueidis.ClientOption{}, err
	}
	option := rueidis.ClientOption{
		InitAddress: slices.Clone(c.addrs),
		TLSConfig:   c.tls,
		ClientName:  c.clientName,
	}
	switch {
	case c.anonymous:
		option.ClientSetInfo = rueidis.DisableClientSetInfo
	case c.suffix != "":
		option.ClientSetInfo = []string{rueidis.LibName + "(" + c.suffix + ")", rueidis.LibVer}
	}
	c.credentials.apply(&option)
	c.applyDialer(&option)
	own(&option)
	return option, nil
}
