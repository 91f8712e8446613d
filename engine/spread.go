package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// audience is a set of locks that receive an event, which may be very many. It is the listeners of a channel of a node,
// or the locks of a key.
type audience struct {
	kind    actor.Kind
	node    *node
	channel string
	key     string // for the locks of a key; empty for a channel
	waiting bool   // only the locks of the key that have waiters
	undone  *undone
}

// undone says that too few replicas had a grant. Only requests that waited at that time receive the cause.
type undone struct {
	at    time.Duration
	cause error
}

// message returns the message for the audience.
func (to *audience) message() *actor.Message {
	m := &actor.Message{Kind: to.kind}
	if to.undone != nil {
		m.Sent, m.Cause = to.undone.at, to.undone.cause
	}
	return m
}

// spread is the delivery of an event to more locks than a turn steps. If the same event recurs meanwhile, one more
// round follows, however often it recurs: the event says that something changed, not how often. Owned by the
// coordinator.
type spread struct {
	to     audience
	round  // locks that are still to be stepped
	again  bool
	undone *undone // for the next round
}

// spread delivers an event to all locks of an audience. If there are very many, some are stepped in this turn, and the
// rest in the turns that follow at once. A lock that has left the audience by then is skipped.
func (c *coordinator) spread(now time.Duration, to audience, all []*actor.Lock) {
	if c.spreadAgain(to) {
		return
	}
	most := c.intake.looks
	if len(all) > most {
		c.spreads = append(c.spreads, &spread{to: to, round: round{all[most:]}})
		all = all[:most]
	}
	c.tellAll(now, to, all)
}

// spreadAgain reports whether the same event is being delivered already, and schedules one more round then.
func (c *coordinator) spreadAgain(to audience) bool {
	for _, s := range c.spreads {
		if s.to.is(to) {
			s.again, s.undone = true, to.undone
			return true
		}
	}
	return false
}

// is reports whether two audiences are equal, apart from undone.
func (to audience) is(other audience) bool {
	to.undone, other.undone = nil, nil
	return to == other
}

// spreadOn continues the deliveries in progress.
func (c *coordinator) spreadOn(now time.Duration) {
	for left := c.intake.looks; left > 0 && len(c.spreads) > 0; {
		s := c.spreads[0]
		some := s.take(left)
		left -= max(len(some), 1)
		c.tellAll(now, s.to, some)
		if s.on() {
			continue
		}
		if c.spreads = c.spreads[1:]; s.again {
			s.to.undone = s.undone
			c.spreads = append(c.spreads, &spread{to: s.to, round: round{c.members(s.to)}})
		}
	}
}

func (c *coordinator) tellAll(now time.Duration, to audience, some []*actor.Lock) {
	told := to.message()
	for _, l := range some {
		if c.belongs(to, l) {
			c.step(now, l, told)
		}
	}
}

// members returns a copy of the present audience.
func (c *coordinator) members(to audience) []*actor.Lock {
	if to.node != nil {
		return to.node.ears.of(to.channel)
	}
	return c.groups[to.key].all()
}

// belongs reports whether a lock is still in the audience and the event still holds for it.
func (c *coordinator) belongs(to audience, l *actor.Lock) bool {
	if to.node == nil {
		return l.Key() == to.key && (!to.waiting || l.Pending())
	}
	ch := to.node.ears.channels[to.channel]
	if ch == nil || !ch.by.has(l) {
		return false
	}
	switch to.kind {
	case actor.Subscribed:
		return to.node.ears.heard(ch)
	case actor.Unheard:
		return !to.node.ears.heard(ch)
	}
	return true
}
