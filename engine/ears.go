package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// orderMost is how many channels one SUBSCRIBE names.
	orderMost = 1024
	// orderRetryMost is the longest wait before a refused or broken subscription is tried again.
	orderRetryMost = 500 * time.Millisecond
	// leavePause is how long channels are not left again for each that is kept, and leaveFloor at least:
	// leaving costs a new connection that listens to all of those, and every waiter for a fair lock leaves
	// a channel behind.
	leavePause, leaveFloor = 50 * time.Microsecond, 100 * time.Millisecond
)

// state of a channel at the server.
const (
	absent uint8 = iota
	ordered
	present
)

// channel is one pub/sub channel and the locks that want to hear it. Two keys can share one.
type channel struct {
	name  string
	locks []*actor.Lock
	state uint8
	dirty bool // in the list of those to look at

	refused bool // the server would not let it be joined when it was asked for alone
	stray   bool // absent, as far as is known, but the server may have it all the same
}

// superfluous reports whether the channel is listened to for nobody.
func (ch *channel) superfluous() bool { return len(ch.locks) == 0 && (ch.state != absent || ch.stray) }

// order is what the subscriber is to do next. The coordinator's, but the subscriber's between leaving and
// orderDone.
type order struct {
	leave []string
	join  []string
	keep  []string // with leave: all that is to be listened to, old and new
	fresh []string // of keep, what only the new connection will have
}

// ears decides what is listened to. Wishes change freely; one order is under way at a time, and the next
// is made from what differs then. Owned by the coordinator.
type ears struct {
	channels   map[string]*channel
	dirty      []*channel
	subscribed int
	size       int // channels an order may name: smaller after a refusal, so that one bad one is found
	busy       bool
	tryAt      time.Duration
	leaveAt    time.Duration // channels are not left before
	backoff    time.Duration
	order      *order // outcome: for the subscriber
	last       *order // under way
}

func newEars() ears {
	return ears{channels: make(map[string]*channel), size: orderMost}
}

// join notes that a lock wants to hear a channel, and reports whether it does already.
func (e *ears) join(l *actor.Lock, name string) (already bool) {
	ch := e.channels[name]
	if ch == nil {
		ch = &channel{name: name}
		e.channels[name] = ch
	}
	ch.locks = append(ch.locks, l)
	e.look(ch)
	return ch.state == present
}

func (e *ears) leave(l *actor.Lock, name string) {
	ch := e.channels[name]
	if ch == nil {
		return
	}
	ch.locks = slices.DeleteFunc(ch.locks, func(other *actor.Lock) bool { return other == l })
	e.look(ch)
}

// look marks a channel whose state may differ from what is wanted.
func (e *ears) look(ch *channel) {
	if !ch.dirty {
		ch.dirty = true
		e.dirty = append(e.dirty, ch)
	}
}

// of returns who wants to hear a channel.
func (e *ears) of(name string) []*actor.Lock {
	if ch := e.channels[name]; ch != nil {
		return slices.Clone(ch.locks)
	}
	return nil
}

// confirmed takes in that the server sends a channel's messages from now on.
func (e *ears) confirmed(name string) []*actor.Lock {
	ch := e.channels[name]
	if ch == nil {
		// Forgotten while its order was with the subscriber. The server does not know: it is to be left.
		ch = &channel{name: name}
		e.channels[name] = ch
	}
	if ch.state == present {
		return nil // again, on a new connection: nothing was missed
	}
	ch.state, ch.refused, ch.stray = present, false, false
	e.subscribed++
	e.look(ch)
	return slices.Clone(ch.locks)
}

// deafen takes in that the connection broke: nothing is heard until it is listened to again.
func (e *ears) deafen() {
	for _, name := range slices.Sorted(maps.Keys(e.channels)) {
		ch := e.channels[name]
		e.gone(ch)
		for _, l := range ch.locks {
			l.Deafen()
		}
	}
}

// silenced takes in that the server took a channel away, because its slot moved.
func (e *ears) silenced(name string) {
	if ch := e.channels[name]; ch != nil && ch.state == present {
		e.gone(ch)
		for _, l := range ch.locks {
			l.Deafen()
		}
	}
}

// engaged reports whether anything is listened to, or to be.
func (e *ears) engaged() bool { return e.busy || len(e.channels) > 0 }

