package sim

import (
	"math/bits"
	"time"
)

// simEvents holds the events that are still to happen: a heap of moments with four children each, and beside it
// what happens at them. Moments have no pointers, so moving them costs the garbage collector nothing.
type simEvents struct {
	heap  []simMoment
	todo  []simEvent
	spare []int32 // free places in todo
	count uint64
}

type simMoment struct {
	at     time.Duration
	number uint64 // events of one moment happen in the order in which they were planned
	place  int32  // index in todo
}

type simEvent struct {
	key uint64 // what the event draws follows from it
	do  func()
}

// before returns 1 if a moment comes before another, and 0 otherwise. It has no branch, because the processor could
// not predict it.
func (m *simMoment) before(other *simMoment) int {
	_, borrow := bits.Sub64(m.number, other.number, 0)
	_, borrow = bits.Sub64(uint64(m.at), uint64(other.at), borrow)
	return int(borrow)
}

func (q *simEvents) push(at time.Duration, key uint64, do func()) {
	place := int32(len(q.todo))
	if last := len(q.spare) - 1; last >= 0 {
		place, q.spare = q.spare[last], q.spare[:last]
		q.todo[place] = simEvent{key, do}
	} else {
		q.todo = append(q.todo, simEvent{key, do})
	}
	q.count++
	m := simMoment{at, q.count, place}
	q.heap = append(q.heap, m)
	h, i := q.heap, len(q.heap)-1
	for i > 0 {
		parent := (i - 1) / 4
		if m.before(&h[parent]) == 0 {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = m
}

// pop removes the next event and returns it with its time.
func (q *simEvents) pop() (at time.Duration, e simEvent) {
	first, last := q.heap[0], len(q.heap)-1
	m := q.heap[last]
	h := q.heap[:last]
	q.heap = h
	for i := 0; last > 0; {
		least := q.leastChild(i)
		if least < 0 || m.before(&h[least]) != 0 {
			h[i] = m
			break
		}
		h[i] = h[least]
		i = least
	}
	q.spare = append(q.spare, first.place)
	return first.at, q.todo[first.place]
}

// leastChild returns which of a moment's children comes first, -1 if it has none.
func (q *simEvents) leastChild(i int) int {
	h, least := q.heap, 4*i+1
	if least+4 <= len(h) {
		some := least + h[least+1].before(&h[least])
		others := least + 2 + h[least+3].before(&h[least+2])
		return some + (others-some)*h[others].before(&h[some])
	}
	if least >= len(h) {
		return -1
	}
	for child := least + 1; child < len(h); child++ {
		if h[child].before(&h[least]) != 0 {
			least = child
		}
	}
	return least
}

// empty reports whether no event is left.
func (q *simEvents) empty() bool { return len(q.heap) == 0 }

// next returns when the next event happens.
func (q *simEvents) next() time.Duration { return q.heap[0].at }
