package wheel

import "math/bits"

// slots holds the rings of timers and an index over them. The index has a bit for each ring that is not empty, and a
// lower bound of its ticks.
type slots[T any] struct {
	// bits has one bit for each slot, set while its ring is not empty.
	bits [numSlots/64 + 1]uint64

	// bounds has for each slot a tick that is not later than its earliest timer. When the earliest is canceled, the
	// bound stays: it is too early then, which costs one look, but never too late.
	bounds [numSlots]int64

	// heads are the rings. An empty ring is its head alone. A head knows its slot's number, so a timer can be unlinked
	// without knowing its slot.
	heads [numSlots]Timer[T]
}

// init makes every ring empty.
func (s *slots[T]) init() {
	for i := range s.heads {
		s.heads[i].at = int64(i)
		s.clear(i)
	}
}

// clear makes the slot's ring empty. Timers that were in it keep their links.
func (s *slots[T]) clear(slot int) {
	head := &s.heads[slot]
	head.next, head.prev = head, head
	s.unmark(slot)
}

// unmark records that the slot's ring is empty.
func (s *slots[T]) unmark(slot int) {
	s.bits[slot/64] &^= 1 << (slot % 64)
	s.bounds[slot] = never
}

// mark records that the slot holds a timer for the tick.
func (s *slots[T]) mark(slot int, tick int64) {
	s.bits[slot/64] |= 1 << (slot % 64)
	s.bounds[slot] = min(s.bounds[slot], tick)
}

// occupied reports whether the slot holds a timer.
func (s *slots[T]) occupied(slot int) bool {
	return s.bits[slot/64]&(1<<(slot%64)) != 0
}

// link appends the timer to the slot's ring.
func (s *slots[T]) link(t *Timer[T], slot int) {
	head := &s.heads[slot]
	last := head.prev
	t.prev, t.next = last, head
	last.next, head.prev = t, t
	s.mark(slot, t.at)
}

// unlink removes the timer from its ring, whichever that is, and does not change the timer's own fields. It reads
// nothing of the neighbours: among a million timers each such read waits for memory, while a write does not.
func (s *slots[T]) unlink(t *Timer[T]) {
	prev, next := t.prev, t.next
	prev.next, next.prev = next, prev
	if prev == next { // only the head is left
		s.unmark(int(next.at))
	}
}

// splice moves all timers of one slot to the end of another's ring.
func (s *slots[T]) splice(from, to int) {
	if !s.occupied(from) {
		return
	}
	src, dst := &s.heads[from], &s.heads[to]
	first, last := src.next, src.prev
	first.prev, dst.prev.next = dst.prev, first
	last.next, dst.prev = dst, last
	s.mark(to, s.bounds[from])
	s.clear(from)
}

// earliest returns the slot with the lowest bound, and that bound; noSlot and never if there is no timer. Of equal
// bounds the one of the higher level is returned.
func (s *slots[T]) earliest(now int64) (slot int, bound int64) {
	slot, bound = noSlot, never
	for level := range levels {
		if i := s.firstOf(level, now); i != noSlot && s.bounds[i] <= bound {
			slot, bound = i, s.bounds[i]
		}
	}
	for _, overflow := range [...]int{overflowSlot, nextOverflowSlot} {
		if s.occupied(overflow) && s.bounds[overflow] <= bound {
			slot, bound = overflow, s.bounds[overflow]
		}
	}
	return slot, bound
}

// firstOf returns the first occupied slot of a level in the order of time. That order begins at the slot of now and
// wraps around once; noSlot if there is none.
func (s *slots[T]) firstOf(level int, now int64) int {
	words := (*[wordsPerLevel]uint64)(s.bits[level*wordsPerLevel:])
	start := int(now>>(level*stepBits)) & (slotsPerLevel - 1)
	word, bit := start/64, start%64
	if ahead := words[word] >> bit; ahead != 0 {
		return level<<slotBits | (start + bits.TrailingZeros64(ahead))
	}
	for range wordsPerLevel { // ends with the word it began in, for the bits before the first
		word = (word + 1) % wordsPerLevel
		if words[word] != 0 {
			return level<<slotBits | (word*64 + bits.TrailingZeros64(words[word]))
		}
	}
	return noSlot
}
