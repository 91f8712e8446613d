package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/engine/histogram"
)

// Stats is a snapshot with the fields of lockwheel.Stats, which says what each of them counts (options.go of the root).
// The coordinator leaves UnwrittenRecords, DroppedEvents and Panics at zero. Package engine sets the first, and the
// users of Hooks count the other two.
//
// Stats is a plain value. The coordinator fills in that of a StatsRequest at the end of the turn. It then belongs to
// the caller. The zero value is that of an engine that has done nothing.
type Stats struct {
	Held          int64
	Waiting       int64
	InFlight      int64
	Subscriptions int64
	Timers        int64
	Polling       int64

	Acquired, Failed, Released, Lost uint64
	Renewed                          uint64
	HandedOff                        uint64
	Commands, Batches, LoopTurns     uint64
	Retries                          uint64
	UnpublishedReleases              uint64
	LostAtUnlock                     uint64
	Shed                             uint64
	Leaked                           uint64
	HeldTooLong                      uint64
	UnwrittenRecords                 uint64
	DroppedEvents, Panics            uint64

	RenewalLag     time.Duration
	LongestWaiting time.Duration
	ServersDown    int64
	ClockSkew      time.Duration

	AcquireWaits   histogram.Durations
	HoldTimes      histogram.Durations
	RenewalMargins histogram.Durations
	RoundTrips     histogram.Durations
	TurnTimes      histogram.Durations
	BatchSizes     histogram.Sizes
}

// EndGauges sets the gauges to 0, as those of an engine that is closed: what they show has ended with it. Holds and
// waiters, commands in flight, subscriptions and timers are gone. No server is asked any more, so none is known to be
// down, to lag or to have another clock. All other fields are counters, which stay.
func (s *Stats) EndGauges() {
	s.Held, s.Waiting, s.LongestWaiting = 0, 0, 0
	s.InFlight, s.Subscriptions, s.Timers, s.Polling = 0, 0, 0, 0
	s.ServersDown, s.ClockSkew = 0, 0
	s.RenewalLag = 0
}

// maxKeptPending is the largest capacity of pendingStats that is kept after a turn.
const maxKeptPending = 64

// fillStats fills in the statistics requested in this turn.
func (c *Coordinator) fillStats(now time.Duration) {
	c.Fx.RenewLag.Forget(now)
	if len(c.pendingStats) == 0 {
		return // nearly always: Stats is large, and clearing one would be a good part of a turn
	}
	all := c.Stats() // the same for all that ask in one turn
	all.LongestWaiting = c.Fx.Arrivals.OldestAge(now)
	for i, s := range c.pendingStats {
		*s, c.pendingStats[i] = all, nil
	}
	if c.pendingStats = c.pendingStats[:0]; cap(c.pendingStats) > maxKeptPending {
		c.pendingStats = nil
	}
}

// Stats returns a snapshot. The fields that users of Hooks count are 0, and so is LongestWaiting, which depends on the
// time.
func (c *Coordinator) Stats() Stats {
	s := &c.Fx.Stats
	subscribed, down := 0, 0
	for _, n := range c.Nodes {
		if unusable, _, _ := n.unusable(); unusable {
			down++
		}
		subscribed += n.Subscriptions.Subscribed
		if own := n.Subscriptions.Channels[c.own.name]; own != nil && n.Subscriptions.IsSubscribed(own) {
			subscribed--
		}
	}
	return Stats{
		Held:                s.Held,
		Waiting:             s.Waiting,
		InFlight:            int64(c.InFlightCommands()),
		Subscriptions:       int64(subscribed),
		Timers:              int64(c.Timers()),
		Polling:             int64(c.Fx.PolledLocks),
		Acquired:            s.Acquired,
		Failed:              s.Failed,
		Released:            s.Released,
		Lost:                s.Lost,
		Renewed:             s.Renewed,
		HandedOff:           s.HandedOff,
		Commands:            c.counters.commands,
		Batches:             c.counters.batches,
		LoopTurns:           c.counters.turns,
		Retries:             c.counters.retries,
		UnpublishedReleases: s.UnpublishedReleases,
		LostAtUnlock:        s.LostAtUnlock,
		Shed:                s.Shed,
		Leaked:              s.Leaked,
		HeldTooLong:         s.HeldTooLong,
		RenewalLag:          c.Fx.RenewLag.Max(),
		ServersDown:         int64(down),
		ClockSkew:           c.LargestClockSkew(),
		AcquireWaits:        c.histograms.acquireWaits,
		HoldTimes:           c.histograms.holdTimes,
		RenewalMargins:      c.histograms.renewalMargins,
		RoundTrips:          c.histograms.roundTrips,
		TurnTimes:           c.histograms.turnTimes,
		BatchSizes:          c.histograms.batchSizes,
	}
}
