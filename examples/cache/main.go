// Command cache shows a cache that one process fills while the others wait or serve what is old: protection against a
// stampede.
//
//	go run ./examples/cache
//
// Three members, each with an engine of its own as three processes would have, read one entry with ten readers each. To
// build the entry is slow. An entry is fresh for a while (-fresh), and is kept for a while longer (-keep). What you
// see:
//
//   - No entry: one reader has the lock and builds it. The others wait for the lock, look again, and find the entry.
//   - An old entry: the reader that gets the lock with TryLock rebuilds it. The others serve the old one and do not
//     wait.
//   - A summary at the end: many reads, and one build for each time the entry was missing or old.
//
// The lock saves work and is not there for correctness. If a builder loses its lock, a second one may build beside it,
// and the last write stays. So nothing is fenced.
//
// What to try:
//
//   - -keep 0: entries vanish when they are no longer fresh, and readers wait each time.
//   - -redis redis://127.0.0.1:6379 in several terminals: real processes share one build.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/examples/internal/server"
)

func main() { server.Main(run) }

// cache is the cache of one process.
type cache struct {
	name        string
	locks       *lockwheel.Engine
	redis       rueidis.Client
	log         *server.Log
	fresh, keep time.Duration
	build       func(ctx context.Context) (string, error)
	counts      *counts
}

// counts are of all members.
type counts struct{ fresh, old, waited, built atomic.Int64 }

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("cache", flag.ContinueOnError)
	url := flags.String("redis", "", "URL of a server; empty: one inside this process")
	members := flags.Int("members", 3, "how many members this process starts")
	readers := flags.Int("readers", 10, "how many readers each member has")
	fresh := flags.Duration("fresh", time.Second, "how long an entry is fresh")
	keep := flags.Duration("keep", 10*time.Second, "how much longer an entry is kept")
	takes := flags.Duration("takes", 500*time.Millisecond, "how long it takes to build an entry")
	length := flags.Duration("for", 5*time.Second, "how long the readers read; 0: until Ctrl-C")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *fresh < time.Millisecond || *keep < 0 {
		return fmt.Errorf("cache: -fresh %v, -keep %v: at least 1ms and 0", *fresh, *keep)
	}
	s, err := server.Start(*url)
	if err != nil {
		return err
	}
	defer s.Close()
	client, err := s.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	log := server.NewLog(out)
	defer log.Close()
	opened, err := s.Open(ctx, *members, lockwheel.Options{Lease: 5 * time.Second})
	if err != nil {
		return err
	}
	if *length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *length)
		defer cancel()
	}
	build := func(ctx context.Context) (string, error) {
		select {
		case <-time.After(*takes):
			return "built at " + time.Now().Format("15:04:05.000"), nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	var running sync.WaitGroup
	all := new(counts)
	for _, o := range opened {
		c := &cache{o.Name, o.Locks, client, log, *fresh, *keep, build, all}
		for range *readers {
			running.Go(func() { c.read(ctx) })
		}
	}
	running.Wait()
	log.Printf("reads: %d fresh, %d old, %d after a wait; the entry was built %d times",
		all.fresh.Load(), all.old.Load(), all.waited.Load(), all.built.Load())
	return nil
}

// read reads the entry every 10 ms until ctx ends.
func (c *cache) read(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := c.get(ctx, "example/rates"); err != nil && ctx.Err() == nil {
			c.log.Printf("%s: %v", c.name, err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// get returns an entry: a fresh one, an old one that is rebuilt meanwhile, or one that was built while get waited.
func (c *cache) get(ctx context.Context, key string) (string, error) {
	value, state, err := c.look(ctx, key)
	lock := c.locks.Mutex(key + "/build")
	switch {
	case err != nil:
		return "", err
	case state == isFresh:
		c.counts.fresh.Add(1)
		return value, nil
	case state == isOld:
		c.counts.old.Add(1)
		// Wait(0): if another reader rebuilds the entry, this one does not wait. It serves the old value, whatever
		// becomes of the build.
		err := lock.Do(ctx, func(ctx context.Context) error { return c.rebuild(ctx, key, &value) }, lockwheel.Wait(0))
		if err != nil && !errors.Is(err, lockwheel.ErrNotAcquired) && ctx.Err() == nil {
			c.log.Printf("%s serves the old entry: %v", c.name, err)
		}
		return value, nil
	}
	c.counts.waited.Add(1)
	err = lock.Do(ctx, func(ctx context.Context) error { return c.rebuild(ctx, key, &value) })
	if errors.Is(err, lockwheel.ErrLost) && value != "" {
		err = nil // the lock was lost, but the value is good
	}
	return value, err
}

// rebuild sets value to the entry. The caller has the lock. It builds the entry unless another reader did so before the
// caller got the lock.
func (c *cache) rebuild(ctx context.Context, key string, value *string) error {
	found, state, err := c.look(ctx, key)
	if err != nil {
		return err
	}
	if state == isFresh {
		*value = found
		return nil
	}
	c.log.Printf("%s begins to build %s", c.name, key)
	built, err := c.build(ctx)
	if err != nil {
		return err
	}
	c.counts.built.Add(1)
	c.log.Printf("%s has built %s: %s", c.name, key, built)
	*value = built
	until := strconv.FormatInt(time.Now().Add(c.fresh).UnixMilli(), 10)
	return c.redis.Do(ctx, c.redis.B().Set().Key(key).Value(until+" "+built).Px(c.fresh+c.keep).Build()).Error()
}

type state int

const (
	isMissing state = iota
	isOld
	isFresh
)

// look returns an entry as it is in Redis. Its text begins with the time until which it is fresh.
func (c *cache) look(ctx context.Context, key string) (string, state, error) {
	text, err := c.redis.Do(ctx, c.redis.B().Get().Key(key).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return "", isMissing, nil
	}
	if err != nil {
		return "", isMissing, err
	}
	until, value, _ := strings.Cut(text, " ")
	fresh, err := strconv.ParseInt(until, 10, 64)
	if err != nil {
		return "", isMissing, fmt.Errorf("entry %q: %w", key, err)
	}
	if time.Now().UnixMilli() < fresh {
		return value, isFresh, nil
	}
	return value, isOld, nil
}
