package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// orderMost is the maximum number of channels per SUBSCRIBE.
	orderMost = 1024
	// earsPerTurn is the maximum number of channels that a turn examines, in addition to those in an order.
	earsPerTurn = 1024
	// orderRetryMost is the longest backoff after a rejected or broken subscription.
	orderRetryMost = 500 * time.Millisecond
	// leaveFloor and leavePause bound how often channels are unsubscribed. A connection is replaced instead: the
	// channels to keep are subscribed on the next connection, some each turn, then the old connection is dropped. A
	// replacement starts at least leaveFloor after the one before, and if one of these holds:
	//   - At least as many channels are idle as are kept.
	//   - For each kept channel, leavePause has passed since the first idle one.
	leaveFloor, leavePause = 100 * time.Millisecond, 50 * time.Microsecond
)

// order is the subscriber's next task. The coordinator owns it, but between the order and orderDone the subscriber
// does.
type order struct {
	join   []string
	next   bool // on the next connection, which is opened if there is none
	alone  bool // retries one channel that was rejected
	change bool // afterwards, replace the connection by the next one
	leave  bool // drop the connection without a replacement
}

// ears decides which channels are subscribed. Listeners may come and go at any time. One order is in flight at a time,
// and the next one is made from the difference that exists then. The work per turn is bounded, however many channels
// there are. Owned by the coordinator.
type ears struct {
	channels map[string]*channel
	most     int // largest len(channels) since it was last empty

	// Each channel is in one of these lines.
	fresh   line // to be subscribed
	unheard line // to be subscribed; the listeners know that it is not
	refused line // rejected; each is tried alone when there is nothing else to do
	here    line // on the connection, or in an order for it
	there   line // during a move: on the next connection, or in an order for it
	left    line // during a move: on the connection and not on the next
	over    line // to be forgotten

	gone       int // connections up to this number no longer exist
	subscribed int // number of subscribed channels
	idle       int // number of those without listeners
	leaving    int // number of those that the next connection does not have

	// Channels that were confirmed, maybe on the old connection, or gained a listener while that connection was to be
	// dropped.
	doubtful []*channel

	size      int // maximum number of channels per order; halved after a rejection, to isolate a bad channel
	busy      bool
	moving    bool
	waits     bool          // the move waits until a channel is confirmed on the current connection
	now       time.Duration // time of the last turn
	tryAt     time.Duration
	leaveAt   time.Duration // earliest start of the next move
	idleSince time.Duration // when the first idle channel was seen; 0: none
	backoff   time.Duration
	aloneAt   time.Duration // earliest retry of a rejected channel
	patience  time.Duration // pause between two such retries
	order     *order        // output: for the subscriber
	last      *order        // in flight
}

func newEars() *ears {
	e := &ears{channels: make(map[string]*channel), size: orderMost}
	for _, l := range []*line{&e.fresh, &e.unheard, &e.refused, &e.here, &e.there, &e.left, &e.over} {
		l.init()
	}
	return e
}

// heard reports whether a channel is subscribed.
func (e *ears) heard(ch *channel) bool {
	return (ch.state == present || ch.state == moving) && int(ch.on) > e.gone
}

// join adds a lock to the listeners of a channel. It reports whether the channel is subscribed already.
func (e *ears) join(l *actor.Lock, name string) (already bool) {
	ch := e.channels[name]
	if ch == nil {
		ch = e.add(name)
	}
	ch.by.add(l)
	if e.heard(ch) && ch.by.len() == 1 {
		e.idle--
		if ch.leaving && e.ending() {
			e.doubtful = append(e.doubtful, ch)
		} else if ch.leaving {
			ch.leaving = false
			e.leaving--
			e.here.push(ch)
		}
	}
	if e.heard(ch) {
		return true
	}
	if ch.state != ordered && !ch.refused {
		e.fresh.push(ch)
	}
	return false
}

// ending reports whether the order in flight drops the connection.
func (e *ears) ending() bool { return e.busy && (e.last.change || e.last.leave) }

func (e *ears) add(name string) *channel {
	ch := &channel{name: name}
	e.channels[name] = ch
	e.most = max(e.most, len(e.channels))
	return ch
}

func (e *ears) leave(l *actor.Lock, name string) {
	ch := e.channels[name]
	if ch == nil || ch.by.len() == 0 {
		return
	}
	ch.by.remove(l)
	switch {
	case ch.by.len() > 0:
	case e.heard(ch):
		e.idle++
	case ch.state != ordered:
		e.forget(ch)
	}
}

// forget removes a channel that is not subscribed and has no listeners.
func (e *ears) forget(ch *channel) {
	if ch.next != nil {
		ch.unlink()
	}
	delete(e.channels, ch.name)
	if len(e.channels) == 0 && e.most > orderMost {
		e.channels, e.most = make(map[string]*channel), 0 // a map does not shrink
	}
}

// lose handles the loss of a channel's subscription.
func (e *ears) lose(ch *channel) {
	if e.heard(ch) {
		e.subscribed--
		if ch.by.len() == 0 {
			e.idle--
		}
		if ch.leaving {
			e.leaving--
		}
	}
	ch.state, ch.leaving = absent, false
	if ch.by.len() == 0 {
		e.forget(ch)
		return
	}
	e.deafen(ch)
	e.fresh.push(ch)
}

func (e *ears) deafen(ch *channel) {
	for _, l := range ch.by.all() {
		l.Deafen()
	}
}

// of returns the listeners of a channel.
func (e *ears) of(name string) []*actor.Lock {
	if ch := e.channels[name]; ch != nil {
		return ch.by.all()
	}
	return nil
}

// confirmed handles a subscription's confirmation and returns the locks that are listening from now on.
func (e *ears) confirmed(name string, on int) []*actor.Lock {
	if on <= e.gone {
		return nil
	}
	ch := e.channels[name]
	if ch == nil {
		// Forgotten while the subscriber carried out its order. The server still has it: it must be unsubscribed.
		ch = e.add(name)
		e.here.push(ch)
	}
	e.waits = false
	if e.heard(ch) {
		if on > int(ch.on) {
			ch.state, ch.on = present, int32(on)
		}
		return nil // confirmed on another connection too: no message was missed
	}
	ch.state, ch.on, ch.leaving, ch.refused = present, int32(on), false, false
	e.subscribed++
	if ch.by.len() == 0 {
		e.idle++
	}
	if e.ending() {
		e.doubtful = append(e.doubtful, ch)
	}
	return ch.by.all()
}

// cutOff handles the loss of all connections up to gone. Nothing is subscribed until the next order. Locks that are not
// listening learn it when their channel's turn comes.
func (e *ears) cutOff(gone int) {
	e.gone = max(e.gone, gone)
	e.subscribed, e.idle, e.leaving, e.idleSince, e.moving, e.waits = 0, 0, 0, 0, false, false
	for _, l := range []*line{&e.here, &e.there, &e.left} {
		e.fresh.takeAll(l)
	}
}

// silenced handles an unsubscription that the server made because the slot moved.
func (e *ears) silenced(name string, on int) {
	if ch := e.channels[name]; ch != nil && e.heard(ch) && int(ch.on) == on {
		e.lose(ch)
	}
}

// engaged reports whether any channel is subscribed or wanted.
func (e *ears) engaged() bool { return e.busy || len(e.channels) > 0 }
