package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// updateOrder makes the next order, if the subscriber is free and the subscriptions differ from what is wanted.
func (e *subscriptions) updateOrder(now time.Duration) {
	e.now = now
	for i := 0; i < maxChannelsPerTurn && !e.toForget.empty(); i++ {
		if ch := e.toForget.pop(); !e.IsSubscribed(ch) && ch.listeners.len() == 0 && ch.state != stateSubscribing {
			e.forget(ch)
		}
	}
	if e.unused == 0 {
		e.unusedSince = 0
	} else if e.unusedSince == 0 {
		e.unusedSince = now
	}
	if e.Busy || now < e.tryAt {
		return
	}
	e.tryAt = 0
	if !e.moving && e.unused > 0 && now >= e.nextUnsubscribe() {
		e.moving, e.unsubscribeAt = true, now+unsubscribeMinPause
	}
	if !e.moving && e.toSubscribe.empty() && e.reportedDown.empty() && (e.rejected.empty() || now < e.rejectedRetryAt) {
		return // nothing to do: the common case
	}
	if o := e.buildOrder(); len(o.Channels) > 0 || o.SwitchConn || o.CloseConns {
		e.Busy, e.Order, e.inFlight = true, o, o
	}
}

// nextUnsubscribe returns when to start unsubscribing from idle channels, which no lock listens to.
func (e *subscriptions) nextUnsubscribe() time.Duration {
	kept := e.Subscribed - e.unused
	if e.unused >= kept {
		return e.unsubscribeAt
	}
	return max(e.unsubscribeAt, e.unusedSince+time.Duration(kept)*unsubscribePause-unsubscribeMinPause)
}

// buildOrder makes an order for the subscriber. It is empty if there is nothing to do.
func (e *subscriptions) buildOrder() *Order {
	o := &Order{OnNextConn: e.moving}
	looks := maxChannelsPerTurn + MaxChannelsPerCommand
	to := &e.onConn
	if e.moving {
		to = &e.onNextConn
	}
	for _, from := range []*channelList{&e.reportedDown, &e.toSubscribe} {
		for ; looks > 0 && len(o.Channels) < e.maxNames && !from.empty(); looks-- {
			e.addToOrder(from.pop(), to, o)
		}
	}
	if e.moving {
		e.addMoved(o, looks)
	}
	if len(o.Channels) == 0 && !o.SwitchConn && !o.CloseConns && e.now >= e.rejectedRetryAt && !e.rejected.empty() {
		o.retriesRejected = true
		e.addToOrder(e.rejected.pop(), to, o)
	}
	return o
}

// addMoved adds channels to the order that the next connection needs. It ends the move when that connection has all of
// them.
func (e *subscriptions) addMoved(o *Order, looks int) {
	for e.awaitsConfirm = false; looks > 0 && len(o.Channels) < e.maxNames && !e.onConn.empty() && !e.awaitsConfirm; looks-- {
		e.moveChannel(e.onConn.pop(), o)
	}
	if e.onConn.empty() {
		o.SwitchConn = len(o.Channels) > 0 || !e.onNextConn.empty()
		o.CloseConns = !o.SwitchConn && e.toSubscribe.empty() && e.reportedDown.empty()
	}
}

// addToOrder adds a channel to the order if it must be subscribed. It forgets a channel without listeners.
func (e *subscriptions) addToOrder(ch *channel, to *channelList, o *Order) {
	switch {
	case e.IsSubscribed(ch): // confirmed in the meantime
		e.onConn.push(ch)
	case ch.listeners.len() == 0:
		e.forget(ch)
	default:
		if ch.state == stateSubscribed || ch.state == stateMoving {
			e.notifyLost(ch) // since its connection broke
		}
		ch.state, ch.dropping = stateSubscribing, false
		o.Channels = append(o.Channels, ch.name)
		to.push(ch)
	}
}

// moveChannel adds a channel of the current connection to the order for the next one, unless it has no listeners.
func (e *subscriptions) moveChannel(ch *channel, o *Order) {
	switch {
	case ch.state == stateSubscribing:
		e.onConn.pushFront(ch)
		e.awaitsConfirm = true
	case ch.listeners.len() > 0:
		ch.state = stateMoving
		o.Channels = append(o.Channels, ch.name)
		e.onNextConn.push(ch)
	case e.IsSubscribed(ch):
		if !ch.dropping {
			ch.dropping = true
			e.dropping++
		}
		e.leftBehind.push(ch)
	default:
		e.forget(ch)
	}
}

// onOrderDone handles the result of the order that was in flight.
//   - on is the connection that was used; connections up to gone no longer exist.
//   - Channels that a failed order did not subscribe are tried again, after a backoff.
//   - It returns channels that are not subscribed until then, so that their listeners poll. takeUnreported returns
//     further ones.
func (e *subscriptions) onOrderDone(now time.Duration, on, gone int, err error) (failedChannels []*channel) {
	e.Busy = false
	if err == nil {
		e.backoff, e.tryAt, e.maxNames, e.rejectedBackoff = 0, 0, min(2*e.maxNames, MaxChannelsPerCommand), 0
		e.confirmMoved(on)
		if e.inFlight.SwitchConn || e.inFlight.CloseConns {
			e.onConnSwitched(gone)
		}
		e.uncertain = nil
		return nil
	}
	e.goneConn = max(e.goneConn, gone)
	failedChannels = e.undoOrder(on)
	e.rejectedBackoff = actor.NextBackoff(e.rejectedBackoff, minBackoff, MaxSubscribeBackoff)
	e.rejectedRetryAt = now + e.rejectedBackoff
	if !e.inFlight.retriesRejected {
		e.maxNames, e.backoff = max(e.maxNames/2, 1), actor.NextBackoff(e.backoff, minBackoff, MaxSubscribeBackoff)
		e.tryAt = now + e.backoff
	}
	return append(failedChannels, e.takeUnreported()...)
}

