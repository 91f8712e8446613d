package engine

import (
	"time"
)

// maxClockSkew is the largest difference between this machine's clock and the server's that is not logged. Fair queues
// compare the clocks of their callers.
const maxClockSkew = 5 * time.Second

// maxServerMillis is the latest plausible time of a server, in ms since 1970: in the year 2200.
const maxServerMillis = 7_258_118_400_000

// serverClock is a lower bound of a server's clock, derived from its replies. It is a lower bound so that no call takes
// effect later than it should. The bound falls by 1 % of its age, because clocks run at different rates.
type serverClock struct {
	least time.Duration // lower bound at time 0 of this engine's clock, since 1970
	at    time.Duration // when the bound was determined, on this engine's clock
	known bool
}

// observe adds a sample: the server showed ms at some time between from and to. If the sample contradicts the earlier
// bound, the clock was set, and the sample alone counts. Otherwise the higher bound counts.
func (k *serverClock) observe(from, to time.Duration, ms int64) {
	showed := time.Duration(ms) * time.Millisecond
	least, most := showed-to, showed+time.Millisecond-from
	if known := k.leastAt(to); k.known && known > least && known <= most {
		least = known
	}
	*k = serverClock{least, to, true}
}

func (k *serverClock) leastAt(now time.Duration) time.Duration { return k.least - (now-k.at)/100 }

// millisAt converts a time of this engine to the server's clock, in ms since 1970. It returns 0 if that clock is unknown.
func (k *serverClock) millisAt(moment, now time.Duration) int64 {
	if !k.known {
		return 0
	}
	return int64((moment + k.leastAt(now)) / time.Millisecond)
}

// onLateReply handles a reply that says the call arrived after its deadline (batch.latest) and did nothing. It sends the
// commands that are still wanted again, with a new estimate of the server's clock, and returns true. It returns false
// for any other reply, and when the same batch is late a second time. A second late reply counts as a transient
// rejection, so the locks back off.
func (c *coordinator) onLateReply(now time.Duration, b *batch) bool {
	if len(b.replies) == 0 || !b.replies[0].Late {
		return false
	}
	c.updateClockSkew(now, b, b.replies[0].ServerMillis)
	if b.wasLate {
		return false
	}
	c.onReachable(b)
	c.counters.retries++
	b.wasLate, b.replies = true, b.replies[:0]
	c.retry(now, b.node, b)
	return true
}

// updateClockSkew compares the server's time in a reply with the send and receive times of the call. Only a difference
// outside that interval counts as skew.
func (c *coordinator) updateClockSkew(now time.Duration, b *batch, clock int64) {
	if clock <= 0 || clock > maxServerMillis {
		return
	}
	if !b.viaClusterClient { // otherwise the time may be another node's
		b.node.clock.observe(b.sent, now, clock)
	}
	ahead := time.Duration(b.sentWallMillis-clock) * time.Millisecond
	if ahead < 0 {
		ahead = min(ahead+now-b.sent, 0)
	}
	b.node.clockSkew = ahead
}

// largestClockSkew returns the clock skew with the largest absolute value among all nodes. Positive: this machine is ahead.
func (c *coordinator) largestClockSkew() (most time.Duration) {
	for _, n := range c.nodes {
		if n.clockSkew.Abs() > most.Abs() {
			most = n.clockSkew
		}
	}
	return most
}

// logClockSkew logs when this machine's clock and a server's differ by more than maxClockSkew, and when they agree again.
func (e *Engine) logClockSkew() {
	ahead := e.coordinator.largestClockSkew()
	apart := ahead.Abs() > maxClockSkew
	if e.log == nil || apart == e.clockSkewed {
		return
	}
	e.clockSkewed = apart
	if apart {
		e.log.Warn("lockwheel: this machine's clock is not the server's; fair locks compare clocks", "ahead", ahead)
	} else {
		e.log.Info("lockwheel: this machine's clock is the server's again")
	}
}
