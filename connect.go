package lockwheel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/engine"
)

const (
	// mostRedirections is how often rueidis itself follows MOVED and ASK for one call.
	mostRedirections = 5
	// leastPool is how many connections of their own an engine needs to a master: a subscriber has one and takes another before it lets
	// go of that, and with Options.Replicas there are two more. Without them it would wait for itself for ever.
	leastPool = 4
	// topologyRefresh is how often rueidis asks a cluster for its nodes, in case an old answer was the last. Sentinels are asked
	// when the connection to one of them ends, and otherwise tell: asked at intervals, while the master that they name is down or is none,
	// rueidis 1.0.79 starts goroutines and connections with each question, which all go on asking.
	topologyRefresh = 5 * time.Second
)

var (
	errNoAnswer  = errors.New("no answer within Options.Timeout")
	errNoCluster = errors.New("a server that is no node of a cluster")
)

// connect returns a client and its server, which has answered, and what ends its connections.
func connect(ctx context.Context, options *Options) (client rueidis.Client, server *engine.Server, leaves *closing, err error) {
	// rueidis takes no context here: if ctx ends first, the connection that is being made is closed.
	o := newOpening(ctx, options.Timeout)
	succeeded := false
	defer func() {
		o.end()
		if !succeeded { // rueidis goes on connecting to nodes of a cluster for a while
			o.closing.cut()
		}
	}()
	client, server, err = reach(ctx, options, o)
	switch {
	case err == nil:
		succeeded = true
		if options.Client == nil {
			server.Redials(o.closing.redial)
		}
	case ctx.Err() != nil:
		err = context.Cause(ctx) // what else went wrong came of that
	default:
		err = engine.OfNoContext(err)
	}
	return client, server, o.closing, err
}

// reach connects to the server, to a cluster by whichever of the addresses is a node that knows of slots: rueidis takes what the first
// says that it connects to, which may be one that has lost its disk.
func reach(ctx context.Context, options *Options, o *opening) (rueidis.Client, *engine.Server, error) {
	client, server, err := meet(ctx, options, o, false)
	if options.Client != nil || len(options.Redis.InitAddress) < 2 || !engine.Uncharted(err) {
		return client, server, err
	}
	for _, address := range options.Redis.InitAddress {
		o.closing.redial() // what the last attempt left behind
		alone := *options
		alone.Redis.InitAddress = []string{address}
		if client, server, failed := meet(ctx, &alone, o, true); failed == nil {
			return client, server, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, nil, err
}

// meet opens a client and greets its server, which is to be a cluster's if that is said.
func meet(ctx context.Context, options *Options, o *opening, cluster bool) (client rueidis.Client, server *engine.Server, err error) {
	if client, err = dial(options, o); err != nil {
		return nil, nil, err
	}
	if cluster && client.Mode() != rueidis.ClientModeCluster {
		client.Close()
		return nil, nil, errNoCluster
	}
	server, err = greet(ctx, client, options)
	return client, server, err
}

// dial opens a client with one ordered connection and the engine's timeouts, unless the caller brought one.
func dial(options *Options, o *opening) (rueidis.Client, error) {
	if options.Client != nil {
		return options.Client, nil
	}
	redis := options.Redis
	// With several connections an older command could run after a newer one.
	redis.PipelineMultiplex = -1
	redis.DisableAutoPipelining = false
	redis.BlockingPipeline = 0
	redis.DisableCache = true
	redis.OnInvalidations = nil // it would be called where a connection ends, and there hold up all that waits for its answers
	if redis.BlockingPoolSize > 0 {
		redis.BlockingPoolSize = max(redis.BlockingPoolSize, leastPool)
	}
	redis.RingScaleEachConn = 0 // rueidis does not check it
	redis.DisableRetry = true
	redis.ConnLifetime = 0 // at its end calls are sent twice all the same, and we would not know
	redis.ConnWriteTimeout = options.Timeout
	redis.Dialer.Timeout = options.Timeout
	// rueidis looks as often whether anything came, pings if not, and waits a Timeout: two in all.
	redis.Dialer.KeepAlive = options.Timeout / 2
	// The same for the connection to a sentinel. Without it a silent one is never noticed, and the next master never found.
	redis.Sentinel.Dialer.Timeout = options.Timeout
	redis.Sentinel.Dialer.KeepAlive = options.Timeout / 2
	redis.DialCtxFn = o.dialer(redis)
	redis.AuthCredentialsFn = o.credentials(redis.AuthCredentialsFn)
	if redis.ClusterOption.MaxMovedRedirections == 0 {
		redis.ClusterOption.MaxMovedRedirections = mostRedirections
	}
	if redis.ClusterOption.ShardsRefreshInterval == 0 {
		redis.ClusterOption.ShardsRefreshInterval = topologyRefresh
	}
	// Locks are the master's: a replica refuses them, and behind Sentinel nobody could tell which of two nodes the master is.
	redis.SendToReplicas, redis.Standalone.ReplicaAddress, redis.ReplicaOnly = nil, nil, false
	client, err := rueidis.NewClient(redis)
	if err != nil {
		if client != nil {
			client.Close()
		}
		if err == context.DeadlineExceeded { // rueidis bounds the greeting with a context of its own
			err = errNoAnswer
		}
		return nil, fmt.Errorf("connecting to %v: %w", redis.InitAddress, withoutSecrets(err, &redis))
	}
	return client, nil
}

// greet checks that the server answers, and teaches it the scripts. It closes a client of ours on failure.
func greet(ctx context.Context, client rueidis.Client, options *Options) (*engine.Server, error) {
	server, err := engine.Meet(ctx, client, options.Timeout)
	err = withoutSecrets(err, &options.Redis)
	if err == nil && options.Client == nil {
		server.Private()
	}
	if err == nil && options.Replicas.Min > 0 {
		if err = server.AskReplicas(ctx, options.Timeout); err != nil {
			err = fmt.Errorf("Options.Replicas: the server does not answer WAIT: %w", err)
		}
	}
	if err != nil && options.Client == nil {
		client.Close()
	}
	return server, err
}
