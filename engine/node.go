package engine

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// node is one server as the coordinator sees it: what waits to be sent there, what is under way, and what
// is listened to. Nodes share nothing, so that one that is silent holds nobody else up. Owned by the
// coordinator.
type node struct {
	address  string // in a cluster, and behind Sentinel
	slots    int    // how many it owns: without a cluster one or, of a master that was replaced, none
	number   int    // of all nodes that ever were
	queues   [actor.Verbs]queue
	split    []*batch // refused as a whole: to be sent again in parts
	wishes   letters  // that were not opened yet, of callers who do not wait for them at this moment
	link     link
	ears     *ears
	out      int              // batches with couriers
	calls    []*batch         // those
	underWay [actor.Verbs]int // of those, by what they do
	syncing  int              // of those, with syncers
	inFlight int              // commands in them
	pressed  bool             // somebody waits for a renewal that is queued
	ahead    time.Duration    // by how much this machine's clock is ahead of its own
	clock    serverClock      // its own

	unsettled bool // some of what waits may be for another node
}

func newNode(address string, lease time.Duration) *node {
	return &node{
		address: address,
		link:    link{most: min(250*time.Millisecond, lease/12)},
		ears:    newEars(),
	}
}

// backlog reports whether something waits to be sent.
func (n *node) backlog() bool {
	if len(n.split) > 0 {
		return true
	}
	for i := range n.queues {
		if n.queues[i].len() > 0 {
			return true
		}
	}
	return false
}

// swept reports whether something that waits, or did, is being gone through.
func (n *node) swept() bool {
	return slices.ContainsFunc(n.queues[:], func(q queue) bool { return q.sweep.on })
}

// busy reports whether an answer is under way.
func (n *node) busy() bool { return n.out > 0 }

// asked reports whether the server may still answer something.
func (n *node) asked() bool { return !n.link.down && (n.busy() || n.backlog()) }

// of is the node that a piece of mail is about.
func (c *coordinator) of(n *node) *node {
	if n == nil {
		return c.node
	}
	return n
}

// unreachable reports whether what has no answer yet has to do without: some server is down, and no other
// is asked anything.
func (c *coordinator) unreachable() bool {
	return c.down() && !slices.ContainsFunc(c.nodes, (*node).asked)
}

// silent is a server that does not answer; nil if all do. Nobody asks one that owns nothing any more.
func (c *coordinator) silent() *node {
	for _, n := range c.nodes {
		if n.link.down && n.slots > 0 {
			return n
		}
	}
	return nil
}

// down reports whether some server does not answer.
func (c *coordinator) down() bool { return c.silent() != nil }

// outside is how many batches are with couriers.
func (c *coordinator) outside() (batches int) {
	for _, n := range c.nodes {
		batches += n.out
	}
	return batches
}
