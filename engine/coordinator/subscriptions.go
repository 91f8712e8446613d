package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// MaxChannelsPerCommand is the maximum number of channels per SUBSCRIBE.
	MaxChannelsPerCommand = 1024
	// maxChannelsPerTurn is the maximum number of channels that a turn examines, in addition to those in an order.
	maxChannelsPerTurn = 1024
	// MaxSubscribeBackoff is the longest backoff after a rejected or broken subscription.
	MaxSubscribeBackoff = 500 * time.Millisecond
	// maxRejectedDelay is how long the retry of a rejected channel that is due waits for orders for other channels.
	maxRejectedDelay = 100 * time.Millisecond
	// unsubscribeMinPause and unsubscribePause bound how often channels are unsubscribed. A connection is replaced
	// instead: the channels to keep are subscribed on the next connection, some each turn, then the old connection is
	// dropped. A replacement starts at least unsubscribeMinPause after the one before, and if one of these holds:
	//   - At least as many channels are idle as are kept.
	//   - For each kept channel, unsubscribePause has passed since the first idle one.
	unsubscribeMinPause, unsubscribePause = 100 * time.Millisecond, 50 * time.Microsecond
)

// Order is the subscriber's next task. The coordinator makes it, and it is immutable from then on: both sides read it
// until its OrderDone. The zero Order has nothing to do, and is not given.
type Order struct {
	Channels        []string
	OnNextConn      bool // on the next connection, which is opened if there is none
	retriesRejected bool // retries one channel that was rejected
	SwitchConn      bool // afterwards, replace the connection by the next one
	CloseConns      bool // drop the connection without a replacement
}

// subscriptions decides which channels are subscribed. Listeners may come and go at any time. One order is in flight at
// a time, and the next one is made from the difference that exists then. The work per turn is bounded, however many
// channels there are. newSubscriptions makes them; the lists of the zero value are not initialized. Owned by the
// coordinator.
type subscriptions struct {
	Channels map[string]*channel
	peak     peak // of Channels

	all       []*channel // the same, in any order
	movesLeft int        // so many of these, from the first on, may belong to another node: see Coordinator.moveSubscriptions

	// Each channel is in one of these lists.
	toSubscribe  channelList // to be subscribed
	reportedDown channelList // to be subscribed; the listeners know that it is not
	rejected     channelList // rejected; each is tried alone when there is nothing else to do, or it has waited for long
	onConn       channelList // on the connection, or in an order for it
	onNextConn   channelList // during a move: on the next connection, or in an order for it
	leftBehind   channelList // during a move: on the connection and not on the next
	toForget     channelList // to be forgotten

	goneConn   int // connections up to this number no longer exist
	Subscribed int // number of subscribed channels
	unused     int // number of those without listeners
	dropping   int // number of those that the next connection does not have

	// Channels that were confirmed, maybe on the old connection, or gained a listener while that connection was to be
	// dropped.
	uncertain []*channel

	maxNames        int // maximum number of channels per order; halved after a rejection, to isolate a bad channel
	Busy            bool
	moving          bool
	awaitsConfirm   bool          // the move waits until a channel is confirmed on the current connection
	now             time.Duration // time of the last turn
	tryAt           time.Duration
	unsubscribeAt   time.Duration // earliest start of the next move
	unusedSince     time.Duration // when the first idle channel was seen; 0: none
	backoff         time.Duration
	rejectedRetryAt time.Duration // earliest retry of a rejected channel
	rejectedBackoff time.Duration // pause between two such retries
	Order           *Order        // output: for the subscriber
	inFlight        *Order        // in flight
	pinFailed       bool          // the pinned channel could not be subscribed, and is forgotten
}

func newSubscriptions() *subscriptions {
	s := &subscriptions{Channels: make(map[string]*channel), maxNames: MaxChannelsPerCommand}
	for _, l := range []*channelList{&s.toSubscribe, &s.reportedDown, &s.rejected, &s.onConn, &s.onNextConn, &s.leftBehind, &s.toForget} {
		l.init()
	}
	return s
}

