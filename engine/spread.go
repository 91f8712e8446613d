package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// audience is who is told something that may be for very many: all who want to hear a channel of a node, or the claims on a key.
type audience struct {
	kind    actor.Kind
	node    *node
	channel string
	key     string // of claims; empty for those of a channel
	waiting bool   // of the claims, those that are waited for
	undone  *undone
}

// undone is that too few replicas had what one of them was granted: who waited by then is told why, and not who came later.
type undone struct {
	at    time.Duration
	cause error
}

// message is what they are told.
func (to *audience) message() *actor.Message {
	m := &actor.Message{Kind: to.kind}
	if to.undone != nil {
		m.Sent, m.Cause = to.undone.at, to.undone.cause
	}
	return m
}

// spread is a message that is on its way to more locks than a turn tells. The same message that comes meanwhile is one more round, and so are
// all that come before that begins: a message says that something changed, and not how often. Owned by the coordinator.
type spread struct {
	to     audience
	round  // of those who are still to be told
	again  bool
	undone *undone // what is told then
}

// spread tells all of an audience, of very many some in this turn and the rest in the turns that follow at once. Each of them is told at the
// moment of the message or later, unless it is none of them any more.
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

// spreadAgain reports whether the same is being told already, and has it told once more then.
func (c *coordinator) spreadAgain(to audience) bool {
	for _, s := range c.spreads {
		if s.to.is(to) {
			s.again, s.undone = true, to.undone
			return true
		}
	}
	return false
}

// is reports whether the same is told to the same, whenever it happened.
func (to audience) is(other audience) bool {
	to.undone, other.undone = nil, nil
	return to == other
}

// spreadOn tells the next of those who are still to be told.
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

// members is a copy of an audience as it is now.
func (c *coordinator) members(to audience) []*actor.Lock {
	if to.node != nil {
		return to.node.ears.of(to.channel)
	}
	return c.groups[to.key].all()
}

// belongs reports whether a lock is of an audience still, and what it is to be told still so.
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
