package locktest

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel"
)

// ServerSet is a set of independent servers.
type ServerSet []*Server

func NewServerSet(t testing.TB, n int) (p ServerSet) {
	t.Helper()
	for range n {
		p = append(p, RealServer(t))
	}
	return p
}

// Client returns the engines of a process that uses all of them.
func (p ServerSet) Client(opts lockwheel.Options) (engines []*lockwheel.Engine) {
	for _, s := range p {
		engines = append(engines, s.Open(opts))
	}
	return engines
}

// Holders returns the number of servers that have the lock.
func (p ServerSet) Holders(name string) (n int) {
	for _, s := range p {
		if s.Exists(name) {
			n++
		}
	}
	return n
}

func Quorum(engines []*lockwheel.Engine, name string) lockwheel.Multi {
	var locks []lockwheel.Mutex
	for _, e := range engines {
		locks = append(locks, e.Mutex(name))
	}
	return lockwheel.Quorum(locks...)
}

// HeldBy waits until each engine has a lock, and knows it. A key alone is not enough: the engine may not have the reply
// yet, and an Extend to a fixed lease cancels that request.
func HeldBy(t testing.TB, engines []*lockwheel.Engine) {
	t.Helper()
	for _, e := range engines {
		Eventually(t, "a member held", func() bool { return e.Stats().Held == 1 })
	}
}

// SlowToGiveUp waits for a server's reply for longer than patience.
var SlowToGiveUp = lockwheel.Options{CallTimeout: 10 * time.Second}

// RenewedTimes waits until n more renewals of an engine were confirmed.
func RenewedTimes(t *testing.T, e *lockwheel.Engine, n int) {
	t.Helper()
	before := e.Stats().Renewed
	Eventually(t, fmt.Sprint(n, " renewals"), func() bool { return e.Stats().Renewed >= before+uint64(n) })
}

// ConfirmRound is how long a caller that waits for a quorum queues at one server, which may fail, before it requests
// all locks again.
const ConfirmRound = 2 * time.Second
