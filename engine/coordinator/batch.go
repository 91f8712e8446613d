package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// MaxKeptBuf is the largest buffer that a batch keeps for its next use, in bytes.
	MaxKeptBuf = 1 << 16
	// BatchKeys is the maximum number of locks, and holds of readers, per batch. Larger batches do not lower the cost
	// per lock, and they block other clients of the server for longer.
	BatchKeys = 128
	// renewKeys is the same limit for routine renewals that are behind, as those of very many locks are.
	// Measured with a million: the client's processor time of a renewal falls from 1.9 to 1.5 µs.
	renewKeys = 2 * BatchKeys
	// batchBytes bounds the size of a batch with long names, in bytes.
	batchBytes = 1 << 20
)

// Batch is one EVALSHA: commands of one verb, which one run of its script executes. The coordinator owns it, except
// while it is in flight: then the sender owns it. NewBatch makes one. The zero Batch cannot be sent: it is not its own
// message (Msg), so it would not come back.
type Batch struct {
	Verb              actor.Verb
	Commands          []actor.Command
	Sent              time.Duration // start of the turn in which it was sent; leases count from here
	SentWallMillis    int64         // the same by the wall clock, in ms since 1970: for values that processes compare
	EffectUntilMillis int64         // server's deadline for fair locks, in ms since 1970; 0: unknown clock, so the batch has no effect
	busyWait          bool          // senders busy-wait for its reply
	wasLate           bool          // it has been too late once
	background        bool          // the first of a bundle, while in flight: one of its commands is of a list after awaited
	SendText          bool          // send the script's text, because the server does not have the script
	Msg               LoopMessage

	Node         *Node  // destination
	Next         *Batch // next batch of a bundle: another slot of the same node
	bundleNext   *Batch // same list as Next; the coordinator may read it while the bundle is in flight
	Slot         uint16 // cluster: the slot of all its keys
	Asking       bool   // cluster: send ASKING first, because the slot is migrating to the node
	RedirectedBy *Node  // with asking: the node that replied ASK
	redirects    uint8  // cluster: number of redirections so far
	Abandoned    bool   // in flight but given up: its locks have been stepped with a missing reply

	Buf              []byte        // set by the sender: the arguments of the EVALSHA, in use until the reply arrives
	Replies          []actor.Reply // set by the sender: at most one reply per command
	Failed           error         // set by the sender: why no command has a reply
	NoReply          bool          // set by the sender: no reply came, so the batch may have run or may still run
	staleOwner       bool          // cluster: the reply came from a node that no longer owned the slot
	Demoted          bool          // set by the sender: lost, because the server became a replica before WAIT returned
	ViaClusterClient bool          // set by the sender: routed by the cluster client's own topology, maybe to another node
}

// NewBatch returns an empty batch that is its own message.
func NewBatch() *Batch {
	b := &Batch{}
	b.Msg.Value = b
	return b
}

// Reset empties a batch for commands of a verb. Only the memory of its slices stays, without a buffer beyond
// MaxKeptBuf, and that it is its own message.
func (b *Batch) Reset(verb actor.Verb) {
	clear(b.Commands)
	clear(b.Replies)
	if cap(b.Buf) > MaxKeptBuf {
		b.Buf = nil
	}
	*b = Batch{Verb: verb, Msg: b.Msg, Commands: b.Commands[:0], Replies: b.Replies[:0], Buf: b.Buf}
}

// spareBatches is the maximum number of free batches that are kept to be used again. In a cluster a bundle can have one
// for each of its commands.
const spareBatches = 1024

// getBatch returns an empty batch for commands of a verb: a free one, or a new one.
func (c *Coordinator) getBatch(verb actor.Verb) *Batch {
	var b *Batch
	if last := len(c.freeBatches) - 1; last >= 0 {
		b = c.freeBatches[last]
		c.freeBatches = c.freeBatches[:last]
	} else {
		b = NewBatch()
	}
	b.Verb = verb
	return b
}

// freeBatch keeps a batch that is no longer needed. It is emptied now and not at its next use, so that it does not keep
// the locks, requests and nodes of its last commands alive.
func (c *Coordinator) freeBatch(b *Batch) {
	if len(c.freeBatches) < spareBatches {
		b.Reset(0)
		c.freeBatches = append(c.freeBatches, b)
	}
}

// SendersPerNode is the number of senders per node, and so the maximum number of bundles in flight. Each sender carries
// one, which is a single batch without a cluster. With one sender, the server idles while a reply travels; with many,
// batches are small.
const SendersPerNode = 8
