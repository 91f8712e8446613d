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
	// mostHops is the maximum number of redirections of a call before its locks are notified. Two nodes may each
	// consider the other to be the owner of the slot.
	mostHops = 5
)

// redirection parses MOVED or ASK. A node that does not know its own host name leaves it out; then the host is that of
// from.
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

// deadEnd is the error of a call that was redirected to a node which is down. Its text begins with the node's reply, so
// it counts as transient. The cause may be an error of the program's dialer: the loop never calls its Error method.
type deadEnd struct {
	said  error
	cause error // why the target node is down
}

func (e *deadEnd) Error() string   { return e.said.Error() + ", which does not answer" }
func (e *deadEnd) Unwrap() []error { return []error{e.said, e.cause} }

// redirected follows a redirection of the server, up to mostHops times, and returns true if it did. foretell has
// learned the new owner before. If it returns false for a redirection, the call counts as rejected for now, and its
// locks retry after a pause.
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

// tries lets a call probe a node that is down, with one of its commands, if the breaker allows it. The others are
// rejected for now, because a command without a reply must be released later.
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

// foretell learns the new slot owners from all calls of a bundle, before any other result of the bundle is handled.
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

// misdirected handles the error of a subscription order, which may be a redirection.
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

// introduce makes one lock of a node that the cluster's client does not know send a command. The command is routed by
// redirection, so the client learns of the node.
func (c *coordinator) introduce(now time.Duration, n *node) {
	for _, name := range slices.Sorted(maps.Keys(n.ears.channels)) {
		for _, l := range n.ears.of(name) {
			c.step(now, l, &actor.Message{Kind: actor.Doubt})
			return
		}
	}
}

// moved handles a reply that a slot has another owner; others may have changed as well. Two nodes may each name the
// other as the owner. So a node that has just denied to own the slot is not accepted. Otherwise each such reply would
// make all locks of the slot retry.
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

// forOneSlot reports whether the server rejected a call because of its slot. Calls for other slots still work.
func forOneSlot(refused error) bool {
	text := refused.Error()
	return actor.Begins(text, "MOVED ") || actor.Begins(text, "ASK ") || actor.Begins(text, "CLUSTERDOWN Hash slot")
}
