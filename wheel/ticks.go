package wheel

import (
	"math"
	"time"
)

// endOfTime is the largest time. It counts as a tick of its own, so that rounding up never overflows.
const endOfTime = time.Duration(math.MaxInt64)

// tickAfter returns the first tick that is not before the time: a deadline rounds up, so that no timer is early.
func (w *Wheel[T]) tickAfter(at time.Duration) int64 {
	if at <= 0 {
		return 0
	}
	n := int64(at / w.width)
	if time.Duration(n)*w.width < at {
		n++
	}
	return n
}

// tickAt returns the last tick that has ended at the time.
func (w *Wheel[T]) tickAt(now time.Duration) int64 {
	if now == endOfTime {
		return w.tickAfter(now)
	}
	return int64(now / w.width)
}

// timeOf returns the time of a tick.
func (w *Wheel[T]) timeOf(tick int64) time.Duration {
	if tick > w.last {
		return endOfTime
	}
	return time.Duration(tick) * w.width
}
