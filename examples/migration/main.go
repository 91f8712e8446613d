// Command migration shows a migration of data when a new version of a program is deployed. One of several instances
// runs it, while the others wait until it is done.
//
//	go run ./examples/migration
//
// Three members, each with an engine of its own as three processes would have, start at the same time. Each of them
// needs the new form of the data before it serves. What you see:
//
//   - One member has the lock and migrates, batch by batch. After some batches it crashes: its engine is closed without
//     a release, as if the process had been killed.
//   - When its lease is over, another member gets the lock and goes on at the batch where the first one ended.
//   - The second member crashes, too. The last one applies the batches that are left, and serves.
//
// A lock alone does not make this safe. A member that is suspended in the middle, and goes on after its lease is over,
// would write beside its successor. So a marker in the store says how many batches are done, and which token was the
// last to write. A batch and its marker are written by one script, which rejects an older token, and a batch out of
// turn. So no batch is applied twice, which matters: the last step multiplies each balance by 100.
//
// With an SQL database the marker is a row, and the script is a transaction that begins with
//
//	UPDATE migration SET token = $1, done = $2 + 1 WHERE token <= $1 AND done = $2
//
// and is rolled back if this changes no row.
//
// What to try:
//
//   - -crash 0: the first member does everything. Then the others get the lock in turn, see that nothing is left to do,
//     and serve.
//   - Ctrl-C in the middle: the member stops between two batches and unlocks.
//   - -redis redis://127.0.0.1:6379 -members 1 -crash 0 in several terminals: real processes. Kill the one that works
//     with kill -9, or stop it with Ctrl-Z for longer than its lease and continue it with fg. Its next batch is
//     rejected. redis-cli del example/migration begins anew.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/examples/internal/server"
)

func main() { server.Main(run) }

// member is one process of the program.
type member struct {
	name     string
	locks    *lockwheel.Engine
	store    store
	log      *server.Log
	takes    time.Duration
	crash    int         // how many batches it applies before it crashes; 0: it does not
	mayCrash <-chan bool // has a token if other members are left
}

var errCrash = errors.New("crashed")

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("migration", flag.ContinueOnError)
	url := flags.String("redis", "", "URL of a server; empty: one inside this process")
	members := flags.Int("members", 3, "how many members this process starts")
	lease := flags.Duration("lease", 2*time.Second, "how long the lock of a dead member stays")
	takes := flags.Duration("takes", 100*time.Millisecond, "how long a batch takes")
	crash := flags.Int("crash", 7, "after how many batches a member crashes, except the last; 0: never")
	if err := flags.Parse(args); err != nil {
		return err
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
	mayCrash := make(chan bool, max(0, *members)) // a token for each member but one
	for range *members - 1 {
		mayCrash <- true
	}
	var running sync.WaitGroup
	for _, o := range opened {
		m := &member{o.Name, o.Locks, store{client}, log, *takes, *crash, mayCrash}
		running.Go(func() { m.start(ctx) })
	}
	running.Wait()
	return nil
}

// start migrates, or waits until that is done, and serves then.
func (m *member) start(ctx context.Context) {
	switch err := m.migrate(ctx); {
	case err == nil:
		m.log.Printf("%s serves", m.name)
	case errors.Is(err, errCrash):
		m.log.Printf("%s has crashed; its lock stays until the lease is over", m.name)
	default:
		m.log.Printf("%s does not serve: %v", m.name, err)
	}
}

// migrate returns nil when the migration is done, whichever member did it.
func (m *member) migrate(ctx context.Context) error {
	if done, err := m.store.done(ctx); err != nil || done == batches {
		return err // most starts: nothing to do, and no lock to wait for
	}
	hold, err := m.locks.FencedMutex("example/migration/lock").Lock(ctx)
	if err != nil {
		return err
	}
	defer hold.Unlock(context.WithoutCancel(ctx)) // also after SIGINT; CallTimeout bounds it
	return m.apply(hold.Context(), hold.Token())
}

// apply applies the batches that are left. The caller has the lock with that token. From its claim on, an older token
// writes nothing. It ends between two batches if ctx does: on SIGINT, or when the lock is lost.
func (m *member) apply(ctx context.Context, token uint64) error {
	done, err := m.store.claim(ctx, token)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx) // the error of claim would not say why
	case err != nil || done == batches:
		return err
	}
	m.log.Printf("%s migrates from batch %d on, with token %d", m.name, done+1, token)
	for begin := done; done < batches; done++ {
		if m.crash > 0 && done-begin == m.crash && m.crashes() {
			return errCrash
		}
		select {
		case <-time.After(m.takes):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := m.store.apply(ctx, token, done); err != nil {
			return fmt.Errorf("batch %d: %w", done+1, err)
		}
		m.log.Printf("%s has applied batch %d of %d: %s", m.name, done+1, batches, stepOf(done).name)
	}
	return nil
}

// crashes closes the engine without Unlock, as if the process had been killed, unless no other member is left.
func (m *member) crashes() bool {
	select {
	case <-m.mayCrash:
		m.locks.Close()
		return true
	default:
		return false
	}
}
