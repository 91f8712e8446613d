package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// Snapshot lists the locks of an engine that are held or waited for, a page per turn. A caller posts it with a
// [SnapshotRequest] until More is false, and gives that up with a [CancelRequest]. It shows each lock at the time of
// its page. Locks that ended before their page are left out, and so are locks that came after the first page. Owned by
// the coordinator while a request is posted, then by the caller. The zero Snapshot is at its beginning.
type Snapshot struct {
	Locks []actor.Info // the page
	Now   time.Duration
	More  bool // there is another page

	begun bool
	asked uint64 // the turn that received the first request
	round round
}

// listRound is the copy of all locks that was made last for a list. Lists that were requested before it was made share
// it, so that very many lists at once do not need a copy each. It is dropped when no list waits for a page. The zero
// value is no copy, and older than any request. Owned by the coordinator.
type listRound struct {
	round
	turn uint64 // in which the copy was made
}

// note notes in which turn a list was requested.
func (s *Snapshot) note(turn uint64) {
	if !s.begun {
		s.asked = turn
	}
}

// NodeStatus says what the coordinator knows of a node. It is a copy: the coordinator fills it in during a turn, and
// then it belongs to the caller. The zero value is that of a node without an address that is not down.
type NodeStatus struct {
	Address string // empty for the only server, unless it is known
	// Down says that the engine considers the server down. A batch had no reply, or the server rejected it for a reason
	// that concerns all batches, and no reply has come since. Then one batch at a time is sent there. A batch that only
	// found that its connection was closed while idle does not count. A server to which there was no connection yet is
	// down. So is one that replies, but has rejected what changes a lock for some seconds: it gets all batches, as before.
	Down  bool
	Since time.Duration // since when it is down; 0 if it is not
	Cause error         // why it is down; nil if it is not
}

// status returns what is known of each node.
func (c *Coordinator) status() (all []NodeStatus) {
	for _, n := range c.Nodes {
		s := NodeStatus{Address: n.Address}
		s.Down, s.Since, s.Cause = n.unusable()
		all = append(all, s)
	}
	return all
}

// nextPage fills in the next page of a snapshot, unless its caller gave up: then the snapshot is the caller's again.
func (c *Coordinator) nextPage(now time.Duration, m SnapshotRequest) {
	if !m.Request.Completed() {
		c.beginPages(m.Snapshot)
		c.fillPage(now, m.Snapshot)
	}
	if c.intake.lanes[lists].empty() {
		c.lastList = listRound{}
	}
}

// beginPages gives a new snapshot the copy of all locks that it is to list.
func (c *Coordinator) beginPages(s *Snapshot) {
	if s.begun {
		return
	}
	if c.lastList.turn < s.asked {
		c.lastList = listRound{c.NewRound(), c.counters.turns}
	}
	s.begun, s.round = true, c.lastList.round
}

func (c *Coordinator) fillPage(now time.Duration, s *Snapshot) {
	s.Now, s.Locks = now, s.Locks[:0]
	for _, l := range s.round.take(c.intake.lockBudget) {
		if info := l.Info(now, c.Fx); l.Key() != "" && (info.Holds > 0 || info.Waiting > 0) {
			s.Locks = append(s.Locks, info)
		}
	}
	s.More = s.round.On()
}
