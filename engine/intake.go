package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// A turn opens so much mail and no more, so that it ends soon whatever has been posted. What is left is opened in the turns that
// follow at once. Mail of one lane is opened in the order in which it came. Each lane has a share of every turn, and each share is
// used up by its own lane alone: a flood in one of them keeps none of the others waiting.
const (
	fromServer   = iota // answers, what becomes of the engine: they free couriers, and confirm leases
	fromChannels        // messages, and what is listened to: a thousand come together where many wait
	aboutHolds          // unlocks and extensions: they free locks
	fromCallers         // wishes of callers who wait for them: of each caller one at most
	withdrawals         // of callers who have left
	lanes
)

// opensPerTurn is how much mail of a lane a turn opens; an answer counts as many as it has replies.
const opensPerTurn = 512

// queuedAhead is how many acquires may wait to be sent to a node that answers before more wishes without a waiting caller are opened
// for it: those that come later from callers who wait are behind no more than these.
const queuedAhead = 4 * batchKeys

// letters is mail in the order in which it is to be opened. It is the mail's own list, so it takes no memory.
type letters struct {
	first, last *mail
	n           int
	load        int // the same in letters of one lock: how much work they are
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

// intake is mail that has come and was not opened yet. Requests that no caller blocks for, as those of LockAsync, lie at the node that
// they are for, once there are many. Owned by the coordinator.
type intake struct {
	lanes [lanes]letters
	share int // of a lane in a turn; answers have opensPerTurn in any case

	pieces int // of queues that a turn goes through
	looks  int // at locks that a turn takes for each round
}

// sort sorts mail that has come.
func (c *coordinator) sort(now time.Duration, m *mail) {
	for m != nil {
		next := m.next
		if lane := c.laneOf(now, m); lane != nil {
			lane.push(m)
		}
		m = next
	}
}

// laneOf is where a letter waits to be opened; nil if it was a request that is refused as it comes. The letter of that one is its
// caller's again soon.
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

// aside is where a request lies that no caller blocks for: with all others, unless there are more than a turn opens. From then on callers
// that block come before it. It may lie there for as long as its server says nothing, so its own bound runs from now on. With all others lies
// only what the turn is sure to open, or one that came later and lies apart would come before it.
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

// work opens what is due of each lane.
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

// workOff opens so much of a lane. The lane of a node stops when enough waits to be sent there.
func (c *coordinator) workOff(now time.Duration, lane *letters, share int, n *node) {
	for left := share; left > 0 && !lane.empty() && !c.closed && (n == nil || !n.full()); {
		m := lane.pop()
		left -= c.weight(m)
		c.open(now, m)
	}
}

// weight is how much work a letter is, in letters of one lock.
func (c *coordinator) weight(m *mail) int {
	switch what := m.what.(type) {
	case hears:
		return c.hearing(what.node, what.channel)
	case subscribes:
		return c.hearing(what.node, what.channel)
	}
	return weight(m)
}

// weight is how much work a letter is by itself, whoever else hears of it.
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

// hearing is how many locks a turn tells at most of what is to be heard on a channel.
func (c *coordinator) hearing(n *node, name string) int {
	if ch := c.of(n).ears.channels[name]; ch != nil {
		return max(1, min(ch.by.len(), c.intake.looks))
	}
	return 1
}

// load is how many replies an answer brings, and those of the bundle that it came with.
func (b *batch) load() (replies int) {
	for ; b != nil; b = b.next {
		replies += len(b.commands)
	}
	return replies
}

// full reports whether so much waits to be sent to a node that it has no use for more. Of one that does not answer nothing leaves, so
// what is asked for there waits at its lock, where it can be given up.
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

// unopened reports whether there is mail that the next turn can open.
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

// refuseSome answers mail after the close, so much a turn, and reports whether that was all.
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

// lettersLeft is how much mail was not opened yet.
func (c *coordinator) lettersLeft() (n int) {
	for i := range c.intake.lanes {
		n += c.intake.lanes[i].n
	}
	for _, node := range c.nodes {
		n += node.wishes.n
	}
	return n
}
