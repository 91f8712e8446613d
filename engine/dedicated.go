package engine

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"
)

// errNoneFree is for a client whose pool the program has used up that shares it.
var errNoneFree = errors.New("lockwheel: no connection is free in the client's pool (BlockingPoolSize)")

const (
	// freeFor is how long a subscriber waits for a connection of its own. Those who wait for a lock poll from then on.
	freeFor = 500 * time.Millisecond
	// keptFor is how long a connection that came too late is kept for the next who asks: longer than the gaps between tries.
	keptFor = 4 * orderRetryMost
)

// dedicated is a connection for one user.
type dedicated struct {
	client  rueidis.DedicatedClient
	release func()
}

// lender gets its owner connections of its own from a client. rueidis takes neither a context nor a time there, and waits for
// as long as all connections of its pool are in use. So the call is made on another goroutine and can be left; there is
// one at a time, and what it comes to too late is the next one's, or goes back.
type lender struct {
	over <-chan struct{} // nobody waits any more; may be nil
	run  func(func())    // starts a goroutine

	pending chan dedicated // of the call that is under way; nil when none is
	left    chan struct{}  // closed when nobody takes what it comes to
}

func newLender(over <-chan struct{}, run func(func())) *lender { return &lender{over: over, run: run} }

func onGoroutine(f func()) { go f() }

// lend waits for a connection for so long at most.
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

// ask begins a call.
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

// leave lets go of a call that is under way.
func (l *lender) leave() {
	if l.pending != nil {
		close(l.left)
		l.pending = nil
	}
}

// borrow is one connection until ctx ends.
func borrow(ctx context.Context, client rueidis.Client, patience time.Duration) (dedicated, error) {
	l := newLender(ctx.Done(), onGoroutine)
	defer l.leave()
	return l.lend(client, patience)
}
