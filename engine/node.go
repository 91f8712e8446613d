package engine

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// node is one server as the coordinator sees it: the commands that wait, those in flight, and the subscriptions. Nodes
// share nothing, so that a silent one does not delay the others. Owned by the coordinator.
type node struct {
	address            string // set in a cluster and behind Sentinel
	slots              int    // number of slots it owns; without a cluster 1, or 0 for a replaced master
	number             int    // unique among all nodes ever created
	queues             [actor.Verbs]queue
	retries            []*batch     // retry batches: rejected as a whole, or redirected
	asyncRequests      messageQueue // unhandled requests of callers that do not block
	breaker            breaker
	subscriptions      *subscriptions
	inFlightBatches    int                  // bundles in flight
	calls              []*batch             // those bundles
	inFlightByVerb     [actor.Verbs]int     // those by verb
	inFlightReplicated int                  // those with replica senders
	inFlight           int                  // commands in them
	passedOver         [len(priorities)]int // batches of more urgent lines since the last of each line, while it waited
	urgentRenewal      bool                 // a request waits for a queued renewal
	clockSkew          time.Duration        // this machine's clock minus the node's; negative: behind
	clock              serverClock          // bound of the node's clock

	needsRequeue bool // some of the waiting commands may belong to another node
}

func newNode(address string, lease time.Duration) *node {
	return &node{
		address:       address,
		breaker:       breaker{maxBackoff: min(250*time.Millisecond, lease/12)},
		subscriptions: newSubscriptions(),
	}
}

// backlog reports whether commands wait to be sent.
func (n *node) backlog() bool {
	if len(n.retries) > 0 {
		return true
	}
	for i := range n.queues {
		if n.queues[i].len() > 0 {
			return true
		}
	}
	return false
}

// sweeping reports whether a sweep of its queues is in progress.
func (n *node) sweeping() bool {
	return slices.ContainsFunc(n.queues[:], func(q queue) bool { return q.sweep.on })
}

// busy reports whether a reply is outstanding.
func (n *node) busy() bool { return n.inFlightBatches > 0 }

// mayReply reports whether the server may still send a reply.
func (n *node) mayReply() bool { return !n.breaker.down && (n.busy() || n.backlog()) }

// nodeOrDefault returns the node that a message refers to.
func (c *coordinator) nodeOrDefault(n *node) *node {
	if n == nil {
		return c.node
	}
	return n
}

// unreachable reports whether outstanding replies are not expected: some server is down, and no other has commands
// queued or in flight.
func (c *coordinator) unreachable() bool {
	return c.down() && !slices.ContainsFunc(c.nodes, (*node).mayReply)
}

// firstUnreachable returns a server that is down, or nil. It ignores nodes without slots, which get no commands.
func (c *coordinator) firstUnreachable() *node {
	for _, n := range c.nodes {
		if n.breaker.down && n.slots > 0 {
			return n
		}
	}
	return nil
}

// down reports whether some server is down.
func (c *coordinator) down() bool { return c.firstUnreachable() != nil }

// totalInFlight returns the number of bundles in flight.
func (c *coordinator) totalInFlight() (batches int) {
	for _, n := range c.nodes {
		batches += n.inFlightBatches
	}
	return batches
}
