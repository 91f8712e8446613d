package peers

import (
	"context"
	"math"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// Redsync is go-redsync on one server.
var Redsync = ContestantSpec{
	Name:   "redsync",
	Module: "github.com/go-redsync/redsync/v4",
	Settings: "one pool: go-redis as for redislock; WithRetryDelay 1 ms (its 50 to 250 ms would leave a contended lock idle), " +
		"WithTries without bound. No renewal",
	open: openRedsync,
}

type redsyncs struct {
	redis   []*redis.Client
	sync    *redsync.Redsync
	options []redsync.Option
}

func openRedsync(c Config) (Contestant, error) { return openRedsyncOn(c, c.Addr), nil }

// OpenRedsyncQuorum connects redsync to several servers, a majority of which grants a lock.
func OpenRedsyncQuorum(c Config, addrs ...string) (Contestant, error) {
	r := openRedsyncOn(c, addrs...)
	// A queue of callers is no failure of a server, as for the others: its own factor allows a reply 1.5 s.
	r.options = append(r.options, redsync.WithTimeoutFactor(replyTimeout.Seconds()/c.lease().Seconds()))
	return r, nil
}

func openRedsyncOn(c Config, addrs ...string) *redsyncs {
	r := &redsyncs{options: []redsync.Option{
		redsync.WithExpiry(c.lease()), redsync.WithRetryDelay(pollInterval), redsync.WithTries(math.MaxInt),
	}}
	var pools []redsyncredis.Pool
	for _, addr := range addrs {
		c.Addr = addr
		client := openGoRedis(c)
		r.redis, pools = append(r.redis, client), append(pools, goredis.NewPool(client))
	}
	r.sync = redsync.New(pools...)
	return r
}

func (r *redsyncs) Close() {
	for _, client := range r.redis {
		client.Close()
	}
}

func (r *redsyncs) Worker(name string, _ int) Worker {
	return redsyncWorker{r.sync.NewMutex(name, r.options...)}
}

type redsyncWorker struct{ mutex *redsync.Mutex }

func (w redsyncWorker) Lock(ctx context.Context) error { return w.mutex.LockContext(ctx) }

func (w redsyncWorker) Unlock() error {
	_, err := w.mutex.Unlock()
	return err
}
