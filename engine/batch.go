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
	latest   int64         // of fair locks: until when it may take effect by the server's clock, in ms since 1970; 0: it may not, as that clock is not known
	tardy    bool          // it came too late once
	whole    bool          // send the script's text: the server does not know it
	mail     mail

	node   *node  // where it goes
	next   *batch // of a bundle: leaves with it, for another slot of the same node
	beside *batch // the same, and the coordinator's while it is out as well
	slot   uint16 // in a cluster: of all its keys
	asking bool   // in a cluster: the slot is on its way to the node
	asker  *node  // with asking: who sent it on
	hops   uint8  // in a cluster: how often it was sent on
	over   bool   // out, and given up: its locks were told that it has no answer

	text    []byte        // by the courier: of the call, whose arguments lie in it until the answer is there
	replies []actor.Reply // by the courier, one a command
	failed  error         // by the courier: there is no reply for any command
	lost    bool          // by the courier: no answer came, so it may have run or may yet run
	late    bool          // in a cluster: an answer came from a node that has lost the slot since
	demoted bool          // by the courier: lost, because the server became a replica before it said how many of its own have it
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
	b.verb, b.latest, b.tardy, b.whole, b.failed, b.lost = verb, 0, false, false, nil, false
	b.node, b.next, b.slot, b.asking, b.hops, b.late, b.demoted, b.led = nil, nil, 0, false, 0, false, false, false
	b.beside, b.asker, b.over = nil, nil, false
}
