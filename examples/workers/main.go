// Command workers shows a pool of workers in several processes that share a list of jobs, each job done once.
//
//	go run ./examples/workers
//
// Two members, each with an engine of its own as two processes would have, run three workers each. Every job belongs to
// an account. What you see:
//
//   - A lock per job: a worker takes a job with TryLock, and skips those that others have. Under the lock it looks
//     whether the job is done already. The order is what matters: a worker that looked first could find a job open that
//     another worker finishes before it has the lock.
//   - A lock per account: jobs of one account run one after the other. A worker waits for that lock with its job in
//     hand. Workers always lock a job before an account, so they cannot wait for each other in a circle.
//   - Ctrl-C: workers take no further job and finish those they have. Press it in the middle and start again with
//     -redis: the remaining jobs are done.
//
// A worker that dies leaves its job open. Another worker does it when the lease is over (-lease), so a job can run
// twice in part: at least once. A worker that cannot reach Redis ends and says so.
//
// What to try:
//
//   - -fair: the locks of accounts are granted in the order of arrival, across both members.
//   - -accounts 1: all jobs in one line.
//   - -redis redis://127.0.0.1:6379 in several terminals: real processes. Jobs that are done are kept there for an
//     hour.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/examples/internal/server"
)

func main() { server.Main(run) }

// job is a piece of work for an account.
type job struct{ id, account int }

// pool is the workers of one process.
type pool struct {
	locks *lockwheel.Engine
	redis rueidis.Client
	log   *server.Log
	jobs  []job
	takes time.Duration
	fair  bool
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("workers", flag.ContinueOnError)
	url := flags.String("redis", "", "URL of a server; empty: one inside this process")
	members := flags.Int("members", 2, "how many members this process starts")
	workers := flags.Int("workers", 3, "how many workers each member has")
	jobs := flags.Int("jobs", 20, "how many jobs there are")
	accounts := flags.Int("accounts", 4, "how many accounts the jobs belong to")
	takes := flags.Duration("takes", 300*time.Millisecond, "how long a job runs")
	lease := flags.Duration("lease", 5*time.Second, "how long the locks of a dead worker stay")
	fair := flags.Bool("fair", false, "serve the workers of an account in the order of arrival")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *accounts < 1 {
		return fmt.Errorf("workers: -accounts %d: at least 1", *accounts)
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
	var list []job
	for id := range *jobs {
		list = append(list, job{id + 1, id%*accounts + 1})
	}
	var running sync.WaitGroup
	for _, o := range opened {
		p := &pool{o.Locks, client, log, list, *takes, *fair}
		for w := range *workers {
			name := fmt.Sprintf("%s, worker %d", o.Name, w+1)
			running.Go(func() {
				if err := p.work(ctx, name); err != nil {
					log.Printf("%s ends: %v", name, err)
				}
			})
		}
	}
	running.Wait()
	return nil
}

// work does jobs until all are done or ctx ends. ctx bounds which jobs are begun, not the jobs.
func (p *pool) work(ctx context.Context, name string) error {
	for {
		open := 0 // jobs that were not done when this round came to them
		for _, j := range p.jobs {
			if ctx.Err() != nil {
				p.log.Printf("%s takes no further job", name)
				return nil
			}
			done, err := p.take(context.WithoutCancel(ctx), name, j)
			if err != nil {
				return err
			}
			if !done {
				open++
			}
		}
		if open == 0 {
			return nil
		}
		select { // others have the jobs that are open; if one of them dies, its job is free after the lease
		case <-time.After(p.takes):
		case <-ctx.Done():
		}
	}
}

// take does a job unless another worker does or did. It reports whether the job is done.
func (p *pool) take(ctx context.Context, name string, j job) (done bool, err error) {
	err = p.locks.Mutex(fmt.Sprintf("example/job/%d", j.id)).Do(ctx, func(ctx context.Context) error {
		if done, err = p.isDone(ctx, j); err != nil || done {
			return err
		}
		return p.account(j.account).Do(ctx, func(ctx context.Context) error {
			p.log.Printf("%s begins job %d of account %d", name, j.id, j.account)
			select {
			case <-time.After(p.takes):
			case <-ctx.Done(): // one of the locks is lost: leave the job to its next owner
				return context.Cause(ctx)
			}
			p.log.Printf("%s finished job %d of account %d", name, j.id, j.account)
			done = true
			return p.markDone(ctx, j)
		})
	}, lockwheel.Wait(0))
	if errors.Is(err, lockwheel.ErrNotAcquired) || errors.Is(err, lockwheel.ErrLost) {
		return false, nil
	}
	return done, err
}

// account returns the lock of an account.
func (p *pool) account(id int) lockwheel.Mutex {
	name := fmt.Sprintf("example/account/%d", id)
	if p.fair {
		return p.locks.FairMutex(name + "/fair")
	}
	return p.locks.Mutex(name)
}

const doneKey = "example/jobs/done"

func (p *pool) isDone(ctx context.Context, j job) (bool, error) {
	return p.redis.Do(ctx, p.redis.B().Sismember().Key(doneKey).Member(fmt.Sprint(j.id)).Build()).AsBool()
}

func (p *pool) markDone(ctx context.Context, j job) error {
	if err := p.redis.Do(ctx, p.redis.B().Sadd().Key(doneKey).Member(fmt.Sprint(j.id)).Build()).Error(); err != nil {
		return err
	}
	return p.redis.Do(ctx, p.redis.B().Expire().Key(doneKey).Seconds(3600).Build()).Error()
}
