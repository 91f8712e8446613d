package proxy

import "time"

// Fault is what happens to the bytes of one direction of a connection. It is a value: Pass, Hold, Drop, or the
// result of Delay, CutAfter or Trickle.
type Fault struct {
	kind  kind
	delay time.Duration
	after int // bytes forwarded before the cut; of Trickle, the size of a piece
}

type kind uint8

const (
	pass kind = iota
	hold
	drop
	delay
	cutAfter
	trickle
)

var (
	// Pass forwards bytes as they come.
	Pass = Fault{kind: pass}
	// Hold keeps bytes and the end of the stream, in order, until another fault is set.
	Hold = Fault{kind: hold}
	// Drop swallows bytes, including those held until then, and the end of the stream. A connection that lost bytes is
	// reset when a fault other than Hold follows. The next bytes would begin in the middle of a message, which no network
	// does.
	Drop = Fault{kind: drop}
)

// Delay forwards bytes and the end of the stream d after they came, in order.
func Delay(d time.Duration) Fault { return Fault{kind: delay, delay: d} }

// CutAfter forwards n more bytes, and resets the connection to both sides when one more byte comes. CutAfter(0) on
// Replies loses the next reply.
func CutAfter(n int) Fault { return Fault{kind: cutAfter, after: n} }

// Trickle forwards n bytes at a time, one piece every d, so that the reader never receives a whole message at once.
func Trickle(n int, d time.Duration) Fault { return Fault{kind: trickle, after: max(n, 1), delay: d} }

// faults holds one fault for each direction; nil is none.
type faults struct{ commands, replies *Fault }

func (f *faults) set(d Direction, to Fault) {
	if d&Commands != 0 {
		f.commands = &to
	}
	if d&Replies != 0 {
		f.replies = &to
	}
}

// withDefaults returns f, with the faults of g where f has none.
func (f faults) withDefaults(g faults) faults {
	if f.commands == nil {
		f.commands = g.commands
	}
	if f.replies == nil {
		f.replies = g.replies
	}
	return f
}
