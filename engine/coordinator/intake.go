package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// A turn handles a bounded number of messages, so that it ends soon whatever has been posted. The rest is handled in
// the turns that follow at once. Messages of one lane are handled in their order. Each lane has its own share of every
// turn, so a flood in one lane does not delay the others.
const (
	fromServer    = iota // replies and engine control: they free senders and confirm leases
	fromChannels         // pub/sub messages and subscription changes: a thousand come together where many wait
	inOrder              // requests and cancellations while they are few, whatever they ask
	aboutHolds           // unlocks and extensions: they free locks
	asyncUnlocks         // more unlocks of callers that do not block, and re-entries: they have what aboutHolds leaves
	cancellations        // requests that were canceled: they free locks and places for the next request of the same caller
	fromCallers          // requests of callers that block: at most one per caller
	lists                // requests for pages of lists of locks: one page a turn
	figures              // requests for Stats: in no lane of others, which any number of callers would delay
	lanes
)

// inOrderShare divides the budget of a lane: at most that part of it is handled in the lane inOrder.
const inOrderShare = 4

// MaxMessagesPerTurn is the number of messages of a lane that a turn handles. A batch counts once per reply.
const MaxMessagesPerTurn = 512

// messageQueue is a queue of messages in the order of handling. It links the messages themselves, so it allocates
// nothing. The zero value is empty. Owned by the coordinator.
type messageQueue struct {
	first, last *LoopMessage
	swept       *LoopMessage // the last one that the sweep has left, see sweepNext; nil: the sweep begins at the first
	n           int
	work        int // sum of the weights: the work, in messages for one lock
}

func (q *messageQueue) empty() bool { return q.first == nil }

func (q *messageQueue) push(m *LoopMessage) {
	m.Next = nil
	if q.first == nil {
		q.first = m
	} else {
		q.last.Next = m
	}
	q.last = m
	q.n++
	q.work += ownWeight(m)
}

func (q *messageQueue) pop() *LoopMessage {
	m := q.first
	q.first, m.Next = m.Next, nil
	if q.swept == m {
		q.swept = nil
	}
	q.n--
	q.work -= ownWeight(m)
	if q.first == nil {
		q.last = nil
	}
	return m
}

// intake holds messages that have not been handled, and the budgets of a turn. Requests of callers that do not block,
// such as LockAsync, wait at their node once there are many (heldback.go). New sets the budgets; the zero value would
// handle only messages of the lane fromServer. Owned by the coordinator.
type intake struct {
	lanes        [lanes]messageQueue
	laneBudget   int // of a lane per turn; replies get at least MaxMessagesPerTurn
	asyncCancels int // requests without a waiting caller that messages in the lane of cancellations are about

	unlocksOf     map[string]waitingOfName // by key, of the lane asyncUnlocks; nil before the first
	mostUnlocksOf peak

	lateCancels     map[string][]lateCancel // by key, of the lane of cancellations; nil before the first
	mostLateCancels peak

	caughtUpLeft int // how many of unlocksOf and lateCancels this turn may handle before their lanes come to them

	sweptList int // which list of which node the sweep of what is held back has reached

	pieceBudget int // maximum number of queue pieces that a turn sweeps
	lockBudget  int // maximum number of locks that a turn visits in each round

	listeningReaders int // maximum number of waiting readers of a key that listen to its channel
}

// classify appends received messages to their lanes. Requests and cancellations go to the lane inOrder as long as
// nothing was left of them by earlier turns and they are few. So a turn handles them in the order in which they came:
// an unlock finds the caller that asked for the lock before it, and a request finds the lock that its caller has just
// unlocked or no longer waits for. With more of them the order of the lanes counts.
func (c *Coordinator) classify(now time.Duration, m *LoopMessage) {
	in := &c.intake
	few := m != nil && in.allHandled()
	for m != nil {
		next := m.Next
		if lane := c.laneOf(now, m); lane != nil {
			if few && in.isOrdered(lane) {
				if few = in.lanes[inOrder].work+ownWeight(m) <= in.laneBudget/inOrderShare; few {
					lane = &in.lanes[inOrder]
				}
			}
			lane.push(m)
		}
		m = next
	}
}

// allHandled reports whether nothing is left in the lanes of requests and cancellations.
func (in *intake) allHandled() bool {
	for i := inOrder; i <= fromCallers; i++ {
		if !in.lanes[i].empty() {
			return false
		}
	}
	return true
}

// isOrdered reports whether messages of a lane are handled in the order in which they came while they are few.
func (in *intake) isOrdered(lane *messageQueue) bool {
	return lane == &in.lanes[aboutHolds] || lane == &in.lanes[fromCallers] || lane == &in.lanes[cancellations]
}

