package coordinator

import (
	"math"
	"time"
)

// TurnTimes is a histogram of the durations of turns. Its buckets are those of TurnTimes.Bound and never change. So
// counts grow from snapshot to snapshot, and those of several engines can be added. It is a plain value.
type TurnTimes [len(turnBounds) + 1]uint64

var turnBounds = [...]time.Duration{
	10 * time.Microsecond, 20 * time.Microsecond, 50 * time.Microsecond,
	100 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second,
}

// Bound returns the upper bound of bucket i, inclusive. The bounds are 10, 20, 50, 100, 200 and 500 µs, and so on up to
// 1 s. The last bucket counts all longer turns, and its bound is the longest duration.
func (t *TurnTimes) Bound(i int) time.Duration {
	if i == len(turnBounds) {
		return math.MaxInt64
	}
	return turnBounds[i]
}

// Quantile returns the bound of the bucket within which the given part of all turns lies; part is between 0 and 1.
// Without any turn it returns 0.
func (t *TurnTimes) Quantile(part float64) time.Duration {
	turns := t.Turns()
	within, before := max(uint64(math.Ceil(part*float64(turns))), 1), uint64(0)
	for i, n := range t {
		if before += n; before >= within {
			return t.Bound(i)
		}
	}
	return 0
}

// Turns returns the number of turns counted.
func (t *TurnTimes) Turns() (turns uint64) {
	for _, n := range t {
		turns += n
	}
	return turns
}

// note counts a turn.
func (t *TurnTimes) note(took time.Duration) {
	i := 0
	for i < len(turnBounds) && took > turnBounds[i] {
		i++ // usually none: short turns come first
	}
	t[i]++
}

// NoteTurn counts a turn for [Stats].
func (c *Coordinator) NoteTurn(took time.Duration) { c.TurnTimes.note(took) }
