package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// orderMost is how many channels one SUBSCRIBE names.
	orderMost = 1024
	// earsPerTurn is how many channels are looked at in a turn beyond those that are named in an order.
	earsPerTurn = 1024
	// orderRetryMost is the longest wait before a refused or broken subscription is tried again.
	orderRetryMost = 500 * time.Millisecond
	// Channels are left by moving: those that are kept are joined on another connection, so many of them a turn, and then the one before
	// is let go of. That comes no sooner than leaveFloor after the time before, and when at least as many channels are heard for nobody
	// as are kept, or leavePause for each of these after there was the first.
	leaveFloor, leavePause = 100 * time.Millisecond, 50 * time.Microsecond
)

// order is what the subscriber is to do next. The coordinator's, but the subscriber's between leaving and
// orderDone.
type order struct {
	join   []string
	next   bool // on the next connection, which is opened if there is none
	alone  bool // it is of those that were refused
	change bool // then that one is the connection, and the one before is left
	leave  bool // the connection is left, and there is none
}

// ears decides what is listened to. Wishes change freely; one order is under way at a time, and the next
// is made from what differs then. What it does in a turn has a bound, however many channels there are. Owned by the coordinator.
type ears struct {
	channels map[string]*channel
	most     int // of channels, since there was none

	// Each channel stands in one of these lines.
	fresh   line // to be joined
	unheard line // to be joined, and those who want to hear it know that they do not
	refused line // to be joined, each alone, when there is nothing else to do
	here    line // on the connection, or in an order for it
	there   line // on the next connection, while moving, or in an order for it
	left    line // on the connection and not on the next, while moving
	over    line // to be forgotten

	gone       int // connections up to this one are no more
	subscribed int // channels that are heard
	idle       int // of those, for nobody
	leaving    int // of those, the ones that the next connection does not have

	doubtful []*channel // that were confirmed, maybe there, or wished for again while the connection was to be left

	size      int // channels an order may name: smaller after a refusal, so that one bad one is found
	busy      bool
	moving    bool
	waits     bool          // to move a channel until it is confirmed where it is
	now       time.Duration // of the last turn
	tryAt     time.Duration
	leaveAt   time.Duration // channels are not left before
	idleSince time.Duration // when there was the first; 0: not seen yet
	backoff   time.Duration
	aloneAt   time.Duration // one that was refused is not tried before
	patience  time.Duration // between two such tries
	order     *order        // outcome: for the subscriber
	last      *order        // under way
}

func newEars() *ears {
	e := &ears{channels: make(map[string]*channel), size: orderMost}
	for _, l := range []*line{&e.fresh, &e.unheard, &e.refused, &e.here, &e.there, &e.left, &e.over} {
		l.init()
	}
	return e
}

// heard reports whether a channel's messages come.
func (e *ears) heard(ch *channel) bool {
	return (ch.state == present || ch.state == moving) && int(ch.on) > e.gone
}

// join notes that a lock wants to hear a channel, and reports whether it does already.
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

// ending reports whether the connection is to be left with the order that is under way.
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

// forget lets go of a channel that is not heard, for nobody.
func (e *ears) forget(ch *channel) {
	if ch.next != nil {
		ch.unlink()
	}
	delete(e.channels, ch.name)
	if len(e.channels) == 0 && e.most > orderMost {
		e.channels, e.most = make(map[string]*channel), 0 // a map keeps the room that it had
	}
}

// lose takes in that a channel is not heard any more.
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

// of returns who wants to hear a channel.
func (e *ears) of(name string) []*actor.Lock {
	if ch := e.channels[name]; ch != nil {
		return ch.by.all()
	}
	return nil
}

// confirmed takes in that a connection has a channel, and returns who hears it from now on.
func (e *ears) confirmed(name string, on int) []*actor.Lock {
	if on <= e.gone {
		return nil
	}
	ch := e.channels[name]
	if ch == nil {
		// Forgotten while its order was with the subscriber. The server does not know: it is to be left.
		ch = e.add(name)
		e.here.push(ch)
	}
	e.waits = false
	if e.heard(ch) {
		if on > int(ch.on) {
			ch.state, ch.on = present, int32(on)
		}
		return nil // again, on another connection: nothing was missed
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

// cutOff takes in that all connections up to that one broke: nothing is heard until it is listened to again. Who hears nothing is found when
// it is.
func (e *ears) cutOff(gone int) {
	e.gone = max(e.gone, gone)
	e.subscribed, e.idle, e.leaving, e.idleSince, e.moving, e.waits = 0, 0, 0, 0, false, false
	for _, l := range []*line{&e.here, &e.there, &e.left} {
		e.fresh.takeAll(l)
	}
}

// silenced takes in that the server took a channel away from a connection, because its slot moved.
func (e *ears) silenced(name string, on int) {
	if ch := e.channels[name]; ch != nil && e.heard(ch) && int(ch.on) == on {
		e.lose(ch)
	}
}

// engaged reports whether anything is listened to, or to be.
func (e *ears) engaged() bool { return e.busy || len(e.channels) > 0 }
