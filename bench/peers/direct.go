package peers

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// Direct is a service that calls one script per step through rueidis, without a lock library.
var Direct = ContestantSpec{
	Name:   "direct",
	Module: "github.com/redis/rueidis",
	Settings: "rueidis with one EVALSHA for each lock and unlock, with three and two `redis.call`s; one connection. With a context " +
		"that cannot end and one caller, rueidis does not pipeline: its fastest mode, which Latency shows besides the usual one. Contended: tries again after 1 ms. No renewal",
	open: openDirect,
}

// The single-lock scripts, with as few calls as a lock that wakes its waiters needs.
const (
	DirectAcquireText = `
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], ARGV[1], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return -3
end
return redis.call('PTTL', KEYS[1])`
	DirectReleaseText = `
if redis.call('HDEL', KEYS[1], ARGV[1]) == 1 then
  redis.call('PUBLISH', ARGV[2], '0')
  return 1
end
return 0`
	DirectGranted = -3 // the reply of an acquire that is granted
)

var (
	directAcquire = rueidis.NewLuaScript(DirectAcquireText)
	directRelease = rueidis.NewLuaScript(DirectReleaseText)
)

type direct struct {
	client rueidis.Client
	lease  string
}

func openDirect(c Config) (Contestant, error) {
	client, err := OpenPlain(c.Addr)
	if err != nil {
		return nil, err
	}
	return &direct{client, strconv.FormatInt(c.Lease.Milliseconds(), 10)}, nil
}

// OpenPlain connects rueidis with its defaults.
func OpenPlain(addr string) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{addr}, DisableCache: true, ConnWriteTimeout: replyTimeout,
	})
}

func (d *direct) Close() { d.client.Close() }

func (d *direct) Worker(name string, number int) Worker {
	id := DirectID(number)
	return &directWorker{
		client:  d.client,
		key:     []string{name},
		acquire: []string{id, d.lease},
		release: []string{id, DirectChannel(name)},
	}
}

// DirectID returns a holder's id, as long as lockwheel's.
func DirectID(number int) string {
	return "6f0e6a4e-1111-4222-8333-444455556666:" + strconv.Itoa(number)
}

// DirectChannel returns the channel on which a lock's release is published.
func DirectChannel(name string) string { return "redisson_lock__channel:{" + name + "}" }

func (d *direct) Hold(ctx context.Context, name string) (Held, error) {
	w := d.Worker(name, 0)
	return directHeld{w}, w.Lock(ctx)
}

type directWorker struct {
	client  rueidis.Client
	key     []string
	acquire []string
	release []string
}

func (d *directWorker) Lock(ctx context.Context) error {
	for {
		reply, err := directAcquire.Exec(ctx, d.client, d.key, d.acquire).AsInt64()
		if err != nil || reply == DirectGranted {
			return err
		}
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *directWorker) Unlock() error {
	return directRelease.Exec(context.Background(), d.client, d.key, d.release).Error()
}

type directHeld struct{ Worker }

func (directHeld) Lost() bool       { return false }
func (h directHeld) Release() error { return h.Unlock() }
