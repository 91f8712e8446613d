// Command leader shows how several processes elect one of them that works, and how another one takes over.
//
//	go run ./examples/leader
//
// Three members take part, each with an engine of its own, as three processes would have. Package leader runs the work
// of the one that has the lock; the others wait. What you see:
//
//   - One member leads and counts. After two seconds it crashes: its engine is closed without a release, as if the
//     process had been killed.
//   - Its lock stays until its lease is over, here two seconds. Then another member leads, and its fencing token is
//     greater.
//   - The last member goes on until you press Ctrl-C. Then it unlocks at once.
//
// What to try:
//
//   - -step-down: leaders give the lock back instead of crashing. The successor leads a round trip later.
//   - -lease 10s: what a longer lease costs when a leader dies.
//   - -redis redis://127.0.0.1:6379 -members 1 -crash 0 in several terminals: real processes. Kill the leader with kill
//     -9, or stop it with Ctrl-Z for longer than its lease, and continue it with fg.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/examples/internal/server"
	"github.com/lockwheel/lockwheel/leader"
)

func main() { server.Main(run) }

// member is one process of the program.
type member struct {
	name     string
	locks    *lockwheel.Engine
	log      *server.Log
	crash    time.Duration // how long it leads before it crashes; 0: as long as it can
	stepDown bool          // it steps down instead
	mayCrash <-chan bool   // has a token if other members are left
}

var errCrash = errors.New("crashed")

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("leader", flag.ContinueOnError)
	url := flags.String("redis", "", "URL of a server; empty: one inside this process")
	members := flags.Int("members", 3, "how many members this process starts")
	lease := flags.Duration("lease", 2*time.Second, "how long the lock of a dead leader stays")
	crash := flags.Duration("crash", 2*time.Second, "how long a member leads before it crashes, except the last; 0: for ever")
	stepDown := flags.Bool("step-down", false, "leaders step down instead of crashing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s, err := server.Start(*url)
	if err != nil {
		return err
	}
	defer s.Close()
	log := server.NewLog(out)
	defer log.Close()

	opened, err := s.Open(ctx, *members, lockwheel.Options{Lease: *lease})
	if err != nil {
		return err
	}
	mayCrash := make(chan bool, max(0, *members)) // a token for each member but one
	for range *members - 1 {
		mayCrash <- true
	}
	var running sync.WaitGroup
	for _, o := range opened {
		m := &member{o.Name, o.Locks, log, *crash, *stepDown, mayCrash}
		running.Go(func() { m.takePart(ctx) })
	}
	running.Wait()
	return nil
}

// takePart is all that a program does to take part in elections.
func (m *member) takePart(ctx context.Context) {
	err := leader.Run(ctx, m.locks.FencedMutex("example/leader"), m.work, leader.Options{
		Gained: func(hold *lockwheel.Hold) { m.log.Printf("%s leads, with token %d", m.name, hold.Token()) },
		Ended: func(err error) {
			switch {
			case errors.Is(err, lockwheel.ErrLost):
				m.log.Printf("%s has lost the lock: %v", m.name, err)
			case errors.Is(err, lockwheel.ErrClosed):
				m.log.Printf("%s has crashed; its lock stays until the lease is over", m.name)
			default:
				m.log.Printf("%s has released the lock", m.name)
			}
		},
		Failed: func(err error, next time.Duration) { m.log.Printf("%s tries again in %v: %v", m.name, next, err) },
	})
	m.log.Printf("%s ends: %v", m.name, strings.ReplaceAll(fmt.Sprint(err), "\n", "; ")) // Run joins errors line by line
}

// work is what only the leader does: it counts. It ends when ctx does, because then another member may lead.
func (m *member) work(ctx context.Context, hold *lockwheel.Hold) error {
	count := time.NewTicker(500 * time.Millisecond)
	defer count.Stop()
	var over <-chan time.Time
	if m.crash > 0 {
		over = time.After(m.crash)
	}
	for n := 1; ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-count.C:
			if err := hold.Err(); err != nil {
				return err // after a pause of the process ctx may not have ended yet
			}
			m.log.Printf("%s counts %d", m.name, n)
			n++
		case <-over:
			over = nil
			if m.stepDown {
				m.log.Printf("%s steps down", m.name)
				return nil
			}
			select {
			case <-m.mayCrash:
				m.locks.Close() // without Unlock: as if the process had been killed
				return errCrash
			default: // the last one goes on
			}
		}
	}
}
