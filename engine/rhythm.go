package engine

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// Routine renewals are due long before their leases end, so they go one batch after the other, each of them
// a small one: whoever comes in between waits for one at most. Measured with 100 000 locks that had been
// taken within half a second, and a thousand pairs a second beside them: p99 4.0 to 0.9 ms.
const (
	crowd      = 512  // so many that wait go in whole batches, which cost less
	perCourier = 1024 // for so many that wait, one more batch is under way
	// leisure is the part of a lease that routine renewals may wait: on a slow link a few of them fall behind, too.
	leisure = 32
)

// renews reports whether a verb is as urgent as renewals.
func renews(verb actor.Verb) bool { return slices.Contains(urgency[0], verb) }

// renewalsWait reports whether renewals have their share of the couriers: half of them while others wait. If
// nobody waits for a renewal they have one, and the more the further they fall behind; all once they have waited
// for long, or are sent again.
func (c *coordinator) renewalsWait(now time.Duration, n *node) bool {
	renewing, behind, hurry, hurryAt := 0, 0, n.renewsAgain(), never
	for _, verb := range urgency[0] {
		if c.asksReplicas(verb) {
			continue
		}
		q := &n.queues[verb]
		renewing += n.underWay[verb]
		behind += q.len()
		hurry = hurry || q.pressing > 0 || c.late(now, q)
		if q.len() > 0 {
			hurryAt = min(hurryAt, c.lateAt(q))
		}
	}
	if !hurry && renewing > behind/perCourier {
		n.hurryAt = hurryAt
		return true
	}
	return 2*renewing >= c.couriers && n.othersWait()
}

// othersWait reports whether anything but renewals waits to be sent.
func (n *node) othersWait() bool {
	for verb := range n.queues {
		if !renews(actor.Verb(verb)) && n.queues[verb].len() > 0 {
			return true
		}
	}
	return false
}

// renewsAgain reports whether renewals wait that were under way before.
func (n *node) renewsAgain() bool {
	return slices.ContainsFunc(n.split, func(b *batch) bool { return renews(b.verb) })
}

// late reports whether something in a queue of renewals has waited for long. It stays so until the queue is empty:
// those behind have waited nearly as long.
func (c *coordinator) late(now time.Duration, q *queue) bool {
	if q.len() == 0 {
		return false
	}
	if q.watched == 0 {
		q.watched, q.watchedAt = q.len(), now
	}
	q.late = q.late || now >= c.lateAt(q)
	return q.late
}

func (c *coordinator) lateAt(q *queue) time.Duration { return q.watchedAt + c.fx.Config.Lease/leisure }

// mostKeys is how many keys the next batch from a queue has at most.
func (c *coordinator) mostKeys(now time.Duration, q *queue, verb actor.Verb) int {
	if renews(verb) && q.len() < crowd && !c.late(now, q) {
		return batchKeys / 2
	}
	return batchKeys
}
