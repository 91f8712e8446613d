package peers

import "github.com/redis/go-redis/v9"

// openGoRedis opens the client for redislock and redsync. It sends one command at a time on a connection, so the pool
// is what lets callers work at once.
func openGoRedis(c Config) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:         c.Addr,
		PoolSize:     c.pool(),
		MinIdleConns: c.pool(),
		PoolTimeout:  3 * replyTimeout,
		ReadTimeout:  replyTimeout,
		WriteTimeout: replyTimeout,
	})
}
