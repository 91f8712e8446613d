package actor

import "time"

// deadline is a moment of a hold.
type deadline struct {
	at   time.Duration
	hold *Hold
}

// deadlines are a binary heap: the least comes first. A moment that a hold has no longer goes when it comes to the top.
type deadlines []deadline

// first is the least of those that are still so.
func (q *deadlines) first(is func(deadline) bool) (d deadline, some bool) {
	for len(*q) > 0 {
		if d = (*q)[0]; is(d) {
			return d, true
		}
		q.pop()
	}
	return deadline{}, false
}

func (q *deadlines) push(d deadline) {
	*q = append(*q, d)
	for at := len(*q) - 1; at > 0; {
		parent := (at - 1) / 2
		if (*q)[parent].at <= d.at {
			return
		}
		(*q)[at], (*q)[parent] = (*q)[parent], d
		at = parent
	}
}

// pop takes the first out.
func (q *deadlines) pop() {
	last := len(*q) - 1
	d := (*q)[last]
	(*q)[last] = deadline{}
	*q = (*q)[:last]
	for at := 0; at < last; {
		child := 2*at + 1
		if child+1 < last && (*q)[child+1].at < (*q)[child].at {
			child++
		}
		if child >= last || d.at <= (*q)[child].at {
			(*q)[at] = d
			return
		}
		(*q)[at] = (*q)[child]
		at = child
	}
}
