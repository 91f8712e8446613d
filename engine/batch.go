package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// keepText is how long a text may be whose memory is kept for the next call.
	keepText = 1 << 16
	// batchKeys is how many locks, and holds of readers, a call takes at most: more does not make a lock cheaper any
	// more, and holds the server up for everybody else.
	batchKeys = 128
	// renewKeys is the same of routine renewals, if so many wait: very many are held. Measured with a million: the
	// client's processor time of a renewal 1.9 to 1.5 µs.
	renewKeys = 2 * batchKeys
	// batchBytes bounds a call whose names are long.
	batchBytes = 1 << 20
)

// batch is one call of one script. The coordinator's, but the courier's between leaving and return.
type batch struct {
	verb     actor.Verb
	commands []actor.Command
	sent     time.Duration // the turn it left in: leases count from here
	wall     int64         // the same by the wall clock, in ms since 1970: for what is compared across processes
	whole    bool          // send the script's text: the server does not know it
	mail     mail

	node   *node  // where it goes
	next   *batch // of a bundle: leaves with it, for another slot of the same node
	slot   uint16 // in a cluster: of all its keys
	asking bool   // in a cluster: the slot is on its way to the node
	hops   uint8  // in a cluster: how often it was sent on

	text    []byte        // by the courier: of the call, whose arguments lie in it until the answer is there
	replies []actor.Reply // by the courier, one a command
	failed  error         // by the courier: there is no reply for any command
	lost    bool          // by the courier: no answer came, so it may have run or may yet run
	late    bool          // in a cluster: an answer came from a node that has lost the slot since
	led     bool          // by the courier: it went by the map of the cluster's client, maybe to another node
}

func newBatch() *batch {
	b := &batch{}
	b.mail.what = b
	return b
}

func (b *batch) reset(verb actor.Verb) {
	clear(b.commands)
	clear(b.replies)
	b.commands, b.replies = b.commands[:0], b.replies[:0]
	if cap(b.text) > keepText {
		b.text = nil
	}
	b.verb, b.whole, b.failed, b.lost = verb, false, nil, false
	b.node, b.next, b.slot, b.asking, b.hops, b.late, b.led = nil, nil, 0, false, 0, false, false
}

// queue is a first-in, first-out list of commands that keeps its memory while it is in use.
type queue struct {
	commands []actor.Command
	head     int
	pressing int // all but routine renewals
}

func (q *queue) len() int { return len(q.commands) - q.head }

// push moves what is left to the front before it would grow: under load a queue is never empty.
func (q *queue) push(c actor.Command) {
	if len(q.commands) == cap(q.commands) && q.head > len(q.commands)/2 {
		left := copy(q.commands, q.commands[q.head:])
		clear(q.commands[left:])
		q.commands, q.head = q.commands[:left], 0
	}
	q.commands = append(q.commands, c)
	if !c.Routine {
		q.pressing++
	}
}

// next is what pop returns; not of an empty queue.
func (q *queue) next() *actor.Command { return &q.commands[q.head] }

func (q *queue) pop() actor.Command {
	c := q.commands[q.head]
	q.commands[q.head] = actor.Command{}
	q.head++
	if !c.Routine {
		q.pressing--
	}
	if q.head == len(q.commands) {
		q.head = 0
		q.commands = q.commands[:0]
		if cap(q.commands) > keepCommands {
			q.commands = nil
		}
	}
	return c
}

// keepCommands is how many commands' room an empty queue keeps: a burst gives its memory back.
const keepCommands = 1 << 14
