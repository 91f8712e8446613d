// Package peers has the contestants: ways to lock on one Redis server, all behind one small interface, each with
// the settings that are fair to it.
package peers

import (
	"context"
	"fmt"
	"time"
)

// Contestant is an open client of one library.
type Contestant interface {
	// Worker returns what one goroutine locks one name with. number tells workers apart.
	Worker(name string, number int) Worker
	// Close ends the client; goroutines that hang in it may stay behind.
	Close()
}

// Worker locks and unlocks one name, for one goroutine at a time.
type Worker interface {
	Lock(ctx context.Context) error // waits; a ctx that ends gives an error
	Unlock() error
}

// Holder is a contestant whose locks can be kept.
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
	Addr      string
	Lease     time.Duration // 0: Lease
	Renew     time.Duration // of ours; 0: its default
	Callers   int           // goroutines that call at once
	Contended bool          // names are fought for
	Channels  int           // that Redisson listens to at once, which it does not without being told; 0: its default
}

// Lease is that of all contestants unless a comparison says otherwise.
const Lease = 30 * time.Second

// pool is how many connections a client has that sends one command at a time on each.
func (c Config) pool() int { return min(max(c.Callers, 1), poolMost) }

const (
	poolMost  = 256
	pollAfter = time.Millisecond // how long those sleep who ask again
	patience  = 10 * time.Second // of one round trip; a queue of 16384 callers is no failure
)

// Kind is a contestant to be opened.
type Kind struct {
	Name     string
	Module   string // its path, for its version
	Settings string // for the reader, in Markdown
	open     func(Config) (Contestant, error)
}

// Open connects.
func (k Kind) Open(c Config) (Contestant, error) {
	if c.Lease == 0 {
		c.Lease = Lease
	}
	contestant, err := k.open(c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.Name, err)
	}
	return contestant, nil
}

// All returns every contestant, ours first.
func All() []Kind {
	return []Kind{Lockwheel, Direct, Rueidislock, RueidislockNoLoop, Redislock, Redsync}
}
