package engine

import (
	"errors"
	"slices"
	"time"
)

// simEars is the pub/sub connection of an engine, with the subscriber that owns it. What the server sends
// comes in order; a break loses it, and everything listened to.
type simEars struct {
	e         *simEngine
	connected bool
	cut       bool            // it is broken, and the engine has not noticed
	number    int             // of the connection, to tell what comes late
	listens   map[string]bool // at the server
	busy      bool            // an order is being carried out
	order     int             // which one
	heard     time.Duration   // when the last thing arrives
}

var errSimDenied = errors.New("NOPERM No permissions to access a channel")

func newSimEars(e *simEngine) *simEars { return &simEars{e: e, listens: map[string]bool{}} }

// carryOut is subscriber.carryOut: it connects if need be, leaves, joins, and says when that is done.
func (s *simEars) carryOut(o *order) {
	w := s.e.w
	s.busy = true
	s.order++
	number := s.order
	leave, join := slices.Clone(o.leave), slices.Clone(o.join)
	s.e.tracef("▶ leave %q, join %q", leave, join)
	w.at(max(w.now, s.e.paused)+w.latency(), func() { s.arrive(number, leave, join) })
}

func (s *simEars) arrive(number int, leave, join []string) {
	w := s.e.w
	if s.e.dead || !s.busy || s.order != number {
		return
	}
	if wait := w.server.frozen; w.now < wait {
		w.at(wait, func() { s.arrive(number, leave, join) })
		return
	}
	if w.now < w.server.down || s.cut {
		s.broke()
		return
	}
	s.connected = true
	for _, channel := range leave {
		delete(s.listens, channel)
	}
	if w.now < w.server.muted && len(join) > 0 {
		s.later(func() { s.done(errSimDenied) })
		return
	}
	for _, channel := range join {
		s.listens[channel] = true
	}
	s.confirm(join)
}

// confirm sends the confirmations. The subscriber learns of the first, and goes on; the others may come
// before it has said so, or after.
func (s *simEars) confirm(join []string) {
	said := s.e.w.random.IntN(max(len(join), 1))
	for i, channel := range join {
		s.later(func() {
			s.e.tracef("◀ listens to %s", channel)
			if s.e.w.bug != bugResubscribedUnsaid {
				s.e.post(&mail{kind: subscribes, channel: channel})
			}
		})
		if i == said {
			s.later(func() { s.done(nil) })
		}
	}
	if len(join) == 0 {
		s.later(func() { s.done(nil) })
	}
}

// later brings something over this connection, in order, unless it breaks before.
func (s *simEars) later(do func()) {
	w, number := s.e.w, s.number
	s.heard = max(s.heard, w.now+w.latency())
	w.at(s.heard, func() {
		if s.number != number || s.e.dead {
			return
		}
		if !w.quiet && w.chance(w.plan.earSnaps) {
			notice := w.notice()
			w.disturb(notice)
			s.snap(notice)
			return
		}
		do()
	})
}

func (s *simEars) done(err error) {
	s.busy = false
	s.e.post(&mail{kind: orderDone, err: err})
}

// published sends a message to the engine, if it listens.
func (s *simEars) published(channel string) {
	if !s.listens[channel] || s.e.dead {
		return
	}
	w := s.e.w
	if w.chance(w.plan.deafness) && !w.quiet || w.bug == bugNoMessages {
		if w.bug != bugNoMessages {
			w.unheardFor(channel)
		}
		w.saw(sawUnheard)
		return
	}
	s.later(func() {
		s.e.tracef("◀ message on %s", channel)
		s.e.post(&mail{kind: hears, channel: channel})
	})
}

// snap breaks the connection; the engine notices after a while, or when it wants to use it.
func (s *simEars) snap(notice time.Duration) {
	if !s.connected {
		return
	}
	s.number++
	number := s.number
	clear(s.listens)
	s.connected, s.cut = false, true
	s.e.w.after(notice, func() {
		if s.number == number {
			s.broke()
		}
	})
}

// broke tells the engine that it hears nothing any more, and that an order under way has failed.
func (s *simEars) broke() {
	if s.e.dead {
		return
	}
	s.e.tracef("◀ deaf")
	s.number++
	s.connected, s.cut = false, false
	if s.e.w.bug != bugDeafUnsaid {
		s.e.post(&mail{kind: deaf})
	}
	if s.busy {
		s.done(errSimBroken)
	}
}
