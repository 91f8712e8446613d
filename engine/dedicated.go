package engine

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/rediserr"
)

const (
	// subscribePoolTimeout is how long a subscriber waits for a dedicated connection. After that, waiters poll.
	subscribePoolTimeout = 500 * time.Millisecond
	// lateConnLifetime is how long a connection that came too late is kept for the next request. It exceeds the pauses
	// between attempts.
	lateConnLifetime = 4 * coordinator.MaxSubscribeBackoff
)

// dedicated is a connection with one user, which must call release once, after its last command. It belongs to that
// user's goroutine. The zero value is no connection.
type dedicated struct {
	client  rueidis.DedicatedClient
	release func()
}

// lender takes dedicated connections from a client. In rueidis this call has neither a context nor a timeout: it blocks
// while all connections of the pool are in use. So a goroutine makes the call, and the caller can stop waiting. At most
// one such call is in flight, which no further request repeats. A connection that comes too late serves the next
// request or is released. newLender makes one; the zero value cannot start a call. Owned by one goroutine.
//
// The client of a cluster takes a connection out of a pool only for the first command on it. It then does not wait for
// longer than that command's context: replicaSender.take and identity.Ask.
type lender struct {
	done <-chan struct{} // closed when no caller waits any longer; may be nil
	run  func(func())    // starts a goroutine
	own  bool            // the client is the engine's own: mostly its pool is not used up, but connections are slow to make

	pending   chan dedicated // receives the result of the call in flight; nil when there is none
	abandoned chan struct{}  // closed to abandon the call in flight
}

func newLender(done <-chan struct{}, run func(func())) *lender { return &lender{done: done, run: run} }

func onGoroutine(f func()) { go f() }

// errSlowConnect is for a connection of the engine's own client that takes longer than a caller waits for it.
var errSlowConnect = rediserr.AsClientError(&rediserr.NotConnected{Err: errors.New("a connection to the server takes too long to make (or BlockingPoolSize is too small)")})

// lend returns a connection. It returns ErrPoolExhausted when done is closed, and after timeout; for the engine's own
// client errSlowConnect after timeout.
func (l *lender) lend(client rueidis.Client, timeout time.Duration) (dedicated, error) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		if l.pending == nil {
			l.dedicate(client)
		}
		select {
		case d, came := <-l.pending:
			l.pending = nil
			if came {
				return d, nil
			}
		case <-timer.C:
			if l.own {
				return dedicated{}, errSlowConnect
			}
			return dedicated{}, coordinator.ErrPoolExhausted
		case <-l.done:
			return dedicated{}, coordinator.ErrPoolExhausted
		}
	}
}

// dedicate starts a call.
func (l *lender) dedicate(client rueidis.Client) {
	pending, abandoned := make(chan dedicated), make(chan struct{})
	l.pending, l.abandoned = pending, abandoned
	l.run(func() {
		defer close(pending)
		var d dedicated
		d.client, d.release = client.Dedicate()
		late := time.NewTimer(lateConnLifetime)
		defer late.Stop()
		select {
		case pending <- d:
			return
		case <-abandoned:
		case <-late.C:
		}
		d.release()
	})
}

// abandon abandons the call in flight, if any. Its connection is released when it comes.
func (l *lender) abandon() {
	if l.pending != nil {
		close(l.abandoned)
		l.pending = nil
	}
}

// borrow returns one connection. It gives up when ctx ends or after timeout. own says that the client is the engine's.
func borrow(ctx context.Context, client rueidis.Client, own bool, timeout time.Duration) (dedicated, error) {
	l := newLender(ctx.Done(), onGoroutine)
	l.own = own
	defer l.abandon()
	return l.lend(client, timeout)
}
