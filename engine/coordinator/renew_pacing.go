package coordinator

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// longRTT is a round trip that counts as long. Routine renewals are due long before their leases end, so they are sent
// one batch after the other. Other commands then wait for at most one of them, which is small while there are any. With
// a long round trip this would gain nothing. Measured with 100 000 locks, which are renewed in bursts of 2000, and a
// thousand pairs a second beside them: p99 is 2.6 ms with several large batches in flight, 0.8 ms with one of
// BatchKeys, and 0.7 ms with one of half as many.
const longRTT = 5 * time.Millisecond

// slotsBehind returns for how many slots the oldest of routine renewals has waited: one sender should do with those of
// a slot before the next one. It is a time and not a number, because a short lease leaves little time for few. After
// the process stood still, their timers are late, and so are they.
func (c *Coordinator) slotsBehind(q *queue) int {
	list := &q.lists[unawaited]
	if list.n == 0 {
		return 0 // the common case
	}
	return int(max(list.waited(c.now), c.timersLate) / c.Fx.Config.RenewSlot())
}

// maxRenewals returns how many keys a batch of renewals may have.
func (c *Coordinator) maxRenewals(n *Node, q *queue, late bool) int {
	switch {
	case q.urgent > 0 && !late:
		return BatchKeys
	case late || c.slotsBehind(q) > 0:
		return renewKeys
	case n.othersSent && c.Fx.RoundTrip <= longRTT:
		return BatchKeys / 2
	}
	return BatchKeys
}

// IsRenewal reports whether a verb has the priority of renewals.
func IsRenewal(verb actor.Verb) bool { return slices.Contains(Priorities[0], verb) }

// renewalsThrottled reports whether renewals are throttled. While other commands wait, renewals use at most half of the
// senders. Routine renewals use one sender, and one more for each slot that they are behind. This second limit does not
// apply if a request waits for a renewal, if retry batches wait, or with a long round trip.
func (c *Coordinator) renewalsThrottled(n *Node) bool {
	renewing, behind, urgent := 0, 0, n.urgentRenewal || len(n.Retries) > 0 || c.Fx.RoundTrip > longRTT
	for _, verb := range Priorities[0] {
		if !c.WaitsForReplicas(verb) {
			renewing += n.InFlightByVerb[verb]
			behind = max(behind, c.slotsBehind(&n.Queues[verb]))
			urgent = urgent || n.Queues[verb].urgent > 0
		}
	}
	if !urgent && renewing > behind {
		return true
	}
	return 2*renewing >= c.Senders && n.hasOtherWork()
}

// hasOtherWork reports whether any command other than a renewal waits to be sent.
func (n *Node) hasOtherWork() bool {
	for verb := range n.Queues {
		if !IsRenewal(actor.Verb(verb)) && n.Queues[verb].Len() > 0 {
			return true
		}
	}
	return false
}

// markUrgent notes that a request waits for a lock's renewal that is queued. A request that needs none has recalled it.
func (c *Coordinator) markUrgent(l *actor.Lock) {
	if l.Key() != "" && IsRenewal(l.Queued()) {
		c.nodeForKey(l.Key()).urgentRenewal = true
	}
}

// clearUrgent ends what markUrgent began, once no renewal is queued.
func (n *Node) clearUrgent() {
	n.urgentRenewal = n.urgentRenewal && slices.ContainsFunc(Priorities[0], func(verb actor.Verb) bool { return n.Queues[verb].Len() > 0 })
}
