package engine

import (
	"slices"
	"time"
)

// surveyFirst and surveyMost are the shortest and the longest backoff between two topology refreshes. Each MOVED reply
// corrects the topology as well.
const surveyFirst, surveyMost = 50 * time.Millisecond, time.Second

// chart is the cluster topology according to one node: the owner of each slot. It is immutable.
type chart struct {
	spans []span
	from  string // address of the node that sent it
}

// span is a range of slots, both ends included, and the address of their master.
type span struct {
	first, last int
	address     string
}

// survey is a request to refresh the topology. The nodes are asked in that order.
type survey struct{ addresses []string }

// charted handles the result of a topology refresh.
func (c *coordinator) charted(now time.Duration, known *chart, err error) {
	k := c.cluster
	k.busy = false
	if err != nil || len(known.spans) == 0 {
		k.wanted = true
		k.backoff = min(max(2*k.backoff, surveyFirst), surveyMost)
	} else {
		k.backoff, c.bare = surveyFirst, true
		c.draw(now, known)
	}
	k.tryAt = now + k.backoff
}

// doubtMap requests a topology refresh after an error that a stale topology may explain. Without a cluster it does
// nothing.
func (c *coordinator) doubtMap() {
	if c.cluster != nil {
		c.cluster.wanted = true
	}
}

// survey starts a topology refresh if one is due, and requeues what the last changes have moved.
func (c *coordinator) survey(now time.Duration) {
	k := c.cluster
	if len(k.moves) > 0 {
		c.succeed(now)
	}
	c.recheck(now)
	if c.bare {
		c.abandon()
	}
	if c.surveys() && now >= k.tryAt {
		k.wanted, k.busy = false, true
		k.order = &survey{addresses: c.trusted()}
	}
}

// surveys reports whether a topology refresh is wanted. An engine without locks or queued commands does not search for
// a lost cluster.
func (c *coordinator) surveys() bool {
	k := c.cluster
	return k != nil && k.wanted && !k.busy && (c.locks.len()+len(c.groups) > 0 || slices.ContainsFunc(c.nodes, (*node).backlog))
}

// trusted returns the addresses of the nodes, reachable ones first.
func (c *coordinator) trusted() (addresses []string) {
	for _, down := range []bool{false, true} {
		for _, n := range c.nodes {
			if n.link.down == down {
				addresses = append(addresses, n.address)
			}
		}
	}
	return addresses
}
