package engine

import (
	"errors"
	"slices"
	"time"
)

// simEars is an engine's subscriber with its pub/sub connection, and for a while with a second one. To drop
// channels, the subscriber replaces the connection by one without them.
type simEars struct {
	e      *simEngine
	ear    *simEar // nil if there is none
	next   *simEar // the connection that is to replace it, nil if none
	number int     // of connections so far
	order  *order  // the order that is carried out
	asks   *simEar // the connection on which it is
}

// simEar is one pub/sub connection. Messages of the server come in order. A break loses the connection and all its
// subscriptions.
type simEar struct {
	ears    *simEars
	number  int
	listens map[string]bool // at the server
	heard   time.Duration   // when the last message arrives
	cut     bool            // it is broken
	noticed bool            // and the engine's client knows
	leaving bool            // it was asked whether it is still alive
	closed  time.Duration   // when the engine closed it; 0 while it is open
}

var errSimDenied = errors.New("NOPERM No permissions to access a channel")

func (s *simEars) connect() *simEar {
	s.number++
	return &simEar{ears: s, number: s.number, listens: map[string]bool{}}
}

// carryOut mirrors subscriber.carryOut.
func (s *simEars) carryOut(o *order) {
	w := s.e.w
	s.order = &order{join: slices.Clone(o.join), next: o.next, change: o.change, leave: o.leave}
	s.e.tracef("▶ join %q, next %v, change %v, leave %v", o.join, o.next, o.change, o.leave)
	w.at(max(w.now, s.e.paused), func() {
		if s.e.dead {
			return
		}
		if s.order.leave {
			s.close()
			s.done(orderDone{gone: s.number})
			return
		}
		at := &s.ear
		if s.order.next && s.ear != nil {
			at = &s.next
		}
		if *at == nil {
			*at = s.connect()
		}
		s.asks = *at
		if s.asks.noticed {
			s.lose()
		} else if len(s.order.join) == 0 {
			s.asks.joined()
		} else {
			s.asks.subscribe(s.order.join)
		}
	})
}

// subscribe asks the server for channels, all or none.
func (r *simEar) subscribe(channels []string) {
	w := r.ears.e.w
	w.after(w.latency(), func() { r.asked(channels) })
}

func (r *simEar) asked(channels []string) {
	w := r.ears.e.w
	switch wait := w.server.frozen; {
	case r.ears.e.dead || r.closed != 0 || !r.current():
	case w.now < wait:
		w.at(wait, func() { r.asked(channels) })
	case w.now < w.server.down || r.cut:
		r.cut = true
		r.notice()
	case w.now < w.server.muted:
		r.later(func() { r.refused(errSimDenied) })
	default:
		w.steps++
		for _, channel := range channels {
			r.listens[channel] = true
		}
		r.confirm(channels)
	}
}

func (r *simEar) current() bool { return r == r.ears.ear || r == r.ears.next }

// confirm sends the confirmations. The subscriber continues after the first; the others may arrive before it has
// reported that, or after.
func (r *simEar) confirm(channels []string) {
	s := r.ears
	said := s.e.w.random.IntN(len(channels))
	for i, channel := range channels {
		r.later(func() {
			s.e.tracef("◀ listens to %s", channel)
			if s.e.w.bug != bugResubscribedUnsaid {
				s.e.post(&mail{what: subscribes{channel: channel, on: r.number}})
			}
		})
		if i == said {
			r.later(r.joined)
		}
	}
}

// later delivers something over this connection, in order, unless the connection breaks before. What is on its way
// when the engine closes the connection may still arrive for a moment.
func (r *simEar) later(do func()) {
	w := r.ears.e.w
	r.heard = max(r.heard, w.now+w.latency())
	w.at(r.heard, func() {
		switch {
		case r.ears.e.dead || r.cut || r.closed != 0 && w.now > r.closed+50*time.Microsecond:
		case !w.quiet && w.chance(w.plan.earSnaps) && w.may(r.ears.e.name, "deaf"):
			w.saw(sawEarSnapped)
			r.snap()
		default:
			do()
		}
	})
}

// joined runs when the subscriber's call returns: an order is done.
func (r *simEar) joined() {
	s := r.ears
	switch old := s.ear; {
	case s.order == nil || s.asks != r: // it broke meanwhile
	case !s.order.change || r == old:
		s.done(s.order.of(r))
	case old.cut && !old.noticed:
		old.leaving = true // the subscriber pings it once more, and waits
	default: // the ping flushes the old connection: its reply comes behind all that the server sent
		old.heard = max(old.heard, s.e.w.now+s.e.w.latency()+s.e.w.latency())
		s.e.w.at(old.heard, func() { s.changes(r) })
	}
}

func (o *order) of(r *simEar) orderDone {
	done := orderDone{on: r.number}
	if o.change {
		done.gone = r.number - 1
	}
	return done
}

