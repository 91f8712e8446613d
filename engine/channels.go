package engine

// channel is one pub/sub channel and the locks that listen to it. Two keys can share a channel.
type channel struct {
	name       string
	by         hearers
	prev, next *channel // neighbours in its line
	on         int32    // number of the connection that has it; meaningless once that connection is gone
	state      uint8
	leaving    bool // no lock listens to it, and the next connection does not have it
	refused    bool // the server rejected it when it was subscribed alone
}

// States of a channel.
const (
	absent  uint8 = iota
	ordered       // to be subscribed
	present       // subscribed
	moving        // subscribed, and to be subscribed on the next connection
)

// line is a doubly linked list of channels. Removing a channel and moving all channels to another line take constant
// time. The zero line must be initialized with init.
type line struct{ ends channel }

func (l *line) init() { l.ends.prev, l.ends.next = &l.ends, &l.ends }

func (l *line) empty() bool { return l.ends.next == &l.ends }

func (l *line) push(ch *channel) { ch.between(l.ends.prev, &l.ends) }

// pushFront makes a channel the next one that pop returns.
func (l *line) pushFront(ch *channel) { ch.between(&l.ends, l.ends.next) }

// pop removes and returns the first channel, or nil.
func (l *line) pop() *channel {
	if l.empty() {
		return nil
	}
	ch := l.ends.next
	ch.unlink()
	return ch
}

// takeAll moves all channels of another line to the end of this one.
func (l *line) takeAll(other *line) {
	if other.empty() {
		return
	}
	first, last := other.ends.next, other.ends.prev
	first.prev, l.ends.prev.next = l.ends.prev, first
	last.next, l.ends.prev = &l.ends, last
	other.init()
}

// between inserts a channel there, and removes it from its previous position, if any.
func (ch *channel) between(prev, next *channel) {
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
