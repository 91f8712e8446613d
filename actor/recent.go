package actor

import "time"

const (
	// recentSlots of recentSlot each are remembered: a minute, and the slot that is being filled.
	recentSlots = 7
	recentSlot  = 10 * time.Second
)

// RecentMax is the largest duration of the last minute. Its zero value has seen none. It forgets in slots of ten
// seconds, so that a value counts for 60 to 70 s.
type RecentMax struct {
	slots [recentSlots]time.Duration
	last  time.Duration // the number of the slot that is being filled
}

// Note takes in a value.
func (r *RecentMax) Note(now, value time.Duration) {
	r.Forget(now)
	slot := &r.slots[r.last%recentSlots]
	*slot = max(*slot, value)
}

// Forget empties the slots that are over.
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

// Max is the largest value that is not forgotten.
func (r *RecentMax) Max() (largest time.Duration) {
	for _, value := range r.slots {
		largest = max(largest, value)
	}
	return largest
}