// IsSubscribed reports whether a channel is subscribed.
func (s *subscriptions) IsSubscribed(ch *channel) bool {
	return (ch.state == stateSubscribed || ch.state == stateMoving) && int(ch.conn) > s.goneConn
}

// hasSubscribed reports whether a channel of that name is subscribed.
func (s *subscriptions) hasSubscribed(name string) bool {
	ch := s.Channels[name]
	return ch != nil && s.IsSubscribed(ch)
}

// addListener adds a lock to the listeners of a channel. It returns what the lock must be told at once, see newsOf.
func (s *subscriptions) addListener(l *actor.Lock, name string) actor.Event {
	ch := s.Channels[name]
	if ch == nil {
		ch = s.addChannel(name)
	}
	ch.listeners.add(l)
	s.want(ch, ch.listeners.len() == 1)
	return s.newsOf(ch)
}

// newsOf returns what a new listener of a channel must be told: that it is subscribed already, or that the server has
// rejected it, which its other listeners were told before. It returns 0 if there is nothing to tell yet.
func (s *subscriptions) newsOf(ch *channel) actor.Event {
	switch {
	case s.IsSubscribed(ch):
		return actor.Subscribed
	case ch.rejected:
		return actor.SubscribeFailed
	}
	return 0
}

// want has a channel subscribed, unless it is; first says that it was not wanted before.
func (s *subscriptions) want(ch *channel, first bool) {
	if s.IsSubscribed(ch) && first {
		s.unused--
		if ch.dropping && s.connEnding() {
			s.uncertain = append(s.uncertain, ch)
		} else if ch.dropping {
			ch.dropping = false
			s.dropping--
			s.onConn.push(ch)
		}
	}
	if !s.IsSubscribed(ch) && ch.state != stateSubscribing && !ch.rejected {
		s.toSubscribe.push(ch)
	}
}

// connEnding reports whether the order in flight drops the connection.
func (s *subscriptions) connEnding() bool {
	return s.Busy && (s.inFlight.SwitchConn || s.inFlight.CloseConns)
}

func (s *subscriptions) addChannel(name string) *channel {
	ch := &channel{name: name, index: int32(len(s.all))}
	s.Channels[name] = ch
	s.all = append(s.all, ch)
	s.peak.note(len(s.Channels))
	return ch
}

// pin has a channel subscribed without a listener. It is tried alone, as rejected ones are, because the server may not
// allow it: then pinFailed is set, and the channel is forgotten.
func (s *subscriptions) pin(name string) {
	ch := s.Channels[name]
	if ch == nil {
		ch = s.addChannel(name)
		ch.rejected = true
		s.rejected.push(ch)
	}
	if !ch.pinned {
		ch.pinned = true
		s.want(ch, true)
	}
}

// unpin ends that.
func (s *subscriptions) unpin(name string) {
	if ch := s.Channels[name]; ch != nil && ch.pinned {
		ch.pinned = false
		s.release(ch)
	}
}

// removeListener removes a lock from the listeners of a channel. It reports whether the lock was one.
func (s *subscriptions) removeListener(l *actor.Lock, name string) (was bool) {
	ch := s.Channels[name]
	if ch == nil || !ch.listeners.has(l) {
		return false
	}
	ch.listeners.remove(l)
	s.release(ch)
	return true
}

// release handles that one fewer wants a channel.
func (s *subscriptions) release(ch *channel) {
	switch {
	case ch.wanted():
	case s.IsSubscribed(ch):
		s.unused++
	case ch.state != stateSubscribing:
		s.forget(ch)
	}
}

// forget removes a channel that is not subscribed and has no listeners.
func (s *subscriptions) forget(ch *channel) {
	if ch.next != nil {
		ch.unlink()
	}
	delete(s.Channels, ch.name)
	last := len(s.all) - 1
	s.all[ch.index], s.all[last].index = s.all[last], ch.index
	s.all[last] = nil
	s.all, s.movesLeft = s.all[:last], min(s.movesLeft, last)
	if s.peak.outgrown(len(s.Channels)) {
		s.Channels, s.all = make(map[string]*channel), nil
	}
}

