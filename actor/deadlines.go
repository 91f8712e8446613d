package actor

import "time"

// deadline is a time at which something happens to a hold. In holdSet.leaseEnds it is the negative of that time. It is
// a plain value that belongs to its heap. The zero value has no hold.
type deadline struct {
	at   time.Duration
	hold *Hold
}

// deadlines is a binary min-heap. The zero value is empty. An outdated entry is removed when it reaches the top. Owned
// by the coordinator.
type deadlines []deadline

// first returns the earliest entry that is still current by is, and removes outdated ones before it.
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

// pop removes the first entry.
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
