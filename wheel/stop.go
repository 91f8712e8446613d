package wheel

import "math"

// Stop makes Schedule fail from now on and cancels all pending timers. It calls each for every one of them, in the
// order of their ticks and in state Canceled, and returns how many there were. each may be nil. It may cancel timers
// that it has not received yet; those are neither passed to it nor counted. A second Stop finds no timers.
func (w *Wheel[T]) Stop(drain func(*Timer[T])) int {
	w.stopped = true
	all := math.MaxInt
	if w.behind {
		w.collectDue(&all)
	}
	w.splice(pastSlot, dueSlot)
	w.goal = never // the largest tick
	w.collectDue(&all)
	handed := 0
	for head := &w.heads[dueSlot]; head.next != head; {
		t := head.next
		w.remove(t, Canceled)
		handed++
		if drain != nil {
			drain(t)
		}
	}
	return handed
}
