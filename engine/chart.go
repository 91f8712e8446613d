package engine

import (
	"slices"
	"time"
)

// Between two surveys. The map is corrected by every MOVED besides.
const surveyFirst, surveyMost = 50 * time.Millisecond, time.Second

// chart is what a node says of the cluster: who owns which slots. It is data, and never changed.
type chart struct {
	spans []span
	from  string // the address of the node
}

// span is a range of slots and the address of their master.
type span struct {
	first, last int
	address     string
}

// survey is an order to ask for a chart: those nodes, in that order.
type survey struct{ addresses []string }

// charted takes in the answer to a survey.
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

// doubtMap asks for a new chart: something went wrong that may come of an old one.
func (c *coordinator) doubtMap() {
	if c.cluster != nil {
		c.cluster.wanted = true
	}
}

// survey orders a new chart if one is wanted, and moves what the map has changed for.
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

// surveys reports whether a survey is to be made as soon as that may be. With nothing to do for anybody an
// engine does not look for a cluster that went away.
func (c *coordinator) surveys() bool {
	k := c.cluster
	return k != nil && k.wanted && !k.busy && (c.locks.len()+len(c.groups) > 0 || slices.ContainsFunc(c.nodes, (*node).backlog))
}

// trusted lists the nodes, those that answer first.
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
