package peers

import (
	"context"
	"math"

	"github.com/go-redsync/redsync/v4"
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
	redis  *redis.Client
	sync   *redsync.Redsync
	config Config
}

func openRedsync(c Config) (Contestant, error) {
	client := openGoRedis(c)
	return &redsyncs{client, redsync.New(goredis.NewPool(client)), c}, nil
}

func (r *redsyncs) Close() { r.redis.Close() }

func (r *redsyncs) Worker(name string, _ int) Worker {
	return redsyncWorker{r.sync.NewMutex(name,
		redsync.WithExpiry(r.config.Lease),
		redsync.WithRetryDelay(pollInterval),
		redsync.WithTries(math.MaxInt),
	)}
}

type redsyncWorker struct{ mutex *redsync.Mutex }

func (w redsyncWorker) Lock(ctx context.Context) error { return w.mutex.LockContext(ctx) }

func (w redsyncWorker) Unlock() error {
	_, err := w.mutex.Unlock()
	return err
}
