package wheel

import "math"

// Stop refuses timers from now on, and hands back those that were pending: each gets them one by one in the order of
// their ticks, in state Cancelled. It returns how many that were. each may be nil, and may cancel timers it has not got
// yet, which are then neither handed back nor counted. Stopped again, a wheel has nothing left to hand back.
func (w *Wheel[T]) Stop(each func(*Timer[T])) int {
	w.stopped = true
	all := math.MaxInt
	if w.behind {
		w.gather(&all)
	}
	w.splice(lateSlot, dueSlot)
	w.goal = never // the largest tick
	w.gather(&all)
	handed := 0
	for head := &w.heads[dueSlot]; head.next != head; {
		t := head.next
		w.remove(t, Cancelled)
		handed++
		if each != nil {
			each(t)
		}
	}
	return handed
}
