package engine

import (
	"math"
	"time"
)

// TurnTimes counts turns of the loop by how long they took. Its buckets are those of TurnTimes.Bound, and never change: what they counted
// grows from snapshot to snapshot, and what engines counted can be added up.
type TurnTimes [len(turnBounds) + 1]uint64

var turnBounds = [...]time.Duration{
	10 * time.Microsecond, 20 * time.Microsecond, 50 * time.Microsecond,
	100 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second,
}

// Bound is how long a turn that bucket i counts took at most, and longer than the bound before it: 10, 20 and 50 µs, 100, 200 and
// 500 µs, and so on up to a second. The last bucket counts whatever took longer, and its bound is the longest duration there is.
func (t *TurnTimes) Bound(i int) time.Duration {
	if i == len(turnBounds) {
		return math.MaxInt64
	}
	return turnBounds[i]
}

// Quantile is how long such a part of all turns took at most, of 1 all of them: the bound of a bucket. Without any turn it is 0.
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

// Turns is how many it has counted.
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
		i++ // mostly none: short turns come first
	}
	t[i]++
}
