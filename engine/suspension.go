package engine

import "time"

const (
	// suspendThreshold is how far the wall clock may run ahead of the monotonic one before the engine assumes that the
	// machine was suspended. The margins of a lease of 1 s are 20 ms, and those of longer ones are larger.
	suspendThreshold = 15 * time.Millisecond
	// slewShare is the part of the elapsed time by which the wall clock may run ahead because it is slewed: NTP slews by
	// at most 1/2000. It is a twentieth of the margin of a lease.
	slewShare = 2000
)

// clocks compares the wall clock of an engine with the monotonic one, at the beginning of each turn. It belongs to the
// loop. The zero value begins with the first comparison.
type clocks struct {
	began    bool
	at       time.Duration // monotonic time of the last turn
	expected time.Duration // the wall clock minus the monotonic one, without a suspension
	last     time.Duration // the same difference as it was at the last turn
}

// suspended reports whether the wall clock has run ahead: since the turn before, or little by little in several turns.
// offset is the wall clock minus the monotonic one. A wall clock that is put back, or slewed, is no suspension. If the
// thread stops between the readings of the two clocks, the offset is once too small. So a smaller offset counts only if
// two turns have it.
func (c *clocks) suspended(now, offset time.Duration) bool {
	if !c.began {
		c.began, c.expected, c.last = true, offset, offset
	}
	slewed := min((now-c.at)/slewShare, suspendThreshold)
	c.expected = min(c.expected+slewed, max(offset, c.last))
	c.at, c.last = now, offset
	if offset-c.expected <= suspendThreshold {
		return false
	}
	c.expected = offset
	return true
}
