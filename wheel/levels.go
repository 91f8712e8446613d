package wheel

import (
	"math"
	"math/bits"
)

// The levels. A slot of level n is 8^n ticks wide, and a level has 256 slots. A timer goes to the lowest level that
// reaches its deadline. Up to 254 ticks ahead, its slot is one tick wide; beyond that, between 1/254 and 1/31 of the
// time that is left. So cascading a slot moves a small part of the timers, never all at once.
//
//	level   width    reach with ticks of 5 ms
//	0           1    1.27 s
//	1           8    10.2 s
//	2          64    81 s
//	3         512    10.8 min
//	4        4096    1.4 h
//	5       32768    11.6 h
//	6      262144    3.9 days
//
// Timers further ahead wait unsorted in one more slot, and are sorted when the first of them is due. Those that are
// still too far then go to another such slot, so that a slot can be emptied in parts.
const (
	slotBits = 8
	stepBits = 3
	levels   = 7

	slotsPerLevel = 1 << slotBits
	wordsPerLevel = slotsPerLevel / 64

	overflowSlot     = levels * slotsPerLevel // beyond the last level
	nextOverflowSlot = overflowSlot + 1       // the same, for timers that were in overflowSlot when that was cascaded
	dueSlot          = overflowSlot + 2       // taken out of the slots by Advance, in the order in which they fire
	pastSlot         = overflowSlot + 3       // already past when scheduled; for the next Advance
	numSlots         = overflowSlot + 4

	noSlot = -1

	// never is the lower bound of an empty slot.
	never = math.MaxInt64
)

// slotFor returns the slot for a tick that is later than now.
func slotFor(tick, now int64) int {
	ahead := uint64(tick - now)
	// A level of 256 slots reaches only 254 widths ahead; the addition accounts for that. The slot of now is partly over
	// but may still hold timers, and one revolution ahead is that slot again.
	length := bits.Len64((ahead + ahead>>(slotBits-1)) | (slotsPerLevel - 1))
	level := (length - slotBits + stepBits - 1) / stepBits
	if level >= levels {
		return overflowSlot
	}
	return level<<slotBits | int(tick>>(level*stepBits))&(slotsPerLevel-1)
}
