package coordinator

import (
	"errors"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/slot"
)

// errStaleOwner replaces a reply from a node that no longer owned the slot when the reply arrived.
var errStaleOwner = errors.New("asked of a master that was replaced")

// onWrongNode reports whether a batch is at a node that no longer owns its keys.
func (c *Coordinator) onWrongNode(b *Batch) bool {
	if c.Cluster == nil {
		return b.Node != c.Fallback
	}
	owner := c.Cluster.owner(b.Slot)
	return owner != b.Node && (!b.Asking || owner != b.RedirectedBy)
}

// owner returns the owner of a slot, including what was learned in this turn.
func (cl *cluster) owner(slot uint16) *Node {
	for _, m := range slices.Backward(cl.pendingMoves) {
		if m.first <= int(slot) && int(slot) <= m.last {
			return m.to
		}
	}
	return cl.slots[slot]
}

// dropStaleOwnerReply turns a reply into a missing one if the node no longer owned the keys when it arrived. A master
// that was cut off and replaced confirms what its successor never learns.
func (c *Coordinator) dropStaleOwnerReply(b *Batch) bool {
	if b.Failed != nil || !c.onWrongNode(b) {
		return false
	}
	b.Failed, b.NoReply, b.staleOwner = errStaleOwner, true, true
	return true
}

// abandonMisplaced gives up the batches at nodes that no longer own their keys. Their locks retry at the right node at
// once, however long the old one is silent. The replies of these batches are ignored later.
func (c *Coordinator) abandonMisplaced(now time.Duration) {
	reply := actor.Reply{Status: actor.NoReply, Err: errStaleOwner}
	for _, n := range c.Nodes {
		for _, first := range n.bundles {
			for b := first; b != nil; b = b.bundleNext {
				if b.Abandoned || !c.onWrongNode(b) {
					continue
				}
				b.Abandoned = true
				for i := range b.Commands {
					c.deliverReply(now, b, &b.Commands[i], &reply)
				}
			}
		}
	}
}

// onAbandonedDone handles a batch that was given up. It only shows whether its node replies.
func (c *Coordinator) onAbandonedDone(now time.Duration, b *Batch) {
	if b.NoReply {
		c.onNoReply(now, b)
		return
	}
	c.onReachable(now, b)
}

// onMasterChanged handles a new master named by Sentinel. It creates a node for it, so that the old one gets no more
// commands. A former master that returns is a new node as well: the old node of that address has outdated batches.
func (c *Coordinator) onMasterChanged(now time.Duration, address string) {
	if address == c.Fallback.Address {
		return
	}
	c.Fallback.slots, c.hasEmptyNodes = 0, true
	c.Fallback = c.addNode(address)
	c.Fallback.slots = 1
	c.Fx.ReconfirmSince = now   // the new master may not know everything that was granted
	c.movesSubscriptions = true // a lock that abandonMisplaced steps may leave a channel that is still at the old node
	c.abandonMisplaced(now)
	c.requeueMoved(now)
	c.ReconfirmAll(now)
}

// addNode creates a node. Its workers are started after the turn.
func (c *Coordinator) addNode(address string) *Node {
	n := NewNode(address, c.Fx.Config.Lease)
	c.Added = append(c.Added, n)
	c.Nodes = append(c.Nodes, n)
	return n
}

// reconfirmation tracks which locks must be confirmed: those of slots with a new owner, or all, if no earlier
// confirmation counts. A pass visits all locks, a bounded number per turn. The zero value has nothing to confirm. Owned
// by the coordinator.
type reconfirmation struct {
	everyLock     bool            // a pass over all locks was requested since the current pass began
	passEveryLock bool            // the current pass is for all locks
	slots         map[uint16]bool // slots changed since the current pass began
	pass          map[uint16]bool // slots of the current pass
	round                         // of the current pass
	startAt       time.Duration   // earliest start of the next pass
}

// reconfirmPerLock is the minimum pause before the next pass, per lock of a pass. So slots that move one after the
// other do not occupy an engine with very many locks.
const reconfirmPerLock = time.Microsecond

func (r *reconfirmation) add(slots map[uint16]bool) {
	if r.slots == nil {
		r.slots = slots
		return
	}
	for slot := range slots {
		r.slots[slot] = true
	}
}

// addAll requests a pass for all locks, which starts as soon as the current one ends.
func (r *reconfirmation) addAll() { r.everyLock, r.startAt = true, 0 }

// due returns when the next turn has something to check. ok is false if there is nothing.
func (r *reconfirmation) due() (at time.Duration, ok bool) {
	if r.On() {
		return 0, true
	}
	return r.startAt, r.everyLock || len(r.slots) > 0
}

// reconfirmSome continues a pass, or starts one that is due. Grants in the meantime are safe: they need a new
// confirmation in any case.
func (c *Coordinator) reconfirmSome(now time.Duration) {
	r := &c.reconfirms
	if at, ok := r.due(); !ok || now < at {
		return
	}
	if !r.On() {
		r.round = c.NewRound()
		r.pass, r.slots = r.slots, nil
		r.passEveryLock, r.everyLock = r.everyLock, false
		r.startAt = now + time.Duration(len(r.Left))*reconfirmPerLock
	}
	for _, l := range r.take(c.intake.lockBudget) {
		if l.Key() != "" && (r.passEveryLock || r.pass[slot.Of(l.Key())]) { // it may have ended in the meantime
			c.step(now, l, &actor.Message{Event: actor.Reconfirm})
		}
	}
	if !r.On() {
		r.pass = nil
	}
}
