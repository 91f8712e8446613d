package coordinator

// channel is one pub/sub channel and the locks that listen to it. Two keys can share a channel. The zero value is
// unsubscribed and without listeners. Owned by the coordinator.
type channel struct {
	name       string
	listeners  listenerSet
	prev, next *channel // neighbours in its list; nil when it is in none
	index      int32    // in subscriptions.all
	conn       int32    // number of the connection that has it; meaningless once that connection is gone
	state      uint8
	dropping   bool  // no lock listens to it, and the next connection does not have it
	noted      uint8 // how many of its messages have not been handled, see noteMessage
	rejected   bool  // the server rejected it when it was subscribed alone
	pinned     bool  // the engine's own: wanted without a listener
}

// wanted reports whether the channel is to be subscribed.
func (ch *channel) wanted() bool { return ch.pinned || ch.listeners.len() > 0 }

// States of a channel.
const (
	stateUnsubscribed uint8 = iota
	stateSubscribing        // to be subscribed
	stateSubscribed         // subscribed
	stateMoving             // subscribed, and to be subscribed on the next connection
)

// channelList is a doubly linked list of channels. Removing a channel and moving all channels to another list take
// constant time. It needs init before its first use: the zero value is no empty list. Owned by the coordinator.
type channelList struct{ sentinel channel }

func (l *channelList) init() { l.sentinel.prev, l.sentinel.next = &l.sentinel, &l.sentinel }

func (l *channelList) empty() bool { return l.sentinel.next == &l.sentinel }

func (l *channelList) push(ch *channel) { ch.insertBetween(l.sentinel.prev, &l.sentinel) }

// pushFront makes a channel the next one that pop returns.
func (l *channelList) pushFront(ch *channel) { ch.insertBetween(&l.sentinel, l.sentinel.next) }

// pop removes and returns the first channel, or nil.
func (l *channelList) pop() *channel {
	if l.empty() {
		return nil
	}
	ch := l.sentinel.next
	ch.unlink()
	return ch
}

// moveAllFrom moves all channels of another list to the end of this one.
func (l *channelList) moveAllFrom(other *channelList) {
	if other.empty() {
		return
	}
	first, last := other.sentinel.next, other.sentinel.prev
	first.prev, l.sentinel.prev.next = l.sentinel.prev, first
	last.next, l.sentinel.prev = &l.sentinel, last
	other.init()
}

// insertBetween inserts a channel there, and removes it from its previous position, if any.
func (ch *channel) insertBetween(prev, next *channel) {
	if ch.next != nil {
		if prev == ch || next == ch {
			return // already there
		}
		ch.unlink()
	}
	ch.prev, ch.next = prev, next
	prev.next, next.prev = ch, ch
}

func (ch *channel) unlink() {
	ch.prev.next, ch.next.prev = ch.next, ch.prev
	ch.prev, ch.next = nil, nil
}
