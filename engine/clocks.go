package engine

import (
	"time"
)

// clocksApart is how far this machine's clock may be from the server's before that is logged. Queues of fair locks
// compare the clocks of their callers.
const clocksApart = 5 * time.Second

// latestClock is the most that a server's clock is believed to show, in ms since 1970: in the year 2200.
const latestClock = 7_258_118_400_000

// serverClock is what is known of a server's clock from its answers: the least that it can show, so that nothing takes
// effect later than it should. What that says of later moments becomes less, for clocks that run at different rates.
type serverClock struct {
	least time.Duration // since 1970, at moment 0 of this engine's clock
	at    time.Duration // the moment at which that was so
	known bool
}

// said takes in what it showed at some moment between two. It can have been set since it was looked at last.
func (k *serverClock) said(from, to time.Duration, ms int64) {
	showed := time.Duration(ms) * time.Millisecond
	least, most := showed-to, showed+time.Millisecond-from
	if known := k.aged(to); k.known && known > least && known <= most {
		least = known
	}
	*k = serverClock{least, to, true}
}

func (k *serverClock) aged(now time.Duration) time.Duration { return k.least - (now-k.at)/100 }

// latest is the moment by that clock, in ms since 1970; 0 if nothing is known of it.
func (k *serverClock) latest(moment, now time.Duration) int64 {
	if !k.known {
		return 0
	}
	return int64((moment + k.aged(now)) / time.Millisecond)
}

// tooLate takes in that a call may have come after the moment until which it may take effect. It did nothing then, and what
// is still wanted of it leaves again, with what is known of the server's clock now. One that is too
// late again is as if the server refused it for now, which leaves the server in peace for a while.
func (c *coordinator) tooLate(now time.Duration, b *batch) bool {
	if len(b.replies) == 0 || !b.replies[0].Late {
		return false
	}
	c.compareClocks(now, b, b.replies[0].Clock)
	if b.tardy {
		return false
	}
	c.reached(b)
	c.counters.retries++
	b.tardy, b.replies = true, b.replies[:0]
	c.again(now, b.node, b)
	return true
}

// compareClocks takes in what the server's clock was at some moment of a call: the clocks are apart by what no
// such moment explains.
func (c *coordinator) compareClocks(now time.Duration, b *batch, clock int64) {
	if clock <= 0 || clock > latestClock {
		return
	}
	if !b.led { // else another node may have said it
		b.node.clock.said(b.sent, now, clock)
	}
	ahead := time.Duration(b.wall-clock) * time.Millisecond
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
