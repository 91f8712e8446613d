package actor

import "time"

const (
	// recentSlots slots of recentSlot each are kept: a minute, and the slot that is being filled.
	recentSlots = 7
	recentSlot  = 10 * time.Second
)

// RecentMax is the maximum of the durations noted in the last minute. It forgets in slots of ten seconds, so a value
// counts for 60 to 70 s. The zero value is empty. It is not safe for concurrent use.
type RecentMax struct {
	slots [recentSlots]time.Duration
	last  time.Duration // number of the slot that is being filled
}

// Note adds a value.
func (r *RecentMax) Note(now, value time.Duration) {
	r.Forget(now)
	slot := &r.slots[r.last%recentSlots]
	*slot = max(*slot, value)
}

// Forget clears the slots that are more than a minute old.
func (r *RecentMax) Forget(now time.Duration) {
	current := now / recentSlot
	if current-r.last >= recentSlots {
		r.slots, r.last = [recentSlots]time.Duration{}, current
	}
	for r.last < current {
		r.last++
		r.slots[r.last%recentSlots] = 0
	}
}

// Max returns the largest value that is not forgotten; 0 if there is none.
func (r *RecentMax) Max() (largest time.Duration) {
	for _, value := range r.slots {
		largest = max(largest, value)
	}
	return largest
}
