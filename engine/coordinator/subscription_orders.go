package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// updateOrder makes the next order, if the subscriber is free and the subscriptions differ from what is wanted.
func (s *subscriptions) updateOrder(now time.Duration) {
	s.now = now
	for i := 0; i < maxChannelsPerTurn && !s.toForget.empty(); i++ {
		if ch := s.toForget.pop(); !s.IsSubscribed(ch) && !ch.wanted() && ch.state != stateSubscribing {
			s.forget(ch)
		}
	}
	if s.unused == 0 {
		s.unusedSince = 0
	} else if s.unusedSince == 0 {
		s.unusedSince = now
	}
	if s.Busy || now < s.tryAt {
		return
	}
	s.tryAt = 0
	if !s.moving && s.unused > 0 && now >= s.nextUnsubscribe() {
		s.moving, s.unsubscribeAt = true, now+unsubscribeMinPause
	}
	if !s.moving && s.toSubscribe.empty() && s.reportedDown.empty() && (s.rejected.empty() || now < s.rejectedRetryAt) {
		return // nothing to do: the common case
	}
	if o := s.buildOrder(); len(o.Channels) > 0 || o.SwitchConn || o.CloseConns {
		s.Busy, s.Order, s.inFlight = true, o, o
	}
}

// nextUnsubscribe returns when to start unsubscribing from idle channels, which no lock listens to.
func (s *subscriptions) nextUnsubscribe() time.Duration {
	kept := s.Subscribed - s.unused
	if s.unused >= kept {
		return s.unsubscribeAt
	}
	return max(s.unsubscribeAt, s.unusedSince+time.Duration(kept)*unsubscribePause-unsubscribeMinPause)
}

// buildOrder makes an order for the subscriber. It is empty if there is nothing to do.
func (s *subscriptions) buildOrder() *Order {
	o := &Order{OnNextConn: s.moving}
	if s.retryOverdue(o) {
		return o
	}
	looks := maxChannelsPerTurn + MaxChannelsPerCommand
	to := &s.onConn
	if s.moving {
		to = &s.onNextConn
	}
	for _, from := range []*channelList{&s.reportedDown, &s.toSubscribe} {
		for ; looks > 0 && len(o.Channels) < s.maxNames && !from.empty(); looks-- {
			s.addToOrder(from.pop(), to, o)
		}
	}
	if s.moving {
		s.addMoved(o, looks)
	}
	if len(o.Channels) == 0 && !o.SwitchConn && !o.CloseConns && s.now >= s.rejectedRetryAt && !s.rejected.empty() {
		o.retriesRejected = true
		s.addToOrder(s.rejected.pop(), to, o)
	}
	return o
}

// retryOverdue makes the order one for a rejected channel that other channels have kept waiting, and reports whether it
// did. With a steady stream of new channels there is never nothing else to do. The next one waits for as long again.
func (s *subscriptions) retryOverdue(o *Order) bool {
	if s.moving || s.rejected.empty() || s.now < s.rejectedRetryAt+maxRejectedDelay {
		return false
	}
	o.retriesRejected, s.rejectedRetryAt = true, s.now
	s.addToOrder(s.rejected.pop(), &s.onConn, o)
	return len(o.Channels) > 0
}

// addMoved adds channels to the order that the next connection needs. It ends the move when that connection has all of
// them.
func (s *subscriptions) addMoved(o *Order, looks int) {
	for s.awaitsConfirm = false; looks > 0 && len(o.Channels) < s.maxNames && !s.onConn.empty() && !s.awaitsConfirm; looks-- {
		s.moveChannel(s.onConn.pop(), o)
	}
	if s.onConn.empty() {
		o.SwitchConn = len(o.Channels) > 0 || !s.onNextConn.empty()
		o.CloseConns = !o.SwitchConn && s.toSubscribe.empty() && s.reportedDown.empty()
	}
}

// addToOrder adds a channel to the order if it must be subscribed. It forgets a channel without listeners.
func (s *subscriptions) addToOrder(ch *channel, to *channelList, o *Order) {
	switch {
	case s.IsSubscribed(ch): // confirmed in the meantime
		s.onConn.push(ch)
	case !ch.wanted():
		s.forget(ch)
	default:
		if ch.state == stateSubscribed || ch.state == stateMoving {
			s.notifyLost(ch) // since its connection broke
		}
		ch.state, ch.dropping = stateSubscribing, false
		o.Channels = append(o.Channels, ch.name)
		to.push(ch)
	}
}

// moveChannel adds a channel of the current connection to the order for the next one, unless it has no listeners.
func (s *subscriptions) moveChannel(ch *channel, o *Order) {
	switch {
	case ch.state == stateSubscribing:
		s.onConn.pushFront(ch)
		s.awaitsConfirm = true
	case ch.wanted():
		ch.state = stateMoving
		o.Channels = append(o.Channels, ch.name)
		s.onNextConn.push(ch)
	case s.IsSubscribed(ch):
		if !ch.dropping {
			ch.dropping = true
			s.dropping++
		}
		s.leftBehind.push(ch)
	default:
		s.forget(ch)
	}
}

