package actor

import "time"

// renewGroup is how many successive tenures are renewed in one batch. They are neighbours in memory, here and in the
// server. Measured: spread one by one, both cost a third more.
const renewGroup = 128

// renewSlots are the slots of Config.RenewSpread at which tenures are renewed. Each tenure stays in its slot, so only
// its first renewal is early, and one after fit has merged fewer slots. newRenewSlots makes them; the zero value has no
// slot, and slotOf would divide by 0.
type renewSlots struct {
	count, perInterval uint64 // of Config.RenewSpread, and of Config.RenewInterval
	merged             uint64 // how many, side by side, are renewed together
	width              time.Duration
}

// A slot of renewals is a part of the renewal interval, and at most maxRenewSlot. Renewals of slots that are merged
// make one burst: the first batches warm caches and wake threads for all others, which leave one after the other.
// Few locks have one burst for maxMerged slots. Of many, one has about maxBurst, or one slot: they must not be late.
const (
	slotsPerInterval = 100
	maxRenewSlot     = 100 * time.Millisecond
	maxMerged        = 8    // a power of two, because fit halves it
	maxBurst         = 8192 // renewals
)

// RenewSlot returns the width of a slot of renewals.
func (c *Config) RenewSlot() time.Duration {
	return roundUp(max(min(c.RenewInterval/slotsPerInterval, maxRenewSlot), 1), grain(c.Lease))
}

func newRenewSlots(config *Config) renewSlots {
	width := config.RenewSlot()
	count := func(of time.Duration) uint64 { return max(uint64(of/width), 1) }
	return renewSlots{count(config.RenewSpread), count(config.RenewInterval), maxMerged, width}
}

// fit merges as many slots as suit a number of locks that are held. Where a tenure's slot then comes later, one of its
// renewals is earlier than needed; so twice the number is not enough to merge more.
func (s *renewSlots) fit(held int) {
	ofSlot := uint64(held) / s.perInterval
	for s.merged > 1 && ofSlot*s.merged > maxBurst {
		s.merged /= 2
	}
	for s.merged < maxMerged && ofSlot*s.merged*4 <= maxBurst {
		s.merged *= 2
	}
}

func (s *renewSlots) slotOf(tenure uint64) time.Duration {
	slot := tenure / renewGroup % s.count
	return time.Duration(slot-slot%s.merged) * s.width
}

// FitRenewals makes bursts of renewals suit the number of locks that are held. The coordinator calls it in each turn.
func (fx *Effects) FitRenewals() { fx.renewSlots.fit(fx.HeldLocks) }
