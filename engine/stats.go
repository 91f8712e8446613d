package engine

import "time"

// Stats is a snapshot. Gauges say how it is now, counters count since Open.
type Stats struct {
	Held          int64 // gauge: holds, re-entries counted each
	Waiting       int64 // gauge: lock requests without a verdict
	InFlight      int64 // gauge: commands on their way
	Subscriptions int64 // gauge: channels listened to
	Timers        int64 // gauge: on the wheel
	Polling       int64 // gauge: locks waited for whose channel is not listened to

	Acquired, Refused, Released, Lost uint64 // counters: holds granted, refused, unlocked, lost
	Renewed                           uint64 // counter: renewals and confirmations that the server gave
	Handed                            uint64 // counter: grants from one owner to the next without a release
	Commands, Batches, Turns          uint64 // counters: sent, calls that carried them, turns of the loop
	Retries                           uint64 // counter: commands and calls sent again
	Muted                             uint64 // counter: releases whose message the server refused to publish
	LostAtUnlock                      uint64 // counter: releases of what had been lost
	Shed                              uint64 // counter: of those refused, because as many waited as may
	Untold, Panics                    uint64 // not the engine's: what users of Hooks count

	RenewalLag time.Duration // gauge: how long past its due time the latest renewal was confirmed, of the last minute
	ClockAhead time.Duration // gauge: of this machine before the server's, when a caller last queued for a fair lock; negative: behind; in a cluster of the node it is the furthest from

	TurnTimes TurnTimes // counters: turns by how long they took, but for the one that answers
}

// snapsKept is how many of those who ask in one turn there is room for all the time.
const snapsKept = 64

// inspect answers those who asked in this turn.
func (c *coordinator) inspect(now time.Duration) {
	c.fx.Lag.Forget(now)
	for i, s := range c.snaps {
		*s, c.snaps[i] = c.stats(), nil
	}
	if c.snaps = c.snaps[:0]; cap(c.snaps) > snapsKept {
		c.snaps = nil
	}
}

func (c *coordinator) stats() Stats {
	s := &c.fx.Stats
	inFlight, subscribed := 0, 0
	for _, n := range c.nodes {
		inFlight += n.inFlight
		subscribed += n.ears.subscribed
	}
	return Stats{
		Held:          s.Held,
		Waiting:       s.Waiting,
		InFlight:      int64(inFlight),
		Subscriptions: int64(subscribed),
		Timers:        int64(c.timers()),
		Polling:       int64(c.fx.Unheard),
		Acquired:      s.Acquired,
		Refused:       s.Refused,
		Released:      s.Released,
		Lost:          s.Lost,
		Renewed:       s.Renewed,
		Handed:        s.Handed,
		Commands:      c.counters.commands,
		Batches:       c.counters.batches,
		Turns:         c.counters.turns,
		Retries:       c.counters.retries,
		Muted:         s.Muted,
		LostAtUnlock:  s.LostAtUnlock,
		Shed:          s.Shed,
		RenewalLag:    c.fx.Lag.Max(),
		ClockAhead:    c.ahead(),
		TurnTimes:     c.turnTimes,
	}
}
