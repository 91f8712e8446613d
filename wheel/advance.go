package wheel

import (
	"math"
	"time"
)

// Advance moves the wheel to now, calls fire for each timer that is due, and returns how many it fired. It fires at
// most Config.Budget, and what Config.Sorts lets it reach. If now is older than in the latest call, or the wheel is
// stopped, it changes nothing and fires nothing.
//
// Timers of different ticks fire in the order of their ticks. The order within one tick is not defined.
//
// A timer is in state Fired before fire receives it. fire may schedule and cancel any timer, this one and its
// neighbours included, and may stop the wheel. It must not call Advance, which panics then. A timer that fire schedules
// for now or earlier waits for the next Advance, so a timer that re-arms itself cannot occupy the loop.
//
// A panic in fire reaches the caller of Advance. The timer that panicked has fired; the others that were due stay due,
// and the next Advance goes on with them.
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
	if !w.behind || w.collectDue(&left) { // what the latest Advance left comes first, and what was late for it
		w.splice(pastSlot, dueSlot)
		w.goal = w.tickAt(now)
		w.collectDue(&left)
	}
	return w.fireDue(fire)
}

// collectDue takes out what is due at the goal and appends it to the due list in the order of ticks. Advance calls it
// before the first callback, which may then change the slots. The result says whether that is all: if not, w.behind is
// set and w.tick is earlier than the goal.
func (w *Wheel[T]) collectDue(left *int) (all bool) {
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
		w.cascade(slot, left)
	}
}

// cascade moves the timers of a slot to finer slots when its bound is reached. Timers that are due go to the due list.
// Those still beyond the last level go from overflowSlot to nextOverflowSlot, or back. It moves at most as many as
// *left allows; the others stay, and the slot keeps its bound.
func (w *Wheel[T]) cascade(slot int, left *int) {
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
			to = nextOverflowSlot
		}
		w.unlink(t)
		w.link(t, to)
	}
}

// fireDue fires timers from the head of the due list. The list belongs to the wheel, not to the call. So a callback can
// cancel timers on it, and a panic or the end of the budget leaves the rest for the next call.
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

// Next returns when the owner should call Advance next. ok is false while no timer is pending; the owner may then sleep
// until it schedules one. If timers are already due, Next returns the time of the latest Advance.
//
// Next is never later than the earliest tick that has a timer. After a timer was canceled or moved, it may be earlier:
// it may still return the former tick, once, for an Advance that fires nothing.
func (w *Wheel[T]) Next() (at time.Duration, ok bool) {
	if w.occupied(dueSlot) || w.occupied(pastSlot) {
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
