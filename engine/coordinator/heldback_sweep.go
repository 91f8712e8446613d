package coordinator

import "github.com/lockwheel/lockwheel/actor"

// sweptPerAbandoned is how many messages that are held back are looked at for each request that is abandoned. So while
// a sweep looks at all of them once, a quarter as many are abandoned, of which it misses those that it has passed. With
// what the sweep before it missed, these are at most half of what is held back.
const sweptPerAbandoned = 4

// onAbandoned is called when a request is canceled, or has timed out, before its turn has come. It may be one that is
// held back. Then its message would stay until all before it are handled, while others come. So the sweep of all that
// is held back goes on, by a bounded number of messages. They may be at any node, because slots move.
func (c *Coordinator) onAbandoned(r *actor.Request) {
	if !r.Async || r.Op != actor.Acquire || r.Multi != nil {
		return
	}
	for left := sweptPerAbandoned; left > 0; left-- {
		at := c.intake.sweptList % (len(c.Nodes) * requestSorts) // there may be fewer nodes now
		if !c.Nodes[at/requestSorts].asyncRequests[at%requestSorts].sweepNext() {
			c.intake.sweptList = at + 1
		}
	}
}

// sweepNext looks at the next message of a queue of requests, and removes it if its request was abandoned. After the
// last one it returns false, and begins again.
func (q *messageQueue) sweepNext() bool {
	m := q.first
	if q.swept != nil {
		m = q.swept.Next
	}
	if m == nil {
		q.swept = nil
		return false
	}
	if r, ok := m.Value.(*actor.Request); !ok || !r.Handled() {
		q.swept = m
		return true
	}
	if q.swept == nil {
		q.first = m.Next
	} else {
		q.swept.Next = m.Next
	}
	if q.last == m {
		q.last = q.swept
	}
	m.Next = nil
	q.n--
	q.work -= ownWeight(m)
	return true
}
