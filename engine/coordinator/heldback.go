package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// Requests of callers that do not block are held back at their node as soon as enough commands wait there. There are
// two sorts, so that a flood of one holds back none of the other.
const (
	plainRequests = iota // their commands have lists of their own, behind those of callers that block
	fairRequests         // their commands are in one list with those of callers that block, in the order of arrival
	requestSorts
)

const (
	// maxQueuedAhead is the number of first attempts, for which no caller blocks, that wait at a node while further
	// plain requests are held back.
	maxQueuedAhead = 4 * BatchKeys
	// maxFairAhead is the number of fair acquires that wait at a node while further fair requests are held back. A
	// caller that blocks comes behind them, and only one batch of them is in flight. So it waits for about three
	// batches.
	maxFairAhead = BatchKeys
)

// sortOf returns the sort of a request.
func sortOf(r *actor.Request) int {
	if r.Kind.Queues() {
		return fairRequests
	}
	return plainRequests
}

// laneOfAsync returns the lane of a request that no caller blocks for. That is the common lane while this turn is sure
// to handle all of it, and few commands wait at its node. Otherwise the request waits at its node, behind requests of
// callers that block. There it may wait for as long as the server is silent, so its timeout starts now.
//
// If its owner has the lock, it needs no server. So it waits in a lane that has a small share of each turn instead, and
// its name is noted: an unlock that its owner posts after it must not come first, or the owner would lose the lock.
func (c *Coordinator) laneOfAsync(now time.Duration, r *actor.Request, m *LoopMessage) *messageQueue {
	n, sort := c.nodeForKey(r.Key), sortOf(r)
	all, apart := &c.intake.lanes[fromCallers], &n.asyncRequests[sort]
	earlier := c.intake.lanes[inOrder].work + all.work
	switch {
	case c.Closed:
		return all // it is rejected, and no timer can be set any more
	case r.Owner != 0 && c.ownerHolds(now, r):
		c.intake.note(r.Key, m)
		return &c.intake.lanes[asyncUnlocks]
	case apart.empty() && earlier < c.intake.laneBudget && !n.queueFull(sort, earlier):
		return all
	}
	c.Fx.LimitWait(r, c.Fx.Config.CallTimeout+c.Fx.Config.ReplicaTimeout)
	return apart
}

// queueFull reports whether enough commands wait to be sent to a node, with the ones that further requests may add. A
// node that is down is never full: its requests wait at their locks, where they can be canceled.
//
// Commands of callers that block do not count for plain requests, because those come behind them. For fair ones they
// do.
func (n *Node) queueFull(sort, further int) bool {
	switch {
	case n.Breaker.Down:
		return false
	case sort == fairRequests:
		return n.Queues[actor.SendFairAcquire].lists[awaited].n+further >= maxFairAhead
	}
	waiting := further
	for _, verb := range Priorities[acquirePriority] {
		waiting += n.Queues[verb].lists[unawaited].n
	}
	return waiting >= maxQueuedAhead
}

// admits reports whether a request that is held back at a node may be handled. With each batch of fair acquires a part
// of one is admitted however many wait: a stream of callers that block must not hold back the others for as long as it
// lasts.
func (n *Node) admits(sort int) bool {
	return sort == fairRequests && n.fairAdmitted > 0 || !n.queueFull(sort, 0)
}

// onBatchFilled notes that a batch was taken out of a queue: it admits fair requests.
func (n *Node) onBatchFilled(verb actor.Verb) {
	if verb == actor.SendFairAcquire {
		n.fairAdmitted = BatchKeys / backgroundShare
	}
}

// holdsBack reports whether requests are held back at a node.
func (n *Node) holdsBack() bool {
	return n.asyncRequests[plainRequests].n+n.asyncRequests[fairRequests].n > 0
}

// handleHeldBack handles at most share of the requests of each sort that are held back at a node. It stops when enough
// commands wait there.
func (c *Coordinator) handleHeldBack(now time.Duration, n *Node, share int) {
	for sort := range n.asyncRequests {
		lane := &n.asyncRequests[sort]
		for left := share; left > 0 && !lane.empty() && !c.Closed && n.admits(sort); left-- {
			if sort == fairRequests {
				n.fairAdmitted = max(n.fairAdmitted-1, 0)
			}
			m := lane.pop()
			if owner := c.nodeForKey(m.Value.(*actor.Request).Key); owner != n { // its slot moved: the limit is that of the owner
				owner.asyncRequests[sort].push(m)
				continue
			}
			c.handleInOrder(now, m)
		}
	}
}

// mayHandleHeldBack reports whether the next turn can handle a request that is held back at a node.
func (n *Node) mayHandleHeldBack() bool {
	for sort := range n.asyncRequests {
		if !n.asyncRequests[sort].empty() && n.admits(sort) {
			return true
		}
	}
	return false
}
