package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// simPubSub is an engine's subscriber with its pub/sub connection, and for a while with a second one. To drop
// channels, the subscriber replaces the connection by one without them.
type simPubSub struct {
	e           *simEngine
	conn        *simPubSubConn     // nil if there is none
	next        *simPubSubConn     // the connection that is to replace it, nil if none
	number      int                // of connections so far
	order       *coordinator.Order // the order that is carried out
	executingOn *simPubSubConn     // the connection on which it is
}

// simPubSubConn is one pub/sub connection. Messages of the server come in order. A break loses the connection and all
// its subscriptions.
type simPubSubConn struct {
	pubsub      *simPubSub
	number      int
	channels    map[string]bool // at the server
	lastArrival time.Duration   // when the last message arrives
	broken      bool            // it is broken
	noticed     bool            // and the engine's client knows
	leaving     bool            // it was asked whether it is still alive
	closed      time.Duration   // when the engine closed it; 0 while it is open
}

var errSimSubscribeDenied = errors.New("NOPERM No permissions to access a channel")

func (s *simPubSub) connect() *simPubSubConn {
	s.number++
	return &simPubSubConn{pubsub: s, number: s.number, channels: map[string]bool{}}
}

// execute mirrors subscriber.execute.
func (s *simPubSub) execute(o *coordinator.Order) {
	w := s.e.w
	s.order = &coordinator.Order{Channels: slices.Clone(o.Channels), OnNextConn: o.OnNextConn, SwitchConn: o.SwitchConn, CloseConns: o.CloseConns}
	s.e.tracef("▶ join %q, next %v, change %v, leave %v", o.Channels, o.OnNextConn, o.SwitchConn, o.CloseConns)
	w.at(max(w.now, s.e.paused), func() {
		if s.e.dead {
			return
		}
		if s.order.CloseConns {
			s.close()
			s.done(coordinator.OrderDone{GoneConn: s.number})
			return
		}
		at := &s.conn
		if s.order.OnNextConn && s.conn != nil {
			at = &s.next
		}
		if *at == nil {
			*at = s.connect()
		}
		s.executingOn = *at
		if s.executingOn.noticed {
			s.onConnLost()
		} else if len(s.order.Channels) == 0 {
			s.executingOn.joined()
		} else {
			s.executingOn.subscribe(s.order.Channels)
		}
	})
}

// subscribe asks the server for channels, all or none.
func (r *simPubSubConn) subscribe(channels []string) {
	w := r.pubsub.e.w
	w.after(w.latency(), func() { r.request(channels) })
}

func (r *simPubSubConn) request(channels []string) {
	w := r.pubsub.e.w
	switch wait := w.server.frozen; {
	case r.pubsub.e.dead || r.closed != 0 || !r.current():
	case w.now < wait:
		w.at(wait, func() { r.request(channels) })
	case w.now < w.server.down || r.broken:
		r.broken = true
		r.notice()
	case w.now < w.server.publishForbiddenUntil:
		r.later(func() { r.refused(errSimSubscribeDenied) })
	default:
		w.steps++
		for _, channel := range channels {
			r.channels[channel] = true
		}
		r.confirm(channels)
	}
}

func (r *simPubSubConn) current() bool { return r == r.pubsub.conn || r == r.pubsub.next }

// confirm sends the confirmations. The subscriber continues after the first; the others may arrive before it has
// reported that, or after.
func (r *simPubSubConn) confirm(channels []string) {
	s := r.pubsub
	said := s.e.w.random.IntN(len(channels))
	for i, channel := range channels {
		r.later(func() {
			s.e.tracef("◀ listens to %s", channel)
			if s.e.w.bug != bugResubscribedUnsaid {
				s.e.post(&coordinator.LoopMessage{Value: coordinator.ChannelSubscribed{Channel: channel, Conn: r.number}})
			}
		})
		if i == said {
			r.later(r.joined)
		}
	}
}

// later delivers something over this connection, in order, unless the connection breaks before. What is on its way
// when the engine closes the connection may still arrive for a moment.
func (r *simPubSubConn) later(do func()) {
	w := r.pubsub.e.w
	r.lastArrival = max(r.lastArrival, w.now+w.latency())
	w.at(r.lastArrival, func() {
		switch {
		case r.pubsub.e.dead || r.broken || r.closed != 0 && w.now > r.closed+50*time.Microsecond:
		case !w.faultsOver && w.chance(w.plan.pubsubBreaks) && w.may(r.pubsub.e.name, "pubsubdown"):
			w.cover(coverPubSubBroken)
			r.breakConn()
		default:
			do()
		}
	})
}

// joined runs when the subscriber's call returns: an order is done.
func (r *simPubSubConn) joined() {
	s := r.pubsub
	switch old := s.conn; {
	case s.order == nil || s.executingOn != r: // it broke meanwhile
	case !s.order.SwitchConn || r == old:
		s.done(connIn(s.order, r))
	case old.broken && !old.noticed:
		old.leaving = true // the subscriber pings it once more, and waits
	default: // the ping flushes the old connection: its reply comes behind all that the server sent
		old.lastArrival = max(old.lastArrival, s.e.w.now+s.e.w.latency()+s.e.w.latency())
		s.e.w.at(old.lastArrival, func() { s.onSwitch(r) })
	}
}

func connIn(o *coordinator.Order, r *simPubSubConn) coordinator.OrderDone {
	done := coordinator.OrderDone{Conn: r.number}
	if o.SwitchConn {
		done.GoneConn = r.number - 1
	}
	return done
}

