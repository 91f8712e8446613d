package wheel

import "time"

// Due returns when a scheduled timer fires: the time it was scheduled for, rounded up to a tick. Of a timer that is not
// scheduled it means nothing.
func (w *Wheel[T]) Due(t *Timer[T]) time.Duration { return w.timeOf(t.at) }
