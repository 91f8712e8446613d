package bench

import (
	"context"
	"strconv"

	"github.com/redis/rueidis"
)

// The single-lock scripts of the baseline: as few calls as a lock that wakes its waiters needs.
var (
	directAcquire = rueidis.NewLuaScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], ARGV[1], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return -3
end
return redis.call('PTTL', KEYS[1])`)
	directRelease = rueidis.NewLuaScript(`
if redis.call('HDEL', KEYS[1], ARGV[1]) == 1 then
  redis.call('PUBLISH', ARGV[2], '0')
  return 1
end
return 0`)
)

// direct is what a service does that calls one script per step through rueidis.
type direct struct {
	client  rueidis.Client
	key     []string
	acquire []string
	release []string
}

func newDirect(client rueidis.Client, name string, number int) *direct {
	id := "6f0e6a4e-1111-4222-8333-444455556666:" + strconv.Itoa(number)
	return &direct{
		client:  client,
		key:     []string{name},
		acquire: []string{id, "30000"},
		release: []string{id, "redisson_lock__channel:{" + name + "}"},
	}
}

func (d *direct) lock() error {
	return directAcquire.Exec(context.Background(), d.client, d.key, d.acquire).Error()
}

func (d *direct) unlock() error {
	return directRelease.Exec(context.Background(), d.client, d.key, d.release).Error()
}
