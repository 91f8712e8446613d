package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// maxKeptBuf is the largest buffer that a batch keeps for its next call, in bytes.
	maxKeptBuf = 1 << 16
	// batchKeys is the maximum number of locks, and holds of readers, per call. Larger batches do not lower the cost
	// per lock, and they block other clients of the server for longer.
	batchKeys = 128
	// renewKeys is the same limit for routine renewals, if at least that many wait: then very many locks are held.
	// Measured with a million: the client's processor time of a renewal falls from 1.9 to 1.5 µs.
	renewKeys = 2 * batchKeys
	// batchBytes bounds the size of a call with long names, in bytes.
	batchBytes = 1 << 20
)

// batch is one call of one script. The coordinator owns it, except while it is in flight: then the sender owns it.
type batch struct {
	verb              actor.Verb
	commands          []actor.Command
	sent              time.Duration // start of the turn in which it was sent; leases count from here
	sentWallMillis    int64         // the same by the wall clock, in ms since 1970: for values that processes compare
	effectUntilMillis int64         // server's deadline for fair locks, in ms since 1970; 0: unknown clock, so the call has no effect
	wasLate           bool          // it has been too late once
	sendText          bool          // send the script's text, because the server does not have the script
	msg               loopMessage

	node         *node  // destination
	next         *batch // next call of a bundle: another slot of the same node
	bundleNext   *batch // same list as next; the coordinator may read it while the bundle is in flight
	slot         uint16 // cluster: the slot of all its keys
	asking       bool   // cluster: send ASKING first, because the slot is migrating to the node
	redirectedBy *node  // with asking: the node that replied ASK
	redirects    uint8  // cluster: number of redirections so far
	abandoned    bool   // in flight but given up: its locks have been stepped with a missing reply

	buf              []byte        // set by the sender: the arguments of the call, in use until the reply arrives
	replies          []actor.Reply // set by the sender: at most one reply per command
	failed           error         // set by the sender: why no command has a reply
	noReply          bool          // set by the sender: no reply came, so the call may have run or may still run
	staleOwner       bool          // cluster: the reply came from a node that no longer owned the slot
	demoted          bool          // set by the sender: lost, because the server became a replica before WAIT returned
	viaClusterClient bool          // set by the sender: routed by the cluster client's own topology, maybe to another node
}

func newBatch() *batch {
	b := &batch{}
	b.msg.Value = b
	return b
}

func (b *batch) reset(verb actor.Verb) {
	clear(b.commands)
	clear(b.replies)
	b.commands, b.replies = b.commands[:0], b.replies[:0]
	if cap(b.buf) > maxKeptBuf {
		b.buf = nil
	}
	b.verb, b.effectUntilMillis, b.wasLate, b.sendText, b.failed, b.noReply = verb, 0, false, false, nil, false
	b.node, b.next, b.slot, b.asking, b.redirects, b.staleOwner, b.demoted, b.viaClusterClient = nil, nil, 0, false, 0, false, false, false
	b.bundleNext, b.redirectedBy, b.abandoned = nil, nil, false
}
