// Command cron shows a job that runs once per tick, although every process of a program has the same timetable.
//
//	go run ./examples/cron
//
// Three members, each with an engine of its own as three processes would have, try to run each tick. A lock and a
// record do it together:
//
//   - The lock lets one member run at a time, also if a run takes longer than the time between two ticks. The others do
//     not wait: TryLock returns at once, and their tick is done by the member that has the lock, or skipped.
//   - The record in Redis is the last tick that was begun. A member that is late, and finds the lock free again, sees
//     there that its tick was run.
//   - The record is fenced. It is written with the lock's token, and a smaller token than the last one is rejected. So
//     a member that was suspended between lock and record, and lost the lock meanwhile, does not run.
//
// The record is written before the job runs, so each tick runs at most once: a crash in the middle skips the rest of
// it. For at least once, write it after the job, and make the job one that can run twice.
//
// What to try:
//
//   - -takes 1500ms: a run that takes longer than a tick. Ticks are skipped, and no two runs overlap.
//   - -redis redis://127.0.0.1:6379 -members 1 in several terminals: real processes. Kill one with kill -9 while it
//     runs; the next tick runs once the lease (-lease) is over.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/examples/internal/server"
)

func main() { server.Main(run) }

// member is one process of the program.
type member struct {
	name  string
	locks *lockwheel.Engine
	redis rueidis.Client
	log   *server.Log
	every time.Duration
	takes time.Duration
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("cron", flag.ContinueOnError)
	url := flags.String("redis", "", "URL of a server; empty: one inside this process")
	members := flags.Int("members", 3, "how many members this process starts")
	lease := flags.Duration("lease", 5*time.Second, "how long the lock of a dead member stays")
	every := flags.Duration("every", time.Second, "the time between two ticks")
	takes := flags.Duration("takes", 300*time.Millisecond, "how long the job runs")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *every < time.Millisecond {
		return fmt.Errorf("cron: -every %v: at least 1ms", *every)
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

	opened, err := s.Open(ctx, *members, lockwheel.Options{Lease: *lease})
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	for _, o := range opened {
		m := &member{o.Name, o.Locks, client, log, *every, *takes}
		running.Go(func() { m.keepTime(ctx) })
	}
	running.Wait()
	return nil
}

// keepTime tries to run every tick. Ticks are numbered by the clock, so all members mean the same tick by a number.
func (m *member) keepTime(ctx context.Context) {
	for {
		tick := time.Now().UnixNano()/int64(m.every) + 1
		select {
		case <-time.After(time.Until(time.Unix(0, tick*int64(m.every)))):
		case <-ctx.Done():
			return
		}
		switch err := m.try(ctx, tick); {
		case ctx.Err() != nil:
			return
		case errors.Is(err, lockwheel.ErrNotAcquired): // another member runs this tick, or still the one before
		case err != nil:
			m.log.Printf("%s: tick %d: %v", m.name, tick, err)
		}
	}
}

// try runs a tick unless another member does or did.
func (m *member) try(ctx context.Context, tick int64) error {
	hold, err := m.locks.FencedMutex("example/cron").TryLock(ctx)
	if err != nil {
		return err
	}
	defer hold.Unlock(context.WithoutCancel(ctx)) // also after SIGINT; CallTimeout bounds it
	begun, err := m.begin(hold.Context(), tick, hold.Token())
	if err != nil || !begun {
		return err
	}
	return m.job(hold.Context(), tick)
}

// record writes that a tick begins, and replies 1. It writes nothing and replies 0 if that tick or a later one has
// begun, or a holder of a newer token was here before.
var record = rueidis.NewLuaScript(`
	local last = redis.call('HMGET', KEYS[1], 'tick', 'token')
	if tonumber(ARGV[1]) <= tonumber(last[1] or '0') or tonumber(ARGV[2]) < tonumber(last[2] or '0') then return 0 end
	redis.call('HSET', KEYS[1], 'tick', ARGV[1], 'token', ARGV[2])
	return 1`)

// begin reports whether a tick may run, and records it.
func (m *member) begin(ctx context.Context, tick int64, token uint64) (bool, error) {
	arguments := []string{strconv.FormatInt(tick, 10), strconv.FormatUint(token, 10)}
	return record.Exec(ctx, m.redis, []string{"example/cron/last"}, arguments).AsBool()
}

// job is the work. It ends early if ctx does: on SIGINT, or when the lock is lost.
func (m *member) job(ctx context.Context, tick int64) error {
	m.log.Printf("%s begins tick %d", m.name, tick)
	select {
	case <-time.After(m.takes):
		m.log.Printf("%s finished tick %d", m.name, tick)
		return nil
	case <-ctx.Done():
		m.log.Printf("%s breaks off tick %d: %v", m.name, tick, context.Cause(ctx))
		return context.Cause(ctx)
	}
}
