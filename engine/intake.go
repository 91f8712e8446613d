package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// A turn handles a bounded number of messages, so that it ends soon whatever has been posted. The rest is handled in
// the turns that follow at once. Messages of one lane are handled in their order. Each lane has its own share of every
// turn, so a flood in one lane does not delay the others.
const (
	fromServer   = iota // replies and engine control: they free senders and confirm leases
	fromChannels        // pub/sub messages and subscription changes: a thousand come together where many wait
	aboutHolds          // unlocks and extensions: they free locks
	fromCallers         // requests of callers that block: at most one per caller
	withdrawals         // cancellations
	lanes
)

// opensPerTurn is the number of messages of a lane that a turn handles. A batch counts once per reply.
const opensPerTurn = 512

// queuedAhead is the queue length of acquires per node from which non-blocking requests are held back. It bounds how
// many of them are ahead of a later request of a caller that blocks.
const queuedAhead = 4 * batchKeys

// letters is a queue of messages in the order of handling. It links the messages themselves, so it allocates nothing.
type letters struct {
	first, last *mail
	n           int
	load        int // sum of the weights: the work, in messages for one lock
}

func (q *letters) empty() bool { return q.first == nil }

func (q *letters) push(m *mail) {
	m.next = nil
	if q.first == nil {
		q.first = m
	} else {
		q.last.next = m
	}
	q.last = m
	q.n++
	q.load += weight(m)
}

func (q *letters) pop() *mail {
	m := q.first
	q.first, m.next = m.next, nil
	q.n--
	q.load -= weight(m)
	if q.first == nil {
		q.last = nil
	}
	return m
}

// intake holds messages that have not been handled. Requests of callers that do not block, such as LockAsync, wait at
// their node once there are many. Owned by the coordinator.
type intake struct {
	lanes [lanes]letters
	share int // of a lane per turn; replies get at least opensPerTurn

	pieces int // maximum number of queue pieces that a turn sweeps
	looks  int // maximum number of locks that a turn visits in each round
}

// sort appends received messages to their lanes.
func (c *coordinator) sort(now time.Duration, m *mail) {
	for m != nil {
		next := m.next
		if lane := c.laneOf(now, m); lane != nil {
			lane.push(m)
		}
		m = next
	}
}

// laneOf returns the lane of a message, or nil if it has rejected a request. The caller may then reuse the message
// soon.
func (c *coordinator) laneOf(now time.Duration, m *mail) *letters {
	switch what := m.what.(type) {
	case *actor.Request:
		c.fx.Admit(now, what)
		switch {
		case c.sheds(now, what):
			return nil
		case what.Tag == actor.Unlock, what.Tag == actor.Extend, what.Tag == AskConfirm:
			return &c.intake.lanes[aboutHolds]
		case what.Tag == AskShutdown, what.Tag == AskClose:
			return &c.intake.lanes[fromServer]
		case what.Async && what.Joint == nil:
			return c.aside(now, what)
		}
		return &c.intake.lanes[fromCallers]
	case givesUp, giveUp:
		return &c.intake.lanes[withdrawals]
	case hears, subscribes, silenced, orderDone, deaf:
		return &c.intake.lanes[fromChannels]
	}
	return &c.intake.lanes[fromServer]
}

// aside returns the lane of a request that no caller blocks for: the common lane, until that has more than a turn
// handles. From then on the request waits at its node, behind requests of callers that block. There it may wait for as
// long as the server is silent, so its timeout starts now. The common lane takes only requests that this turn is sure
// to handle: otherwise a later one at the node could overtake them.
func (c *coordinator) aside(now time.Duration, r *actor.Request) *letters {
	all, apart := &c.intake.lanes[fromCallers], &c.nodeOf(r.Key).wishes
	if apart.empty() && all.load < c.intake.share {
		return all
	}
	switch {
	case r.Once:
		c.fx.Limit(r, now+c.fx.Config.Timeout)
	case r.Wait > 0:
		c.fx.Limit(r, now+r.Wait)
	}
	return apart
}

// work handles the share of each lane.
func (c *coordinator) work(now time.Duration) {
	share := max(c.intake.share, opensPerTurn)
	for i := range c.intake.lanes {
		c.workOff(now, &c.intake.lanes[i], share, nil)
		share = c.intake.share
	}
	for _, n := range c.nodes {
		c.workOff(now, &n.wishes, share, n)
	}
}

// workOff handles at most share of a lane. The lane of a node stops when enough commands wait there.
func (c *coordinator) workOff(now time.Duration, lane *letters, share int, n *node) {
	for left := share; left > 0 && !lane.empty() && !c.closed && (n == nil || !n.full()); {
		m := lane.pop()
		left -= c.weight(m)
		c.open(now, m)
	}
}

// weight returns the work of a message, in messages for one lock.
func (c *coordinator) weight(m *mail) int {
	switch what := m.what.(type) {
	case hears:
		return c.hearing(what.node, what.channel)
	case subscribes:
		return c.hearing(what.node, what.channel)
	}
	return weight(m)
}

// weight returns the work of a message itself, without that of its audience.
func weight(m *mail) int {
	switch what := m.what.(type) {
	case *batch:
		return what.load()
	case *actor.Request:
		if what.Joint != nil {
			return len(what.Joint.Parts)
		}
	case giveUp:
		return len(what.requests)
	}
	return 1
}

// hearing returns how many locks a turn steps, at most, for an event on a channel.
func (c *coordinator) hearing(n *node, name string) int {
	if ch := c.of(n).ears.channels[name]; ch != nil {
		return max(1, min(ch.by.len(), c.intake.looks))
	}
	return 1
}

// load returns the number of replies of a bundle.
func (b *batch) load() (replies int) {
	for ; b != nil; b = b.next {
		replies += len(b.commands)
	}
	return replies
}

// full reports whether enough acquires wait to be sent to a node. A node that is down is never full: its requests wait
// at their locks, where they can be cancelled.
func (n *node) full() bool {
	if n.link.down {
		return false
	}
	waiting := 0
	for _, verb := range urgency[acquires] {
		waiting += n.queues[verb].first.n
	}
	return waiting >= queuedAhead
}

// unopened reports whether there are messages that the next turn can handle.
func (c *coordinator) unopened() bool {
	for i := range c.intake.lanes {
		if !c.intake.lanes[i].empty() {
			return true
		}
	}
	for _, n := range c.nodes {
		if !n.wishes.empty() && !n.full() {
			return true
		}
	}
	return false
}

// refuseSome rejects messages after the close, a bounded number per turn. It reports whether none are left.
func (c *coordinator) refuseSome(now time.Duration) (all bool) {
	left := max(c.intake.share, opensPerTurn)
	refuse := func(lane *letters) {
		for ; left > 0 && !lane.empty(); left-- {
			c.refuse(now, lane.pop())
		}
	}
	for i := range c.intake.lanes {
		refuse(&c.intake.lanes[i])
	}
	for _, n := range c.nodes {
		refuse(&n.wishes)
	}
	return c.lettersLeft() == 0
}

// lettersLeft returns the number of messages that have not been handled.
func (c *coordinator) lettersLeft() (n int) {
	for i := range c.intake.lanes {
		n += c.intake.lanes[i].n
	}
	for _, node := range c.nodes {
		n += node.wishes.n
	}
	return n
}
