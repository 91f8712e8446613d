package wheel

import (
	"math"
	"time"
)

// Advance moves the wheel to now, fires what is due, and returns how many timers that were: at most Config.Budget, and what Config.Sorts
// lets it come to. A now that is older than the latest one changes nothing and fires nothing.
//
// Timers of different ticks fire in the order of their ticks. Within one tick the order is not promised.
//
// A timer is in state Fired before fire gets it. fire may schedule and cancel any timer, its own and its neighbours
// included, and may stop the wheel; it must not call Advance, which panics. What it schedules for now or earlier waits
// for the next Advance, so that a timer that re-arms itself cannot keep the loop.
//
// A panic in fire goes to Advance's caller. The timer that panicked has fired, the others that were due stay due: the
// next Advance goes on with them.
func (w *Wheel[T]) Advance(now time.Duration, fire func(*Timer[T])) (fired int) {
	if w.firing {
		panic("lockwheel: bug: Advance called by a timer that Advance fired")
	}
	if now < w.now || w.stopped {
		return 0
	}
	left := w.config.Sorts
	if left <= 0 {
		left = math.MaxInt
	}
	w.now = now
	if !w.behind || w.gather(&left) { // what the latest Advance left comes first, and what was late for it
		w.splice(lateSlot, dueSlot)
		w.goal = w.tickAt(now)
		w.gather(&left)
	}
	return w.fireDue(fire)
}

// gather takes out what is due at the goal and puts it on the due list, in the order of the ticks, before the first callback, which may
// then change the slots as it likes. It reports whether that is all: if not, it is behind, and stands at an earlier tick.
func (w *Wheel[T]) gather(left *int) (all bool) {
	for {
		slot, bound := w.earliest(w.tick)
		if slot == noSlot || bound > w.goal {
			w.tick, w.behind = w.goal, false
			return true
		}
		if *left <= 0 {
			w.behind = true
			return false
		}
		w.tick = bound
		w.open(slot, left)
	}
}

// open empties a slot whose bound has come, or as much of it as may still be sorted: what is due goes to the due list, the rest to lower
// levels, and what is beyond the last level to the other slot for that. What is left keeps the slot's bound.
func (w *Wheel[T]) open(slot int, left *int) {
	if *left--; slot < slotsPerLevel { // one tick wide, so all of it is due
		w.splice(slot, dueSlot)
		return
	}
	for head := &w.heads[slot]; head.next != head && *left >= 0; *left-- {
		t, to := head.next, dueSlot
		if t.at > w.tick {
			to = slotFor(t.at, w.tick)
		}
		if to == slot {
			to = fartherSlot
		}
		w.unlink(t)
		w.link(t, to)
	}
}

// fireDue fires from the head of the due list. The list belongs to the wheel, not to the call: a callback can cancel what
// is on it, and a panic or the end of the budget leaves the rest where the next call finds it.
func (w *Wheel[T]) fireDue(fire func(*Timer[T])) (fired int) {
	w.firing = true
	defer func() { w.firing = false }()
	for head := &w.heads[dueSlot]; head.next != head; {
		if w.config.Budget > 0 && fired == w.config.Budget {
			break
		}
		t := head.next
		w.remove(t, Fired)
		fired++
		fire(t)
	}
	return fired
}

// Next returns when Advance should be called next; ok is false while no timer is pending, and the owner may sleep until
// it schedules one. With timers that are due already, it is the time of the latest Advance.
//
// It is never later than the earliest tick that has a timer. It may be earlier after a timer was cancelled or moved: the
// tick that it was set for may still be returned, once, for an Advance that fires nothing.
func (w *Wheel[T]) Next() (at time.Duration, ok bool) {
	if w.occupied(dueSlot) || w.occupied(lateSlot) {
		return w.now, true
	}
	slot, bound := w.earliest(w.tick)
	if slot == noSlot {
		return 0, false
	}
	if w.behind {
		return w.now, true
	}
	return w.timeOf(bound), true
}
