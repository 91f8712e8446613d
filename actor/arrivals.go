package actor

import "time"

const (
	arrivalSlots = 128
	// minArrivalShift is the binary logarithm of the shortest slot, in nanoseconds: 67 ms.
	minArrivalShift = 26
)

// Arrivals knows, of requests that arrived and have not ended, about when the oldest one arrived. It counts them by
// slots of time, so a request needs no memory in it. While the oldest does not fit, slots become twice as long. So a
// slot is at most 67 ms long, or 1/64 of the longest wait since there was no request. The zero value is empty. It is
// not safe for concurrent use.
type Arrivals struct {
	counts [arrivalSlots]uint32 // of slot n, at n % arrivalSlots
	first  int64                // no earlier slot has any
	total  int
	longer uint8 // the binary logarithm of a slot's length, above minArrivalShift
}

// Add counts a request that arrived now. Time must not go back between two calls.
func (a *Arrivals) Add(now time.Duration) {
	if a.total == 0 {
		a.longer = 0
		a.first = a.slot(now)
	}
	for a.slot(now)-a.first >= arrivalSlots {
		if a.counts[a.first%arrivalSlots] == 0 {
			a.first++
		} else {
			a.widen()
		}
	}
	a.counts[a.slot(now)%arrivalSlots]++
	a.total++
}

// Remove removes a request that was counted with that time.
func (a *Arrivals) Remove(arrived time.Duration) {
	a.counts[a.slot(arrived)%arrivalSlots]--
	a.total--
}

// OldestAge returns for how long the oldest request has been here, rounded down by at most the length of a slot; 0 if
// there is none.
func (a *Arrivals) OldestAge(now time.Duration) time.Duration {
	if a.total == 0 {
		return 0
	}
	oldest := a.first
	for a.counts[oldest%arrivalSlots] == 0 {
		oldest++
	}
	return max(0, now-time.Duration(oldest+1)<<(minArrivalShift+a.longer))
}

func (a *Arrivals) slot(at time.Duration) int64 { return int64(at >> (minArrivalShift + a.longer)) }

// widen makes slots twice as long.
func (a *Arrivals) widen() {
	before := a.counts
	a.counts = [arrivalSlots]uint32{}
	for n := a.first; n < a.first+arrivalSlots; n++ {
		a.counts[n/2%arrivalSlots] += before[n%arrivalSlots]
	}
	a.first /= 2
	a.longer++
}
