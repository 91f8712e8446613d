package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/engine/histogram"
)

// Stats is a snapshot. Gauges give the present state; counters count since Open. It is a plain value: the coordinator
// fills in that of a StatsRequest at the end of the turn, and then it belongs to the caller. The zero value is that of
// an engine that has done nothing.
type Stats struct {
	Held          int64 // gauge: holds; each re-entry counts
	Waiting       int64 // gauge: lock requests without a result
	InFlight      int64 // gauge: commands in flight
	Subscriptions int64 // gauge: subscribed channels
	Timers        int64 // gauge: timers on the wheels
	Polling       int64 // gauge: locks waited for without a subscription

	Acquired, Failed, Released, Lost uint64 // counters: holds granted, lock requests failed, holds unlocked, holds lost
	Renewed                          uint64 // counter: renewals and confirmations by the server
	HandedOff                        uint64 // counter: grants from one owner to the next without a release
	Commands, Batches, LoopTurns     uint64 // counters: commands sent, batches that carried them, turns of the loop
	Retries                          uint64 // counter: commands without a reply or rejected, and batches sent again as a whole or in parts
	UnpublishedReleases              uint64 // counter: releases that the server did not publish, because it rejected the message
	LostAtUnlock                     uint64 // counter: releases of locks that had been lost
	Shed                             uint64 // counter: those of Failed that were rejected by a limit on waiters
	Leaked                           uint64 // counter: holds that no caller could unlock any more
	HeldTooLong                      uint64 // counter: owners that had a lock for Config.HeldTooLong
	UnwrittenRecords                 uint64 // counter: writes of the engine's record that failed; not set by the coordinator
	DroppedEvents, Panics            uint64 // not set by the engine: the users of Hooks count them

	RenewalLag time.Duration // gauge: longest delay of a renewal's confirmation past its due time, in the last minute
	// gauge: this machine's clock minus the server's, when a caller last queued for a fair lock; negative: behind. In a
	// cluster it is that of the node with the largest difference.
	ClockSkew time.Duration

	AcquireWaits   histogram.Durations // of each lock request, until it was granted or rejected
	HoldTimes      histogram.Durations // of each hold that has ended, since its owner's first grant
	RenewalMargins histogram.Durations // what was left of a lease when its renewal was confirmed
	RoundTrips     histogram.Durations // of each batch that the server replied to
	TurnTimes      histogram.Durations // of each turn but the one that takes the snapshot
	BatchSizes     histogram.Sizes     // commands of each batch
}

// maxKeptPending is the largest capacity of pendingStats that is kept after a turn.
const maxKeptPending = 64

// fillStats fills in the statistics requested in this turn.
func (c *Coordinator) fillStats(now time.Duration) {
	c.Fx.RenewLag.Forget(now)
	var all Stats // the same for all that ask in one turn
	if len(c.pendingStats) > 0 {
		all = c.Stats()
	}
	for i, s := range c.pendingStats {
		*s, c.pendingStats[i] = all, nil
	}
	if c.pendingStats = c.pendingStats[:0]; cap(c.pendingStats) > maxKeptPending {
		c.pendingStats = nil
	}
}

// Stats returns a snapshot. The fields that users of Hooks count are 0.
func (c *Coordinator) Stats() Stats {
	s := &c.Fx.Stats
	inFlight, subscribed := 0, 0
	for _, n := range c.Nodes {
		inFlight += n.inFlight
		subscribed += n.Subscriptions.Subscribed
		if own := n.Subscriptions.Channels[c.own.name]; own != nil && n.Subscriptions.IsSubscribed(own) {
			subscribed--
		}
	}
	return Stats{
		Held:                s.Held,
		Waiting:             s.Waiting,
		InFlight:            int64(inFlight),
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
		ClockSkew:           c.LargestClockSkew(),
		AcquireWaits:        c.histograms.acquireWaits,
		HoldTimes:           c.histograms.holdTimes,
		RenewalMargins:      c.histograms.renewalMargins,
		RoundTrips:          c.histograms.roundTrips,
		TurnTimes:           c.histograms.turnTimes,
		BatchSizes:          c.histograms.batchSizes,
	}
}
