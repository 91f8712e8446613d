package engine

import (
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// mostHops is how often a call is sent on by redirections before its locks are told: two nodes may
	// each believe that the other has the slot.
	mostHops = 5
)

// redirection reads MOVED or ASK. A node that does not know its own name leaves it out.
func redirection(refused, from string) (slot uint16, address string, asking, ok bool) {
	words := strings.Fields(refused)
	if len(words) < 3 || !strings.EqualFold(words[0], "MOVED") && !strings.EqualFold(words[0], "ASK") {
		return 0, "", false, false
	}
	number, err := strconv.ParseUint(words[1], 10, 16)
	colon := strings.LastIndexByte(words[2], ':')
	if err != nil || number >= slotCount || colon < 0 {
		return 0, "", false, false
	}
	host := strings.Trim(words[2][:colon], "[]")
	if host == "" {
		host, _, _ = net.SplitHostPort(from)
	}
	if host == "?" {
		return 0, "", false, false
	}
	return uint16(number), net.JoinHostPort(host, words[2][colon+1:]), strings.EqualFold(words[0], "ASK"), true
}

// deadEnd is why a call is not sent on: its node sends it to one that does not answer. It begins as what the node said, so it passes.
// The cause may be an error of a caller's dialer: the loop does not ask for its text.
type deadEnd struct {
	said  error
	cause error // why that one does not answer
}

func (e *deadEnd) Error() string   { return e.said.Error() + ", which does not answer" }
func (e *deadEnd) Unwrap() []error { return []error{e.said, e.cause} }

// redirected sends a call on to where the server says, if it says so and has not done it too often. That its slot has another
// master has been foretold. A call that is not sent on is refused for now: its locks ask again after a pause.
func (c *coordinator) redirected(now time.Duration, b *batch) bool {
	if c.cluster == nil || b.lost || b.hops >= mostHops {
		return false
	}
	slot, address, asking, ok := redirection(b.failed.Error(), b.node.address)
	if !ok {
		return false
	}
	to := c.nodeAt(address)
	if !asking && c.cluster.denied(now, slot, to) {
		return false
	}
	if asking {
		c.moves(now, slot)
		if to.link.down && !c.tries(now, to, b) {
			return false
		}
	}
	c.reached(b)
	c.counters.retries++
	b.failed, b.asking = nil, asking
	if b.asker = nil; asking {
		b.asker = b.node
	}
	b.hops++
	c.again(now, to, b)
	return true
}

// tries has a call look whether a node that does not answer is back, if it is time, with one of its commands. The others are refused for
// now: what has no answer has to be released later.
func (c *coordinator) tries(now time.Duration, to *node, b *batch) bool {
	b.failed = &deadEnd{b.failed, to.link.cause}
	if !to.link.open(now, to.out) {
		return false
	}
	reply := actor.Reply{Status: actor.Refused, Err: b.failed}
	for i := range b.commands[1:] {
		c.reply(now, b, &b.commands[1+i], &reply)
	}
	clear(b.commands[1:])
	b.commands = b.commands[:1]
	return true
}

// foretell takes in what calls that came back together say about the masters of their slots, before anything is made of the others.
func (c *coordinator) foretell(now time.Duration, b *batch) {
	for ; b != nil; b = b.next {
		if b.over || b.lost || b.failed == nil || b.hops >= mostHops {
			continue
		}
		if slot, address, asking, ok := redirection(b.failed.Error(), b.node.address); ok && !asking {
			c.moved(now, slot, b.node, c.nodeAt(address))
		}
	}
}

// misdirected takes in why a node would not let something be listened to.
func (c *coordinator) misdirected(now time.Duration, n *node, err error) {
	if c.cluster == nil || err == nil {
		return
	}
	c.doubtMap()
	if _, unanswered := err.(*clientError); unanswered {
		return
	}
	if slot, address, asking, ok := redirection(err.Error(), n.address); ok && !asking {
		c.moved(now, slot, n, c.nodeAt(address))
	}
}

// introduce lets one lock of a node that the cluster's client does not know ask something there: a command
// finds its way, and the client hears of the node thereby.
func (c *coordinator) introduce(now time.Duration, n *node) {
	for _, name := range slices.Sorted(maps.Keys(n.ears.channels)) {
		for _, l := range n.ears.of(name) {
			c.step(now, l, &actor.Message{Kind: actor.Doubt})
			return
		}
	}
}

// moved takes in that a node says that a slot has another master. More may have changed. Two nodes may each call the other the master:
// one that denied it a moment ago is not believed to be. Otherwise each of their answers would have all locks of the slot ask again.
func (c *coordinator) moved(now time.Duration, slot uint16, from, to *node) {
	c.doubtMap()
	k := c.cluster
	if k.denied(now, slot, to) {
		return
	}
	k.learn(now, move{int(slot), int(slot), to})
	if from != to {
		k.deny(now, slot, from)
	}
}

// forOneSlot reports whether the server refused because of where a slot is: it works for others.
func forOneSlot(refused error) bool {
	text := refused.Error()
	return actor.Begins(text, "MOVED ") || actor.Begins(text, "ASK ") || actor.Begins(text, "CLUSTERDOWN Hash slot")
}
