package coordinator

import (
	"errors"
	"math/bits"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// Node is one server as the coordinator sees it: the commands that wait, those in flight, and the subscriptions. Nodes
// share nothing, so that a silent one does not delay the others. NewNode makes one; the zero Node has no subscriptions.
// Owned by the coordinator. The loop, its workers and the subscriber's messages refer to it; of them only the loop
// reads it, between turns: Address, Subscriptions.Order, Breaker.Cause, and with FirstRefusing the refusal.
type Node struct {
	Address            string // set in a cluster and behind Sentinel
	slots              int    // number of slots it owns; without a cluster 1, or 0 for a replaced master
	Queues             [actor.Verbs]queue
	queued             uint32                     // has the bit of each verb that has commands in its queue, and perhaps of others
	Retries            []*Batch                   // retry batches: rejected as a whole, or redirected
	asyncRequests      [requestSorts]messageQueue // unhandled requests of callers that do not block, see heldback.go
	fairAdmitted       int                        // how many fair requests of callers that do not block may be handled although the queue is full
	Breaker            breaker
	refusal            refusal
	Subscriptions      *subscriptions
	InFlightBundles    int                  // number of bundles in flight
	bundles            []*Batch             // the bundles in flight
	InFlightByVerb     [actor.Verbs]int     // number of bundles in flight, by verb
	inFlightBackground int                  // number of bundles in flight with background commands, see backgroundThrottled
	InFlightReplicated int                  // number of bundles in flight at replica senders
	inFlight           int                  // number of commands in all bundles in flight
	passedOver         [len(Priorities)]int // batches of more urgent rows of Priorities since the last of each row, while it waited
	urgentRenewal      bool                 // a request waits for a queued renewal
	othersSent         bool                 // the last bundle was not of renewals
	clockSkew          time.Duration        // this machine's clock minus the node's; negative: behind
	clock              serverClock          // bound of the node's clock

	servedAt     time.Duration // when the last batch was sent of which it served the keys, as their owner
	needsRequeue bool          // some of the waiting commands may belong to another node
}

// NewNode returns a node without slots. lease bounds the pauses after which a silent server is tried.
func NewNode(address string, lease time.Duration) *Node {
	return &Node{
		Address:       address,
		Breaker:       breaker{maxBackoff: min(250*time.Millisecond, lease/12)},
		Subscriptions: newSubscriptions(),
	}
}

// Backlog reports whether commands wait to be sent.
func (n *Node) Backlog() bool {
	if len(n.Retries) > 0 {
		return true
	}
	for n.queued != 0 {
		verb := bits.TrailingZeros32(n.queued)
		if n.Queues[verb].Len() > 0 {
			return true
		}
		n.queued &^= 1 << verb
	}
	return false
}

const _ = uint32(1) << (actor.Verbs - 1) // does not compile if Node.queued has too few bits

// sweeping reports whether a sweep of its queues is in progress.
func (n *Node) sweeping() bool {
	return slices.ContainsFunc(n.Queues[:], func(q queue) bool { return q.Sweep.On })
}

// busy reports whether a reply is outstanding.
func (n *Node) busy() bool { return n.InFlightBundles > 0 }

// mayReply reports whether the server may still send a reply.
func (n *Node) mayReply() bool { return !n.Breaker.Down && (n.busy() || n.Backlog()) }

// nodeOrDefault returns the node that a message refers to.
func (c *Coordinator) nodeOrDefault(n *Node) *Node {
	if n == nil {
		return c.Fallback
	}
	return n
}

// expectsNoReply reports whether outstanding replies are not expected: some server is down, and no other has commands
// queued or in flight.
func (c *Coordinator) expectsNoReply() bool {
	return c.anyDown() && !slices.ContainsFunc(c.Nodes, (*Node).mayReply)
}

// FirstDown returns a server that is down, or nil. It ignores nodes without slots, which get no commands.
func (c *Coordinator) FirstDown() *Node {
	for _, n := range c.Nodes {
		if n.Breaker.Down && n.slots > 0 {
			return n
		}
	}
	return nil
}

// anyDown reports whether some server is down.
func (c *Coordinator) anyDown() bool { return c.FirstDown() != nil }

// InFlightBundles returns the number of bundles in flight.
func (c *Coordinator) InFlightBundles() (bundles int) {
	for _, n := range c.Nodes {
		bundles += n.InFlightBundles
	}
	return bundles
}

// InFlightCommands returns the number of commands in all bundles in flight.
func (c *Coordinator) InFlightCommands() (commands int) {
	for _, n := range c.Nodes {
		commands += n.inFlight
	}
	return commands
}

// ErrUnknownNode is the error for a node that the cluster's client does not know.
var ErrUnknownNode = errors.New("lockwheel: no connection to the node yet")

// ErrPoolExhausted reports that the program has used up the pool of a client that it shares with the engine.
var ErrPoolExhausted = errors.New("lockwheel: no connection is free in the client's pool (BlockingPoolSize)")