// markLost handles the loss of a channel's subscription.
func (s *subscriptions) markLost(ch *channel) {
	if s.IsSubscribed(ch) {
		s.Subscribed--
		if !ch.wanted() {
			s.unused--
		}
		if ch.dropping {
			s.dropping--
		}
	}
	ch.state, ch.dropping = stateUnsubscribed, false
	if !ch.wanted() {
		s.forget(ch)
		return
	}
	s.notifyLost(ch)
	s.toSubscribe.push(ch)
}

func (s *subscriptions) notifyLost(ch *channel) {
	for _, l := range ch.listeners.all() {
		l.SubscriptionLost()
	}
}

// maxNotedMessages is the maximum number of messages of a channel that wait to be handled. A lock that yields counts
// two: its own release, and that of the client that had it then.
const maxNotedMessages = 2

// noteMessage reports whether a message of a channel is to be handled: if the channel is known, and fewer than
// maxNotedMessages of its messages wait to be handled. Further ones say nothing new. So any client can publish any
// number of messages, and few of each channel take memory.
func (s *subscriptions) noteMessage(name string) bool {
	ch := s.Channels[name]
	if ch == nil || ch.noted >= maxNotedMessages {
		return false
	}
	ch.noted++
	return true
}

// onMessage handles a message of a channel and returns the channel's listeners.
func (s *subscriptions) onMessage(name string) []*actor.Lock {
	if ch := s.Channels[name]; ch != nil && ch.noted > 0 {
		ch.noted--
	}
	return s.listeners(name)
}

// listeners returns the listeners of a channel.
func (s *subscriptions) listeners(name string) []*actor.Lock {
	if ch := s.Channels[name]; ch != nil {
		return ch.listeners.all()
	}
	return nil
}

// onSubscribed handles a subscription's confirmation and returns the locks that are listening from now on.
func (s *subscriptions) onSubscribed(name string, on int) []*actor.Lock {
	if on <= s.goneConn {
		return nil
	}
	ch := s.Channels[name]
	if ch == nil {
		// Forgotten while the subscriber carried out its order. The server still has it: it must be unsubscribed.
		ch = s.addChannel(name)
		s.onConn.push(ch)
	}
	s.awaitsConfirm = false
	if s.IsSubscribed(ch) {
		if on > int(ch.conn) {
			ch.state, ch.conn = stateSubscribed, int32(on)
		}
		return nil // confirmed on another connection too: no message was missed
	}
	if ch.rejected && ch.state != stateSubscribing { // pinned again while an earlier order for it was in flight
		s.onConn.push(ch)
	}
	ch.state, ch.conn, ch.dropping, ch.rejected = stateSubscribed, int32(on), false, false
	s.Subscribed++
	if !ch.wanted() {
		s.unused++
	}
	if s.connEnding() {
		s.uncertain = append(s.uncertain, ch)
	}
	return ch.listeners.all()
}

// onConnLost handles the loss of all connections up to gone. Nothing is subscribed until the next order. Locks that are
// not listening learn it when their channel's turn comes.
func (s *subscriptions) onConnLost(gone int) {
	s.goneConn = max(s.goneConn, gone)
	s.Subscribed, s.unused, s.dropping, s.unusedSince, s.moving, s.awaitsConfirm = 0, 0, 0, 0, false, false
	for _, l := range []*channelList{&s.onConn, &s.onNextConn, &s.leftBehind} {
		s.toSubscribe.moveAllFrom(l)
	}
}

// onUnsubscribed handles an unsubscription that the server made because the slot moved.
func (s *subscriptions) onUnsubscribed(name string, on int) {
	if ch := s.Channels[name]; ch != nil && s.IsSubscribed(ch) && int(ch.conn) == on {
		s.markLost(ch)
	}
}

// active reports whether any channel is subscribed or wanted.
func (s *subscriptions) active() bool { return s.Busy || len(s.Channels) > 0 }
