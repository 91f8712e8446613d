package wheel

import "time"

// Due returns when a scheduled timer fires: the time it was scheduled for, rounded up to a tick. If the timer is not
// scheduled, the result is meaningless.
func (w *Wheel[T]) Due(t *Timer[T]) time.Duration { return w.timeOf(t.at) }
