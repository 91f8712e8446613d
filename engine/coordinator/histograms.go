package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/histogram"
)

// histograms are those of [Stats]. They are filled from what requests, holds and batches know anyway, so that no lock
// and no waiter takes memory for them. The zero value has counted nothing. Owned by the coordinator.
type histograms struct {
	acquireWaits, holdTimes, renewalMargins, roundTrips, turnTimes histogram.Durations
	batchSizes                                                     histogram.Sizes
}

// noteOutputs counts the results and the ended holds of a turn, and completes the causes of these.
func (c *Coordinator) noteOutputs(now time.Duration) {
	for _, r := range c.Results.Ready {
		if r.Op == actor.Acquire && !retriedSingly(r) {
			c.histograms.acquireWaits.Add(now - r.ReceivedAt())
		}
	}
	c.own.forced.explain(now, c.Fx.HoldEnds)
	for i := range c.Fx.HoldEnds {
		c.histograms.holdTimes.Add(c.Fx.HoldEnds[i].Held)
	}
}

// retriedSingly reports whether a request for several locks has failed only for its caller to request the locks one by
// one. Those requests have results of their own.
func retriedSingly(r *actor.Request) bool {
	return r.Err == actor.ErrReentry || r.Err == actor.ErrOvertaken
}

// noteRenewalMargins counts the confirmed renewals of the lock that stepped.
func (c *Coordinator) noteRenewalMargins() {
	for _, left := range c.Fx.RenewalMargins {
		c.histograms.renewalMargins.Add(left)
	}
	c.Fx.RenewalMargins = c.Fx.RenewalMargins[:0]
}

// NoteTurn counts a turn for [Stats]. The loop calls it, because it has a clock.
func (c *Coordinator) NoteTurn(took time.Duration) { c.histograms.turnTimes.Add(took) }