// onSwitch runs when the old connection has replied after the new one subscribed, or is known to be broken.
func (s *simPubSub) onSwitch(next *simPubSubConn) {
	switch {
	case s.next != next || s.order == nil:
	case s.conn.broken:
		s.onConnLost()
	default:
		s.conn.close()
		s.conn, s.next = next, nil
		s.done(connIn(s.order, next))
	}
}

// refused runs when the call returns with an error of the server.
func (r *simPubSubConn) refused(err error) {
	if s := r.pubsub; s.executingOn == r && s.order != nil {
		s.done(coordinator.OrderDone{Err: err})
	}
}

func (s *simPubSub) done(done coordinator.OrderDone) {
	s.order, s.executingOn = nil, nil
	s.e.post(&coordinator.LoopMessage{Value: done})
	for _, r := range []*simPubSubConn{s.conn, s.next} {
		if r != nil && r.noticed { // while the subscriber was busy
			s.onConnLost()
			return
		}
	}
}

// onConnLost notifies the engine that the connection is gone, and fails an order in progress.
func (s *simPubSub) onConnLost() {
	s.e.tracef("◀ pubsubdown")
	s.close()
	if s.e.w.bug != bugPubSubLossUnsaid {
		s.e.post(&coordinator.LoopMessage{Value: coordinator.PubsubDown{GoneConn: s.number}})
	}
	if s.order != nil && s.executingOn != nil {
		s.done(coordinator.OrderDone{Err: errSimBroken})
	}
}

// close closes all connections.
func (s *simPubSub) close() {
	for _, r := range []*simPubSubConn{s.conn, s.next} {
		if r != nil {
			r.close()
		}
	}
	s.conn, s.next = nil, nil
}

// close closes a connection. The server notices a little later.
func (r *simPubSubConn) close() {
	w := r.pubsub.e.w
	r.closed = w.now
	w.after(w.latency(), func() { clear(r.channels) })
}

// published sends a message to the engine, over each subscribed connection.
func (s *simPubSub) published(channel string) {
	for _, r := range []*simPubSubConn{s.conn, s.next} {
		if r == nil || !r.channels[channel] {
			continue
		}
		w := s.e.w
		if w.bug == bugNoMessages {
			continue
		}
		if w.chance(w.plan.messageLoss) && !w.faultsOver && w.may(s.e.name, "message lost") {
			w.unheardFor(channel)
			w.cover(coverMessageLost)
			continue
		}
		times := 1
		if w.chance(w.plan.duplicates) && !w.faultsOver && w.may(s.e.name, "message doubled") {
			times = 2
			w.cover(coverDuplicateMessage)
		}
		for range times {
			r.later(func() {
				s.e.tracef("◀ message on %s", channel)
				s.e.post(&coordinator.LoopMessage{Value: coordinator.ChannelMessage{Channel: channel}})
			})
		}
	}
}

// listenerCount returns how many connections the server counts for a channel.
func (s *simPubSub) listenerCount(channel string) (count int) {
	for _, r := range []*simPubSubConn{s.conn, s.next} {
		if r != nil && r.channels[channel] {
			count++
		}
	}
	return count
}

// listens checks that a channel which the engine considers subscribed is. Of a failed order, confirmations of a
// connection that no longer exists do not count.
func (e *simEngine) listens() {
	r, next := e.pubsub.conn, e.pubsub.next
	if e.c.Fallback.Subscriptions.Busy || r == nil || r.broken || next != nil && next.broken || e.w.bug != bugNone {
		return // the loop is about to receive that
	}
	for name, ch := range e.c.Fallback.Subscriptions.Channels {
		if e.c.Fallback.Subscriptions.IsSubscribed(ch) && !r.channels[name] && (next == nil || !next.channels[name]) {
			e.w.fail("%s takes a channel for listened to that no connection of it has", e.name)
		}
	}
}

// total returns how many subscriptions the server has for the engine.
func (s *simPubSub) total() (count int) {
	for _, r := range []*simPubSubConn{s.conn, s.next} {
		if r != nil {
			count += len(r.channels)
		}
	}
	return count
}

// breakConns breaks a connection at the server. The engine notices after a while, or when it uses the connection.
func (s *simPubSub) breakConns(notice time.Duration) {
	r := s.conn
	if s.next != nil && (r == nil || s.e.w.chance(0.3)) {
		r = s.next
	}
	if r != nil {
		r.breakAfter(notice)
	}
}

// onProcessGone handles the end of the server or of the engine.
func (s *simPubSub) onProcessGone() {
	for _, r := range []*simPubSubConn{s.conn, s.next} {
		if r != nil {
			r.breakAfter(0)
		}
	}
}

func (r *simPubSubConn) breakConn() {
	notice := r.pubsub.e.w.notice()
	r.pubsub.e.w.disturb(notice)
	r.breakAfter(notice)
}

func (r *simPubSubConn) breakAfter(notice time.Duration) {
	if r.broken {
		return
	}
	r.broken = true
	clear(r.channels)
	r.pubsub.e.w.after(notice, r.notice)
}

// notice runs when the client finds the connection broken.
func (r *simPubSubConn) notice() {
	s := r.pubsub
	if s.e.dead || r.noticed || r.closed != 0 {
		return
	}
	r.noticed = true
	if r.current() && (s.order == nil || s.executingOn == nil || s.executingOn == r || r.leaving) {
		s.onConnLost()
	}
}
