package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// recipients is a set of locks that receive an event, which may be very many. It is the listeners of a channel of a
// node, or, with a nil node, the locks of a key. It is a description and not a copy of the set: currentRecipients and
// isRecipient look it up. The zero value has none. It is immutable once it is passed to fanOut, but for unreplicated.
type recipients struct {
	event        actor.Event
	node         *Node
	channel      string
	key          string // for the locks of a key; empty for a channel
	waiting      bool   // only the locks of the key that have waiters
	refused      bool   // only the waiting readers of the key that were refused, until one is refused again
	unreplicated *unreplicatedGrant
}

// unreplicatedGrant says that too few replicas had a grant. Only requests that waited at that time receive the cause.
// It is immutable. It always has a cause.
type unreplicatedGrant struct {
	at    time.Duration
	cause error
}

// newMessage returns the message for the recipients.
func (to *recipients) newMessage() *actor.Message {
	m := &actor.Message{Event: to.event}
	if to.unreplicated != nil {
		m.Sent, m.Cause = to.unreplicated.at, to.unreplicated.cause
	}
	return m
}

// fanout is the delivery of an event to more locks than a turn steps. If the same event recurs meanwhile, one more
// round follows, however often it recurs: the event says that something changed, not how often. The zero value has no
// recipients. Owned by the coordinator.
type fanout struct {
	to           recipients
	round        // locks that are still to be stepped
	repeat       bool
	unreplicated *unreplicatedGrant // for the next round
}

// smallFanout is the number of recipients of one event that are stepped in any case. Most events have no more.
const smallFanout = 8

// fanOut delivers an event to all recipients. If a turn has very many, some are stepped in this turn, and the rest in
// the turns that follow at once. A lock that is no recipient any more by then is skipped.
func (c *Coordinator) fanOut(now time.Duration, to recipients, all []*actor.Lock) {
	if c.repeatFanout(to) {
		return
	}
	budget := min(len(all), max(c.fanoutLeft, min(smallFanout, c.intake.lockBudget)))
	c.fanoutLeft -= budget
	if budget < len(all) {
		c.laterFanout(to, all[budget:])
	}
	c.deliver(now, to, all[:budget])
}

// laterFanout has the turns that follow deliver an event.
func (c *Coordinator) laterFanout(to recipients, all []*actor.Lock) {
	s := &fanout{to: to, round: round{all}}
	if c.fanoutOf == nil {
		c.fanoutOf = make(map[recipients]*fanout)
	}
	c.fanouts, c.fanoutOf[to.same()] = append(c.fanouts, s), s
}

// repeatFanout reports whether the same event is being delivered already, and schedules one more round then.
func (c *Coordinator) repeatFanout(to recipients) bool {
	s := c.fanoutOf[to.same()]
	if s != nil {
		s.repeat, s.unreplicated = true, to.unreplicated
	}
	return s != nil
}

// same returns the recipients without unreplicated, so that they are equal to those of the same event.
func (to recipients) same() recipients {
	to.unreplicated = nil
	return to
}

// continueFanouts continues the deliveries in progress. They take turns: one to very many locks delays the others
// little.
func (c *Coordinator) continueFanouts(now time.Duration) {
	share := max(1, c.fanoutLeft/4)
	for c.fanoutLeft > 0 && len(c.fanouts) > 0 {
		s := c.fanouts[0]
		some := s.take(min(share, c.fanoutLeft))
		c.fanoutLeft -= max(len(some), 1)
		c.deliver(now, s.to, some)
		if c.fanouts = c.fanouts[1:]; s.On() {
			c.fanouts = append(c.fanouts, s)
			continue
		}
		if delete(c.fanoutOf, s.to.same()); s.repeat {
			s.to.unreplicated = s.unreplicated
			c.laterFanout(s.to, c.currentRecipients(s.to))
		}
	}
	if len(c.fanouts) == 0 {
		c.fanoutOf = nil // a map keeps the memory of all that it ever had
	}
}

func (c *Coordinator) deliver(now time.Duration, to recipients, some []*actor.Lock) {
	message := to.newMessage()
	for _, l := range some {
		if c.isRecipient(to, l) {
			c.step(now, l, message)
		}
	}
}

// currentRecipients returns a copy of the present recipients.
func (c *Coordinator) currentRecipients(to recipients) []*actor.Lock {
	if to.node != nil {
		return to.node.Subscriptions.listeners(to.channel)
	}
	set := c.LockSets[to.key]
	if to.refused && set != nil {
		return set.waiting.all()
	}
	return set.All()
}

// isRecipient reports whether a lock is still a recipient and the event still holds for it.
func (c *Coordinator) isRecipient(to recipients, l *actor.Lock) bool {
	if to.refused {
		set := c.LockSets[to.key]
		return set != nil && set.waiting.woken && set.waiting.has(l)
	}
	if to.node == nil {
		return l.Key() == to.key && (!to.waiting || l.Awaited())
	}
	ch := to.node.Subscriptions.Channels[to.channel]
	if ch == nil || !ch.listeners.has(l) {
		return false
	}
	switch to.event {
	case actor.Subscribed:
		return to.node.Subscriptions.IsSubscribed(ch)
	case actor.SubscribeFailed:
		return !to.node.Subscriptions.IsSubscribed(ch)
	}
	return true
}
