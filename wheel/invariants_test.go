package wheel

import "testing"

// checkInvariants fails the test unless the wheel's structure is valid.
func checkInvariants[T any](t testing.TB, w *Wheel[T]) {
	t.Helper()
	if !w.stopped && (w.goal > w.tickAt(w.now) || w.tick > w.goal || !w.behind && (w.tick != w.goal || w.goal != w.tickAt(w.now))) {
		t.Fatalf("at tick %d, but %v is tick %d", w.tick, w.now, w.tickAt(w.now))
	}
	pending := 0
	for slot := range numSlots {
		pending += checkRing(t, w, slot)
	}
	if pending != w.pending {
		t.Fatalf("%d timers in slots, but Len is %d", pending, w.pending)
	}
}

// checkRing checks one slot and returns how many timers it holds.
func checkRing[T any](t testing.TB, w *Wheel[T], slot int) (n int) {
	head := &w.heads[slot]
	if head.at != int64(slot) {
		t.Fatalf("the head of slot %d says %d", slot, head.at)
	}
	previous := int64(0)
	for timer := head.next; timer != head; timer = timer.next {
		n++
		if timer.next.prev != timer || timer.prev.next != timer {
			t.Fatalf("broken links in slot %d", slot)
		}
		if timer.at < w.bounds[slot] {
			t.Fatalf("slot %d has bound %d, but a timer at %d", slot, w.bounds[slot], timer.at)
		}
		if slot == dueSlot || slot == pastSlot {
			if timer.at < previous || timer.at > w.goal {
				t.Fatalf("slot %d at tick %d: %d after %d", slot, w.tick, timer.at, previous)
			}
			previous = timer.at
			continue
		}
		checkPlace(t, w, slot, timer.at)
	}
	if w.occupied(slot) != (n > 0) {
		t.Fatalf("slot %d holds %d timers, but occupied is %t", slot, n, n == 0)
	}
	if n == 0 && (w.bounds[slot] != never || head.prev != head) {
		t.Fatalf("slot %d is empty, but not clear", slot)
	}
	return n
}

// checkPlace checks that a slot is one in which a timer for the tick is found in time.
func checkPlace[T any](t testing.TB, w *Wheel[T], slot int, tick int64) {
	if !w.behind && (tick <= w.tick || w.bounds[slot] <= w.tick) || tick < w.tick {
		t.Fatalf("slot %d still holds tick %d at tick %d, bound %d", slot, tick, w.tick, w.bounds[slot])
	}
	if slot == overflowSlot || slot == nextOverflowSlot {
		return
	}
	level, shift := slot>>slotBits, slot>>slotBits*stepBits
	if tick>>shift%slotsPerLevel != int64(slot%slotsPerLevel) {
		t.Fatalf("tick %d in slot %d of level %d", tick, slot%slotsPerLevel, level)
	}
	if tick>>shift-w.tick>>shift >= slotsPerLevel {
		t.Fatalf("tick %d is more than a revolution of level %d ahead of %d", tick, level, w.tick)
	}
}