// changes runs when the old connection has replied after the new one subscribed, or is known to be broken.
func (s *simEars) changes(next *simEar) {
	switch {
	case s.next != next || s.order == nil:
	case s.ear.cut:
		s.lose()
	default:
		s.ear.close()
		s.ear, s.next = next, nil
		s.done(s.order.of(next))
	}
}

// refused runs when the call returns with an error of the server.
func (r *simEar) refused(err error) {
	if s := r.ears; s.asks == r && s.order != nil {
		s.done(orderDone{err: err})
	}
}

func (s *simEars) done(done orderDone) {
	s.order, s.asks = nil, nil
	s.e.post(&mail{what: done})
	for _, r := range []*simEar{s.ear, s.next} {
		if r != nil && r.noticed { // while the subscriber was busy
			s.lose()
			return
		}
	}
}

// lose notifies the engine that the connection is gone, and fails an order in progress.
func (s *simEars) lose() {
	s.e.tracef("◀ deaf")
	s.close()
	if s.e.w.bug != bugDeafUnsaid {
		s.e.post(&mail{what: deaf{gone: s.number}})
	}
	if s.order != nil && s.asks != nil {
		s.done(orderDone{err: errSimBroken})
	}
}

// close closes all connections.
func (s *simEars) close() {
	for _, r := range []*simEar{s.ear, s.next} {
		if r != nil {
			r.close()
		}
	}
	s.ear, s.next = nil, nil
}

// close closes a connection. The server notices a little later.
func (r *simEar) close() {
	w := r.ears.e.w
	r.closed = w.now
	w.after(w.latency(), func() { clear(r.listens) })
}

// published sends a message to the engine, over each subscribed connection.
func (s *simEars) published(channel string) {
	for _, r := range []*simEar{s.ear, s.next} {
		if r == nil || !r.listens[channel] {
			continue
		}
		w := s.e.w
		if w.bug == bugNoMessages {
			continue
		}
		if w.chance(w.plan.deafness) && !w.quiet && w.may(s.e.name, "message lost") {
			w.unheardFor(channel)
			w.saw(sawUnheard)
			continue
		}
		times := 1
		if w.chance(w.plan.echoes) && !w.quiet && w.may(s.e.name, "message doubled") {
			times = 2
			w.saw(sawEcho)
		}
		for range times {
			r.later(func() {
				s.e.tracef("◀ message on %s", channel)
				s.e.post(&mail{what: hears{channel: channel}})
			})
		}
	}
}

// listening returns how many connections the server counts for a channel.
func (s *simEars) listening(channel string) (count int) {
	for _, r := range []*simEar{s.ear, s.next} {
		if r != nil && r.listens[channel] {
			count++
		}
	}
	return count
}

// listens checks that a channel which the engine considers subscribed is. Of a failed order, confirmations of a
// connection that no longer exists do not count.
func (e *simEngine) listens() {
	r, next := e.ears.ear, e.ears.next
	if e.c.ears.busy || r == nil || r.cut || next != nil && next.cut || e.w.bug != bugNone {
		return // the loop is about to receive that
	}
	for name, ch := range e.c.ears.channels {
		if e.c.ears.heard(ch) && !r.listens[name] && (next == nil || !next.listens[name]) {
			e.w.fail("%s takes a channel for listened to that no connection of it has", e.name)
		}
	}
}

// total returns how many subscriptions the server has for the engine.
func (s *simEars) total() (count int) {
	for _, r := range []*simEar{s.ear, s.next} {
		if r != nil {
			count += len(r.listens)
		}
	}
	return count
}

// snap breaks a connection at the server. The engine notices after a while, or when it uses the connection.
func (s *simEars) snap(notice time.Duration) {
	r := s.ear
	if s.next != nil && (r == nil || s.e.w.chance(0.3)) {
		r = s.next
	}
	if r != nil {
		r.snapFor(notice)
	}
}

// gone handles the end of the server or of the engine.
func (s *simEars) gone() {
	for _, r := range []*simEar{s.ear, s.next} {
		if r != nil {
			r.snapFor(0)
		}
	}
}

func (r *simEar) snap() {
	notice := r.ears.e.w.notice()
	r.ears.e.w.disturb(notice)
	r.snapFor(notice)
}

func (r *simEar) snapFor(notice time.Duration) {
	if r.cut {
		return
	}
	r.cut = true
	clear(r.listens)
	r.ears.e.w.after(notice, r.notice)
}

// notice runs when the client finds the connection broken.
func (r *simEar) notice() {
	s := r.ears
	if s.e.dead || r.noticed || r.closed != 0 {
		return
	}
	r.noticed = true
	if r.current() && (s.order == nil || s.asks == nil || s.asks == r || r.leaving) {
		s.lose()
	}
}