// onOrderDone handles the result of the order that was in flight.
//   - on is the connection that was used; connections up to gone no longer exist.
//   - Channels that a failed order did not subscribe are tried again, after a backoff.
//   - It returns channels that are not subscribed until then, so that their listeners poll. takeUnreported returns
//     further ones.
func (s *subscriptions) onOrderDone(now time.Duration, on, gone int, err error) (failedChannels []*channel) {
	s.Busy = false
	if err == nil {
		s.backoff, s.tryAt, s.maxNames, s.rejectedBackoff = 0, 0, min(2*s.maxNames, MaxChannelsPerCommand), 0
		s.confirmMoved(on)
		if s.inFlight.SwitchConn || s.inFlight.CloseConns {
			s.onConnSwitched(gone)
		}
		s.uncertain = nil
		return nil
	}
	s.goneConn = max(s.goneConn, gone)
	failedChannels = s.undoOrder(on)
	s.rejectedBackoff = actor.NextBackoff(s.rejectedBackoff, minBackoff, MaxSubscribeBackoff)
	s.rejectedRetryAt = now + s.rejectedBackoff
	if !s.inFlight.retriesRejected {
		s.maxNames, s.backoff = max(s.maxNames/2, 1), actor.NextBackoff(s.backoff, minBackoff, MaxSubscribeBackoff)
		s.tryAt = now + s.backoff
	}
	return append(failedChannels, s.takeUnreported()...)
}

// confirmMoved marks channels that stayed subscribed during the order: the next connection has them. Other channels
// wait for their confirmation.
func (s *subscriptions) confirmMoved(on int) {
	for _, name := range s.inFlight.Channels {
		if ch := s.Channels[name]; ch != nil && s.IsSubscribed(ch) {
			ch.state, ch.conn = stateSubscribed, max(ch.conn, int32(on))
		}
	}
}

// onConnSwitched handles the switch to the next connection, or to no connection.
func (s *subscriptions) onConnSwitched(gone int) {
	for ch := s.onConn.pop(); ch != nil; ch = s.onConn.pop() { // added since the order was made
		if s.IsSubscribed(ch) && int(ch.conn) <= gone {
			s.markLost(ch)
		} else {
			s.toSubscribe.push(ch)
		}
	}
	for _, ch := range s.uncertain {
		if s.Channels[ch.name] == ch && s.IsSubscribed(ch) && int(ch.conn) <= gone && (!ch.dropping || ch.wanted()) {
			s.markLost(ch)
		}
	}
	s.Subscribed -= s.dropping
	s.unused -= s.dropping
	s.goneConn, s.dropping, s.unusedSince, s.moving, s.awaitsConfirm = max(s.goneConn, gone), 0, 0, false, false
	s.toForget.moveAllFrom(&s.leftBehind)
	s.onConn.moveAllFrom(&s.onNextConn)
}

// undoOrder undoes the effects of the order on its channels, except those that its connection has confirmed. It returns
// the channel that the server rejected, if it is known.
func (s *subscriptions) undoOrder(on int) (failedChannels []*channel) {
	alone := len(s.inFlight.Channels) == 1
	for _, name := range s.inFlight.Channels {
		ch := s.Channels[name]
		switch {
		case ch == nil || s.IsSubscribed(ch) && on != 0 && int(ch.conn) >= on:
		case s.IsSubscribed(ch) && (!alone || ch.state == stateSubscribed || !ch.wanted()):
			ch.state = stateSubscribed
			s.onConn.pushFront(ch)
		case s.IsSubscribed(ch):
			s.markLost(ch)
			failedChannels = s.markRejected(ch)
		case ch.state == stateSubscribing && !ch.wanted():
			s.forget(ch)
		case ch.state == stateSubscribing && alone:
			failedChannels = s.markRejected(ch)
		case ch.state == stateSubscribing:
			ch.state = stateUnsubscribed
			s.toSubscribe.push(ch)
		}
	}
	for _, ch := range s.uncertain {
		if s.Channels[ch.name] == ch && s.IsSubscribed(ch) && ch.dropping && ch.wanted() {
			ch.dropping = false
			s.dropping--
			s.onConn.push(ch)
		}
	}
	s.uncertain = nil
	if s.moving && s.onNextConn.empty() {
		s.moving = false
		s.onConn.moveAllFrom(&s.leftBehind)
	}
	return failedChannels
}

func (s *subscriptions) markRejected(ch *channel) (failedChannels []*channel) {
	ch.state, ch.rejected = stateUnsubscribed, true
	if ch.pinned {
		ch.pinned, s.pinFailed = false, true
		s.forget(ch)
		return nil
	}
	s.rejected.push(ch)
	return []*channel{ch}
}

// takeUnreported returns channels with listeners that do not know yet that they are not subscribed. It does so only
// while orders fail. A turn stops after MaxChannelsPerCommand listeners.
func (s *subscriptions) takeUnreported() (failedChannels []*channel) {
	if s.backoff == 0 {
		return nil
	}
	for left := MaxChannelsPerCommand; left > 0 && !s.toSubscribe.empty(); {
		ch := s.toSubscribe.pop()
		if left -= max(ch.listeners.len(), 1); s.IsSubscribed(ch) {
			s.onConn.push(ch)
			continue
		}
		failedChannels = append(failedChannels, ch)
		s.reportedDown.push(ch)
	}
	return failedChannels
}

// nextRetry returns when there is something to do without a message; 0 when there is nothing.
func (s *subscriptions) nextRetry() time.Duration {
	atOnce := max(s.now, 1)
	switch {
	case !s.toForget.empty(), s.backoff > 0 && !s.toSubscribe.empty():
		return atOnce
	case s.Busy:
		return 0
	case !s.reportedDown.empty(), !s.toSubscribe.empty(), s.moving && !s.awaitsConfirm:
		return max(atOnce, s.tryAt)
	case s.moving && s.rejected.empty():
		return 0 // waiting for a confirmation
	case s.moving:
		return max(atOnce, s.tryAt, s.rejectedRetryAt)
	case !s.rejected.empty() && s.unused > 0:
		return max(atOnce, s.tryAt, min(s.rejectedRetryAt, s.nextUnsubscribe()))
	case !s.rejected.empty():
		return max(atOnce, s.tryAt, s.rejectedRetryAt)
	case s.unused > 0:
		return max(s.nextUnsubscribe(), s.tryAt)
	}
	return 0
}
