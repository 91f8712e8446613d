package engine

// channel is one pub/sub channel and the locks that want to hear it. Two keys can share one.
type channel struct {
	name       string
	by         hearers
	prev, next *channel // in the line that it stands in
	on         int32    // the connection that has it: of no account once that is gone
	state      uint8
	leaving    bool // it is heard for nobody, and not on the next connection
	refused    bool // it was not joined when it was asked for alone: it is in the line of those
}

// state of a channel.
const (
	absent  uint8 = iota
	ordered       // it is to be joined
	present       // it is heard
	moving        // it is heard, and is to be joined on the next connection
)

// line is channels in an order, of which any can leave, and all at once go to another line: in one step each. The zero line is not ready.
type line struct{ ends channel }

func (l *line) init() { l.ends.prev, l.ends.next = &l.ends, &l.ends }

func (l *line) empty() bool { return l.ends.next == &l.ends }

func (l *line) push(ch *channel) { ch.between(l.ends.prev, &l.ends) }

// pushFront has a channel be the next to be popped.
func (l *line) pushFront(ch *channel) { ch.between(&l.ends, l.ends.next) }

// pop takes the first out; nil if there is none.
func (l *line) pop() *channel {
	if l.empty() {
		return nil
	}
	ch := l.ends.next
	ch.unlink()
	return ch
}

// takeAll appends all of another line.
func (l *line) takeAll(other *line) {
	if other.empty() {
		return
	}
	first, last := other.ends.next, other.ends.prev
	first.prev, l.ends.prev.next = l.ends.prev, first
	last.next, l.ends.prev = &l.ends, last
	other.init()
}

// between puts a channel there, from where it stood if it stood anywhere.
func (ch *channel) between(prev, next *channel) {
	if ch.next != nil {
		if prev == ch || next == ch {
			return // there it is
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
