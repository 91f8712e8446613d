package coordinator

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// Routine renewals are due long before their leases end, so they are sent one batch after the other. Other commands
// then wait for at most one of them, which is small while there are any. With a long round trip this would gain
// nothing. Measured with 100 000 locks, which are renewed in bursts of 2000, and a thousand pairs a second beside them:
// p99 is 2.6 ms with several large batches in flight, 0.8 ms with one of BatchKeys, and 0.7 ms with one of half as
// many.
const (
	renewalsPerSender = 32 * BatchKeys       // waiting renewals per further batch in flight, in larger batches
	longRTT           = 5 * time.Millisecond // a round trip that counts as long
)

// maxRenewals returns how many keys a batch of renewals may have.
func (c *Coordinator) maxRenewals(n *Node, q *queue, late bool) int {
	switch {
	case q.urgent > 0 && !late:
		return BatchKeys
	case late || q.Len() >= renewalsPerSender:
		return renewKeys
	case n.othersSent && c.Fx.RoundTrip <= longRTT:
		return BatchKeys / 2
	}
	return BatchKeys
}

// IsRenewal reports whether a verb has the priority of renewals.
func IsRenewal(verb actor.Verb) bool { return slices.Contains(Priorities[0], verb) }

// renewalsThrottled reports whether renewals are throttled. While other commands wait, renewals use at most half of the
// senders. Routine renewals use one sender, and one more for each renewalsPerSender that wait. This second limit does
// not apply if a request waits for a renewal, if routine ones are late, if retry batches wait, or with a long round
// trip.
func (c *Coordinator) renewalsThrottled(n *Node) bool {
	renewing, behind, urgent := 0, 0, n.urgentRenewal || len(n.Retries) > 0 || c.Fx.RoundTrip > longRTT
	for _, verb := range Priorities[0] {
		if !c.WaitsForReplicas(verb) {
			renewing += n.InFlightByVerb[verb]
			behind += n.Queues[verb].Len()
			urgent = urgent || n.Queues[verb].urgent > 0 || c.routineLate(&n.Queues[verb])
		}
	}
	if !urgent && renewing > behind/renewalsPerSender {
		return true
	}
	return 2*renewing >= c.Senders && n.hasOtherWork()
}

// routineLate reports whether routine renewals have waited for a part of the renewal interval.
func (c *Coordinator) routineLate(q *queue) bool {
	return q.lists[unawaited].waited(c.now) > c.Fx.Config.RenewInterval/lateRoutine
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

// markUrgent notes that a lock has another command to send while its renewal is queued. The renewal is then urgent, or
// is recalled.
func (c *Coordinator) markUrgent(l *actor.Lock) {
	if l.Key() != "" && IsRenewal(l.InFlight()) {
		c.nodeForKey(l.Key()).urgentRenewal = true
	}
}

// clearUrgent ends what markUrgent began, once no renewal is queued.
func (n *Node) clearUrgent() {
	n.urgentRenewal = n.urgentRenewal && slices.ContainsFunc(Priorities[0], func(verb actor.Verb) bool { return n.Queues[verb].Len() > 0 })
}
