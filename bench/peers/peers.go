// Package peers has the contestants: libraries and clients that lock on one Redis server, behind one small interface.
// Each has settings that are fair to it.
package peers

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Contestant is an open client of one library.
type Contestant interface {
	// Worker returns what one goroutine uses to lock one name. number is different for each worker.
	Worker(name string, number int) Worker
	// Close ends the client. Goroutines that hang in it may continue to run.
	Close()
}

// Worker locks and unlocks one name, for one goroutine at a time.
type Worker interface {
	Lock(ctx context.Context) error // waits; returns an error when ctx ends
	Unlock() error
}

// Holder is a contestant that can keep locks.
type Holder interface {
	Contestant
	Hold(ctx context.Context, name string) (Held, error)
}

// Held is a lock that is kept.
type Held interface {
	Lost() bool // as far as this client knows
	Release() error
}

// Config is the same for all contestants of a comparison.
type Config struct {
	Addr          string
	Lease         time.Duration // 0: the package's Lease
	RenewInterval time.Duration // of lockwheel; 0: its default
	BusyWait      time.Duration // of lockwheel; 0: its default
	Callers       int           // goroutines that call at once
	Contended     bool          // several workers lock one name
	Channels      int           // for Redisson: how many channels it may subscribe to at once; 0: its default
}

// Lease is the lease of all contestants unless a comparison sets another.
const Lease = 30 * time.Second

// lease returns the lease of all locks.
func (c Config) lease() time.Duration { return cmp.Or(c.Lease, Lease) }

// pool returns how many connections a client has that sends one command at a time on each.
func (c Config) pool() int { return min(max(c.Callers, 1), maxPool) }

const (
	maxPool      = 256
	pollInterval = time.Millisecond // the pause of contestants that poll
	replyTimeout = 10 * time.Second // the timeout of one round trip; a queue of 16384 callers is no failure
)

// ContestantSpec is a contestant that can be opened.
type ContestantSpec struct {
	Name     string
	Module   string // its path, for its version
	Settings string // for the reader, in Markdown
	open     func(Config) (Contestant, error)
}

// Open connects a contestant.
func (k ContestantSpec) Open(c Config) (Contestant, error) {
	c.Lease = c.lease()
	contestant, err := k.open(c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.Name, err)
	}
	return contestant, nil
}

// All returns every contestant, lockwheel first.
func All() []ContestantSpec {
	return []ContestantSpec{Lockwheel, Direct, Rueidislock, RueidislockNoLoop, Redislock, Redsync}
}