// mayRelease reports whether a message is left that may cause a release. It scans the lane inOrder, which is short.
func (in *intake) mayRelease() bool {
	for m := in.lanes[inOrder].first; m != nil; m = m.Next {
		if r, ok := m.Value.(*actor.Request); !ok || r.Op == actor.Unlock || r.Op == actor.Extend {
			return true
		}
	}
	return !in.lanes[aboutHolds].empty() || !in.lanes[asyncUnlocks].empty() || !in.lanes[cancellations].empty()
}

// laneOf returns the lane of a message, or nil if there is nothing left to handle: it has rejected a request, or no
// lock needs the message of a channel (noteMessage). The caller may reuse the message of a rejected request soon.
func (c *Coordinator) laneOf(now time.Duration, m *LoopMessage) *messageQueue {
	switch what := m.Value.(type) {
	case *actor.Request:
		c.Fx.Receive(now, what)
		switch {
		case c.shedRequest(now, what):
			return nil
		case what.Op == actor.Unlock && what.Async && !c.mayJoinHolds():
			c.intake.note(nameOf(m), m)
			return &c.intake.lanes[asyncUnlocks]
		case what.Op == actor.Unlock, what.Op == actor.Extend, what.Op == AskConfirm:
			return &c.intake.lanes[aboutHolds]
		case what.Op == AskShutdown, what.Op == AskClose:
			return &c.intake.lanes[fromServer]
		case what.Async:
			return c.laneOfAsync(now, what, m)
		}
		return &c.intake.lanes[fromCallers]
	case StatusRequest:
		return &c.intake.lanes[fromCallers]
	case StatsRequest:
		return &c.intake.lanes[figures]
	case LeakedHold:
		return &c.intake.lanes[aboutHolds]
	case SnapshotRequest:
		what.Snapshot.note(c.counters.turns)
		return &c.intake.lanes[lists]
	case CancelRequest, CancelAllRequest:
		c.intake.asyncCancels += asyncCancels(m)
		c.noteCancels(m)
		return &c.intake.lanes[cancellations]
	case ChannelMessage, LockForced, HolderQuery, WaiterQuery, ChannelSubscribed, ChannelUnsubscribed, OrderDone, PubsubDown:
		if said, is := what.(ChannelMessage); is && !c.nodeOrDefault(said.Node).Subscriptions.noteMessage(said.Channel) {
			return nil
		}
		return &c.intake.lanes[fromChannels]
	}
	return &c.intake.lanes[fromServer]
}

// mayJoinHolds reports whether an unlock of a caller that does not block may be in the lane of those that do: while
// there is little in it, so that this turn handles all of it. So very many do not delay the others.
func (c *Coordinator) mayJoinHolds() bool {
	return c.intake.lanes[asyncUnlocks].empty() && c.intake.lanes[aboutHolds].work < c.intake.laneBudget/2
}

// asyncCancels returns the number of requests without a waiting caller that a message cancels.
func asyncCancels(m *LoopMessage) int {
	switch what := m.Value.(type) {
	case CancelRequest:
		if what.Request.Async {
			return 1
		}
	case CancelAllRequest:
		return len(what.Requests)
	}
	return 0
}

// noteCancels says that the requests which a message cancels want no lock any more. Their cancellations may be handled
// turns later, and a request that comes after them must not be rejected because of them.
func (c *Coordinator) noteCancels(m *LoopMessage) {
	switch what := m.Value.(type) {
	case CancelRequest:
		c.Fx.CancelReceived(what.Request)
		c.noteLateCancel(what)
	case CancelAllRequest:
		for _, r := range what.Requests {
			c.Fx.CancelReceived(r)
		}
	}
}

// AsyncCancelsLeft returns the number of cancellations, of requests without a waiting caller, that have been received
// and not handled.
func (c *Coordinator) AsyncCancelsLeft() int { return c.intake.asyncCancels }

// handleMessages handles the share of each lane.
func (c *Coordinator) handleMessages(now time.Duration) {
	c.intake.caughtUpLeft = c.intake.laneBudget
	share := max(c.intake.laneBudget, MaxMessagesPerTurn)
	for i := range c.intake.lanes {
		left := share
		if !c.intake.lanes[i].empty() { // most are
			left = c.handleLane(now, i, share)
		}
		share = c.intake.laneBudget
		if i == aboutHolds {
			share = max(left, share/8, 1)
		}
	}
	for _, n := range c.Nodes {
		if n.holdsBack() {
			c.handleHeldBack(now, n, share)
		}
	}
}

