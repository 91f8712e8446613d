package engine

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"
)

// errNoneFree reports that the program has used up the pool of a client that it shares with the engine.
var errNoneFree = errors.New("lockwheel: no connection is free in the client's pool (BlockingPoolSize)")

const (
	// freeFor is how long a subscriber waits for a dedicated connection. After that, waiters poll.
	freeFor = 500 * time.Millisecond
	// keptFor is how long a connection that came too late is kept for the next request. It exceeds the pauses between
	// attempts.
	keptFor = 4 * orderRetryMost
)

// dedicated is a connection with one user.
type dedicated struct {
	client  rueidis.DedicatedClient
	release func()
}

// lender takes dedicated connections from a client. In rueidis this call has neither a context nor a timeout: it blocks
// while all connections of the pool are in use. So a goroutine makes the call, and the caller can stop waiting. At most
// one such call is in flight. A connection that comes too late serves the next request or is released. Owned by one
// goroutine.
type lender struct {
	over <-chan struct{} // closed when no caller waits any longer; may be nil
	run  func(func())    // starts a goroutine

	pending chan dedicated // receives the result of the call in flight; nil when there is none
	left    chan struct{}  // closed to abandon the call in flight
}

func newLender(over <-chan struct{}, run func(func())) *lender { return &lender{over: over, run: run} }

func onGoroutine(f func()) { go f() }

// lend returns a connection. It returns errNoneFree after patience, or when over is closed.
func (l *lender) lend(client rueidis.Client, patience time.Duration) (dedicated, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		if l.pending == nil {
			l.ask(client)
		}
		select {
		case d, came := <-l.pending:
			l.pending = nil
			if came {
				return d, nil
			}
		case <-timer.C:
			return dedicated{}, errNoneFree
		case <-l.over:
			return dedicated{}, errNoneFree
		}
	}
}

// ask starts a call.
func (l *lender) ask(client rueidis.Client) {
	pending, left := make(chan dedicated), make(chan struct{})
	l.pending, l.left = pending, left
	l.run(func() {
		defer close(pending)
		var d dedicated
		d.client, d.release = client.Dedicate()
		late := time.NewTimer(keptFor)
		defer late.Stop()
		select {
		case pending <- d:
			return
		case <-left:
		case <-late.C:
		}
		d.release()
	})
}

// leave abandons the call in flight, if any. Its connection is released when it comes.
func (l *lender) leave() {
	if l.pending != nil {
		close(l.left)
		l.pending = nil
	}
}

// borrow returns one connection. It gives up when ctx ends or after patience.
func borrow(ctx context.Context, client rueidis.Client, patience time.Duration) (dedicated, error) {
	l := newLender(ctx.Done(), onGoroutine)
	defer l.leave()
	return l.lend(client, patience)
}