func (e *ears) gone(ch *channel) {
	if ch.state == present {
		e.subscribed--
	}
	ch.state, ch.stray = absent, false
	e.look(ch)
}

// arrange makes the next order, if the subscriber is free and something differs from what is wanted.
func (e *ears) arrange(now time.Duration) {
	if e.busy || len(e.dirty) == 0 || now < e.tryAt {
		return
	}
	e.tryAt = 0 // what is left over now waits for leaveAt
	o := &order{}
	rest := e.dirty[:0]
	for _, ch := range e.dirty {
		if len(o.join)+len(o.leave) == e.size || now < e.leaveAt && ch.superfluous() {
			rest = append(rest, ch)
			continue
		}
		ch.dirty = false
		e.settle(ch, o)
	}
	clear(e.dirty[len(rest):])
	e.dirty = rest
	if len(o.leave) > 0 {
		e.keepOthers(o)
		e.leaveAt = now + max(time.Duration(len(o.keep))*leavePause, leaveFloor)
	}
	if len(o.join)+len(o.leave) > 0 {
		e.busy, e.order, e.last = true, o, o
	}
}

// keepOthers lists all that is to be listened to: leaving means a new connection without what is left.
func (e *ears) keepOthers(o *order) {
	for name, ch := range e.channels {
		if len(ch.locks) > 0 && !ch.refused {
			o.keep = append(o.keep, name)
			if ch.state == absent {
				o.fresh = append(o.fresh, name)
			}
		}
	}
	slices.Sort(o.keep)
	o.fresh = append(o.fresh, o.join...)
	slices.Sort(o.fresh)
}

// settle adds a channel to the order if it must be joined or left, and forgets one that is neither.
func (e *ears) settle(ch *channel, o *order) {
	switch wanted := len(ch.locks) > 0; {
	case wanted && ch.state == absent:
		ch.state = ordered
		o.join = append(o.join, ch.name)
	case !wanted && (ch.state != absent || ch.stray):
		o.leave = append(o.leave, ch.name)
	case !wanted:
		delete(e.channels, ch.name)
	}
}

// done takes in that the order was carried out, or what went wrong. What an order left undone is marked
// again, and waits a little if it failed. It returns the locks that are not heard for that long.
func (e *ears) done(now time.Duration, err error) (unheard []*actor.Lock) {
	e.busy = false
	for _, name := range e.last.leave {
		if ch := e.channels[name]; ch != nil && err == nil {
			e.gone(ch)
		} else if ch != nil {
			e.look(ch)
		}
	}
	if err == nil {
		e.backoff, e.tryAt, e.size = 0, 0, min(2*e.size, orderMost)
		e.forgetOthers()
		return nil
	}
	for _, name := range e.last.join {
		if ch := e.channels[name]; ch != nil && ch.state == ordered {
			stray := ch.stray
			e.gone(ch)
			ch.stray = stray
			ch.refused = len(e.last.join)+len(e.last.leave) == 1
		}
	}
	for _, name := range e.last.fresh {
		if ch := e.channels[name]; ch != nil && ch.state == present {
			e.gone(ch) // it was confirmed on a connection that is none any more, or long before on the one that is left
			ch.stray = true
		}
	}
	e.size = max(e.size/2, 1)
	e.backoff = min(max(2*e.backoff, retryFirst), orderRetryMost)
	e.tryAt = now + e.backoff
	for _, ch := range e.dirty {
		if ch.state == absent {
			unheard = append(unheard, ch.locks...)
		}
	}
	return unheard
}

// forgetOthers follows an order that took another connection: what was confirmed meanwhile and is not on
// it was confirmed by the one before, and what was to be joined and is not on it nobody has asked for.
func (e *ears) forgetOthers() {
	if len(e.last.leave) == 0 {
		return
	}
	kept := make(map[string]bool, len(e.last.keep))
	for _, name := range e.last.keep {
		kept[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(e.channels)) {
		if ch := e.channels[name]; (ch.state != absent || ch.stray) && !kept[name] {
			e.gone(ch)
		}
	}
}

// retryAt is when the next order may be made after a failure; 0 when nothing waits for that.
func (e *ears) retryAt() time.Duration {
	if e.busy || len(e.dirty) == 0 {
		return 0
	}
	if e.tryAt == 0 {
		return e.leaveAt
	}
	return e.tryAt
}