// handleLane handles at most share of a lane, and returns what is left of that.
func (c *Coordinator) handleLane(now time.Duration, number, share int) (left int) {
	lane := &c.intake.lanes[number]
	for left = share; left > 0 && !lane.empty() && !c.Closed; {
		m := lane.pop()
		left -= c.stepWeight(m)
		if number != asyncUnlocks {
			c.handleInOrder(now, m)
			continue
		}
		c.intake.forget(m)
		c.handle(now, m)
	}
	return left
}

// stepWeight returns the work of a message with the steps of the locks that it is for, in messages for one lock.
func (c *Coordinator) stepWeight(m *LoopMessage) int {
	switch what := m.Value.(type) {
	case ChannelMessage:
		return c.listenerWeight(what.Node, what.Channel)
	case LockForced:
		return c.keyWeight(what.Key)
	case WaiterQuery:
		return c.keyWeight(what.Key)
	case ChannelSubscribed:
		return c.listenerWeight(what.Node, what.Channel)
	case SnapshotRequest:
		if what.Request.Completed() {
			return 1 // its caller gave up: there is no page to make
		}
	}
	return ownWeight(m)
}

// ownWeight returns the work of a message itself, without that of its recipients.
func ownWeight(m *LoopMessage) int {
	switch what := m.Value.(type) {
	case *Batch:
		return what.replyCount()
	case *actor.Request:
		if what.Multi != nil {
			return len(what.Multi.Parts)
		}
	case CancelAllRequest:
		return len(what.Requests)
	case SnapshotRequest:
		return maxLocksPerTurn
	}
	return 1
}

// listenerWeight returns how many locks a turn steps, at most, for an event on a channel.
func (c *Coordinator) listenerWeight(n *Node, name string) int {
	if ch := c.nodeOrDefault(n).Subscriptions.Channels[name]; ch != nil {
		return max(1, min(ch.listeners.len(), c.intake.lockBudget))
	}
	return 1
}

// replyCount returns the number of replies of a bundle.
func (b *Batch) replyCount() (replies int) {
	for ; b != nil; b = b.Next {
		replies += len(b.Commands)
	}
	return replies
}

// HasMessages reports whether there are messages that the next turn can handle.
func (c *Coordinator) HasMessages() bool {
	for i := range c.intake.lanes {
		if !c.intake.lanes[i].empty() {
			return true
		}
	}
	for _, n := range c.Nodes {
		if n.mayHandleHeldBack() {
			return true
		}
	}
	return false
}

// rejectSome rejects messages after the close, a bounded number per turn. It reports whether none are left.
func (c *Coordinator) rejectSome(now time.Duration) (all bool) {
	c.intake.unlocksOf, c.intake.lateCancels = nil, nil // no message is handled any more
	left := max(c.intake.laneBudget, MaxMessagesPerTurn)
	reject := func(lane *messageQueue) {
		for ; left > 0 && !lane.empty(); left-- {
			c.rejectMessage(now, lane.pop())
		}
	}
	for i := range c.intake.lanes {
		reject(&c.intake.lanes[i])
	}
	for _, n := range c.Nodes {
		for sort := range n.asyncRequests {
			reject(&n.asyncRequests[sort])
		}
	}
	return c.MessagesLeft() == 0
}

// MessagesLeft returns the number of messages that have not been handled.
func (c *Coordinator) MessagesLeft() (n int) {
	for i := range c.intake.lanes {
		n += c.intake.lanes[i].n
	}
	for _, node := range c.Nodes {
		for sort := range node.asyncRequests {
			n += node.asyncRequests[sort].n
		}
	}
	return n
}

// LimitTurn limits what a turn handles of each kind, to less than usual. It is for simulations, before the first turn;
// they are in another package, engine/sim.
func (c *Coordinator) LimitTurn(share int) {
	c.intake.laneBudget, c.intake.pieceBudget, c.intake.lockBudget = share, min(share, sweepPieces), min(share, maxLocksPerTurn)
	c.Results.budget, c.Fx.MaxRejections = min(share, MaxResultsPerTurn), min(share, maxRejectedPerTurn)
	c.intake.listeningReaders, c.Fx.MaxPlaceSteps = min(share, maxListeningReaders), min(share, maxPlaceSteps)
	c.Fx.MaxMultiMoves = min(share, maxMultiMoves)
	fired := min(share, maxTimersPerTurn)
	c.Fx.OtherTimers, c.Fx.HeldTimers = newWheel(fired), newWheel(fired)
}