// confirmMoved marks channels that stayed subscribed during the order: the next connection has them. Other channels
// wait for their confirmation.
func (e *subscriptions) confirmMoved(on int) {
	for _, name := range e.inFlight.Channels {
		if ch := e.Channels[name]; ch != nil && e.IsSubscribed(ch) {
			ch.state, ch.conn = stateSubscribed, max(ch.conn, int32(on))
		}
	}
}

// onConnSwitched handles the switch to the next connection, or to no connection.
func (e *subscriptions) onConnSwitched(gone int) {
	for ch := e.onConn.pop(); ch != nil; ch = e.onConn.pop() { // added since the order was made
		if e.IsSubscribed(ch) && int(ch.conn) <= gone {
			e.markLost(ch)
		} else {
			e.toSubscribe.push(ch)
		}
	}
	for _, ch := range e.uncertain {
		if e.Channels[ch.name] == ch && e.IsSubscribed(ch) && int(ch.conn) <= gone && (!ch.dropping || ch.listeners.len() > 0) {
			e.markLost(ch)
		}
	}
	e.Subscribed -= e.dropping
	e.unused -= e.dropping
	e.goneConn, e.dropping, e.unusedSince, e.moving, e.awaitsConfirm = max(e.goneConn, gone), 0, 0, false, false
	e.toForget.moveAllFrom(&e.leftBehind)
	e.onConn.moveAllFrom(&e.onNextConn)
}

// undoOrder undoes the effects of the order on its channels, except those that its connection has confirmed. It returns
// the channel that the server rejected, if it is known.
func (e *subscriptions) undoOrder(on int) (failedChannels []*channel) {
	alone := len(e.inFlight.Channels) == 1
	for _, name := range e.inFlight.Channels {
		ch := e.Channels[name]
		switch {
		case ch == nil || e.IsSubscribed(ch) && on != 0 && int(ch.conn) >= on:
		case e.IsSubscribed(ch) && (!alone || ch.state == stateSubscribed || ch.listeners.len() == 0):
			ch.state = stateSubscribed
			e.onConn.pushFront(ch)
		case e.IsSubscribed(ch):
			e.markLost(ch)
			failedChannels = e.markRejected(ch)
		case ch.state == stateSubscribing && ch.listeners.len() == 0:
			e.forget(ch)
		case ch.state == stateSubscribing && alone:
			failedChannels = e.markRejected(ch)
		case ch.state == stateSubscribing:
			ch.state = stateUnsubscribed
			e.toSubscribe.push(ch)
		}
	}
	for _, ch := range e.uncertain {
		if e.Channels[ch.name] == ch && e.IsSubscribed(ch) && ch.dropping && ch.listeners.len() > 0 {
			ch.dropping = false
			e.dropping--
			e.onConn.push(ch)
		}
	}
	e.uncertain = nil
	if e.moving && e.onNextConn.empty() {
		e.moving = false
		e.onConn.moveAllFrom(&e.leftBehind)
	}
	return failedChannels
}

func (e *subscriptions) markRejected(ch *channel) (failedChannels []*channel) {
	ch.state, ch.rejected = stateUnsubscribed, true
	e.rejected.push(ch)
	return []*channel{ch}
}

// takeUnreported returns channels with listeners that do not know yet that they are not subscribed. It does so only
// while orders fail. A turn stops after MaxChannelsPerCommand listeners.
func (e *subscriptions) takeUnreported() (failedChannels []*channel) {
	if e.backoff == 0 {
		return nil
	}
	for left := MaxChannelsPerCommand; left > 0 && !e.toSubscribe.empty(); {
		ch := e.toSubscribe.pop()
		if left -= max(ch.listeners.len(), 1); e.IsSubscribed(ch) {
			e.onConn.push(ch)
			continue
		}
		failedChannels = append(failedChannels, ch)
		e.reportedDown.push(ch)
	}
	return failedChannels
}

// nextRetry returns when there is something to do without a message; 0 when there is nothing.
func (e *subscriptions) nextRetry() time.Duration {
	atOnce := max(e.now, 1)
	switch {
	case !e.toForget.empty(), e.backoff > 0 && !e.toSubscribe.empty():
		return atOnce
	case e.Busy:
		return 0
	case !e.reportedDown.empty(), !e.toSubscribe.empty(), e.moving && !e.awaitsConfirm:
		return max(atOnce, e.tryAt)
	case e.moving && e.rejected.empty():
		return 0 // waiting for a confirmation
	case e.moving:
		return max(atOnce, e.tryAt, e.rejectedRetryAt)
	case !e.rejected.empty() && e.unused > 0:
		return max(atOnce, e.tryAt, min(e.rejectedRetryAt, e.nextUnsubscribe()))
	case !e.rejected.empty():
		return max(atOnce, e.tryAt, e.rejectedRetryAt)
	case e.unused > 0:
		return max(e.nextUnsubscribe(), e.tryAt)
	}
	return 0
}
