package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// clocksApart is how far this machine's clock may be from the server's before that is logged. Queues of fair locks
// compare the clocks of their callers.
const clocksApart = 5 * time.Second

// compareClocks takes in what the server's clock was at some moment of a call: the clocks are apart by what no
// such moment explains.
func (c *coordinator) compareClocks(now time.Duration, b *batch, reply *actor.Reply) {
	if reply.Clock == 0 {
		return
	}
	ahead := time.Duration(b.wall-reply.Clock) * time.Millisecond
	if ahead < 0 {
		ahead = min(ahead+now-b.sent, 0)
	}
	b.node.ahead = ahead
}

// ahead is how far this machine's clock is ahead of that of the node it is the furthest from; negative: behind.
func (c *coordinator) ahead() (most time.Duration) {
	for _, n := range c.nodes {
		if n.ahead.Abs() > most.Abs() {
			most = n.ahead
		}
	}
	return most
}

// tellClocks logs when this machine's clock is found to be wrong, or the server's, and when it is right again.
func (e *Engine) tellClocks() {
	ahead := e.coordinator.ahead()
	apart := ahead.Abs() > clocksApart
	if e.log == nil || apart == e.apart {
		return
	}
	e.apart = apart
	if apart {
		e.log.Warn("lockwheel: this machine's clock is not the server's; fair locks compare clocks", "ahead", ahead)
	} else {
		e.log.Info("lockwheel: this machine's clock is the server's again")
	}
}
