package peers

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// Redislock is bsm/redislock.
var Redislock = ContestantSpec{
	Name:   "redislock",
	Module: "github.com/bsm/redislock",
	Settings: "go-redis with a connection for each goroutine, at most 256, open from the start; LinearBackoff 1 ms. " +
		"No renewal",
	open: openRedislock,
}

type bsm struct {
	redis  *redis.Client
	locks  *redislock.Client
	lease  time.Duration
	option *redislock.Options
}

func openRedislock(c Config) (Contestant, error) {
	client := openGoRedis(c)
	options := &redislock.Options{RetryStrategy: redislock.LinearBackoff(pollInterval)}
	return &bsm{client, redislock.New(client), c.Lease, options}, nil
}

func (b *bsm) Close() { b.redis.Close() }

func (b *bsm) Worker(name string, _ int) Worker { return &bsmWorker{bsm: b, name: name} }

type bsmWorker struct {
	*bsm
	name string
	lock *redislock.Lock
}

func (w *bsmWorker) Lock(ctx context.Context) (err error) {
	w.lock, err = w.locks.Obtain(ctx, w.name, w.lease, w.option)
	return err
}

func (w *bsmWorker) Unlock() error { return w.lock.Release(context.Background()) }
