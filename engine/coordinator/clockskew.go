package coordinator

import (
	"time"
)

// MaxClockSkew is the largest difference between this machine's clock and the server's that is not logged. Fair queues
// compare the clocks of their callers.
const MaxClockSkew = 5 * time.Second

// maxServerMillis is the latest plausible time of a server, in ms since 1970: in the year 2200.
const maxServerMillis = 7_258_118_400_000

// serverClock is a lower bound of a server's clock, derived from its replies. It is a lower bound so that no batch
// takes effect later than it should. The bound falls by 1 % of its age, because clocks run at different rates. The zero
// value is a clock of which nothing is known. Owned by the coordinator.
type serverClock struct {
	least time.Duration // lower bound at time 0 of this engine's clock, since 1970
	at    time.Duration // when the bound was determined, on this engine's clock
	known bool
}

// observe adds a sample: the server showed ms at some time between from and to. If the sample contradicts the earlier
// bound, the clock was set, and the sample alone counts. Otherwise the higher bound counts.
func (s *serverClock) observe(from, to time.Duration, ms int64) {
	showed := time.Duration(ms) * time.Millisecond
	lower, upper := showed-to, showed+time.Millisecond-from
	if known := s.leastAt(to); s.known && known > lower && known <= upper {
		lower = known
	}
	*s = serverClock{lower, to, true}
}

func (s *serverClock) leastAt(now time.Duration) time.Duration { return s.least - (now-s.at)/100 }

// millisAt converts a time of this engine to the server's clock, in ms since 1970. It returns 0 if that clock is
// unknown.
func (s *serverClock) millisAt(moment, now time.Duration) int64 {
	if !s.known {
		return 0
	}
	return int64((moment + s.leastAt(now)) / time.Millisecond)
}

// onLateReply handles a reply that says the batch arrived after its deadline (Batch.EffectUntilMillis) and did nothing.
// It sends the commands that are still wanted again, with a new estimate of the server's clock, and returns true. It
// returns false for any other reply, and when the same batch is late a second time. A second late reply counts as a
// transient rejection, so the locks back off.
func (c *Coordinator) onLateReply(now time.Duration, b *Batch) bool {
	if len(b.Replies) == 0 || !b.Replies[0].Late {
		return false
	}
	c.UpdateClockSkew(now, b, b.Replies[0].ServerMillis)
	if b.wasLate {
		return false
	}
	c.onReachable(now, b)
	c.counters.retries++
	b.wasLate, b.Replies = true, b.Replies[:0]
	c.retry(now, b.Node, b)
	return true
}

// UpdateClockSkew compares the server's time in a reply with the send and receive times of the batch. Only a difference
// outside that interval counts as skew.
func (c *Coordinator) UpdateClockSkew(now time.Duration, b *Batch, clock int64) {
	if clock <= 0 || clock > maxServerMillis {
		return
	}
	if !b.ViaClusterClient { // otherwise the time may be another node's
		b.Node.clock.observe(b.Sent, now, clock)
	}
	ahead := time.Duration(b.SentWallMillis-clock) * time.Millisecond
	if ahead < 0 {
		ahead = min(ahead+now-b.Sent, 0)
	}
	b.Node.clockSkew = ahead
}

// LargestClockSkew returns the clock skew with the largest absolute value among all nodes. Positive: this machine is
// ahead.
func (c *Coordinator) LargestClockSkew() (largest time.Duration) {
	for _, n := range c.Nodes {
		if n.clockSkew.Abs() > largest.Abs() {
			largest = n.clockSkew
		}
	}
	return largest
}
