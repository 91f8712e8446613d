package coordinator

import (
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/rediserr"
	"github.com/lockwheel/lockwheel/engine/slot"
)

const (
	// maxRedirects is the maximum number of redirections of a batch before its locks are notified. Two nodes may each
	// consider the other to be the owner of the slot.
	maxRedirects = 5
)

// redirection parses MOVED or ASK. A node that does not know its own host name leaves it out; then the host is that of
// from.
func redirection(text, from string) (in uint16, address string, asking, ok bool) {
	words := strings.Fields(text)
	if len(words) < 3 || !strings.EqualFold(words[0], "MOVED") && !strings.EqualFold(words[0], "ASK") {
		return 0, "", false, false
	}
	number, err := strconv.ParseUint(words[1], 10, 16)
	colon := strings.LastIndexByte(words[2], ':')
	if err != nil || number >= slot.Count || colon < 0 {
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

// deadRedirect is the error of a batch that was redirected to a node which is down. Its text begins with the node's
// reply, so it counts as transient. The cause may be an error of the program's dialer: the loop never calls its Error
// method. It is immutable and always has both parts.
type deadRedirect struct {
	reply error
	cause error // why the target node is down
}

func (e *deadRedirect) Error() string { return e.reply.Error() + ", which does not reply" }

func (e *deadRedirect) Unwrap() []error { return []error{e.reply, e.cause} }

// followRedirect follows a redirection of the server, up to maxRedirects times, and returns true if it did. learnOwners
// has learned the new owner before. If it returns false for a redirection, the batch counts as rejected for now, and
// its locks retry after a pause.
func (c *Coordinator) followRedirect(now time.Duration, b *Batch) bool {
	if c.Cluster == nil || b.NoReply || b.redirects >= maxRedirects {
		return false
	}
	slot, address, asking, ok := redirection(b.Failed.Error(), b.Node.Address)
	if !ok {
		return false
	}
	to := c.nodeByAddr(address)
	if !asking && c.Cluster.denied(now, slot, to) {
		return false
	}
	if asking {
		c.noteMigration(now, slot)
		if to.Breaker.Down && !c.probeTarget(now, to, b) {
			return false
		}
	}
	c.onReachable(now, b)
	c.counters.retries++
	b.Failed, b.Asking = nil, asking
	if b.RedirectedBy = nil; asking {
		b.RedirectedBy = b.Node
	}
	b.redirects++
	c.retry(now, to, b)
	return true
}

// probeTarget lets a batch probe a node that is down, with one of its commands, if the breaker allows it. The others
// are rejected for now, because a command without a reply must be released later.
func (c *Coordinator) probeTarget(now time.Duration, to *Node, b *Batch) bool {
	b.Failed = &deadRedirect{b.Failed, to.Breaker.Cause}
	if !to.Breaker.allow(now, to.InFlightBundles) {
		return false
	}
	reply := actor.Reply{Status: actor.Rejected, Err: b.Failed}
	for i := range b.Commands[1:] {
		c.deliverReply(now, b, &b.Commands[1+i], &reply)
	}
	clear(b.Commands[1:])
	b.Commands = b.Commands[:1]
	return true
}

// learnOwners learns the new slot owners from all batches of a bundle, before any other result of the bundle is
// handled.
func (c *Coordinator) learnOwners(now time.Duration, b *Batch) {
	for ; b != nil; b = b.Next {
		if b.Abandoned || b.NoReply || b.Failed == nil || b.redirects >= maxRedirects {
			continue
		}
		if slot, address, asking, ok := redirection(b.Failed.Error(), b.Node.Address); ok && !asking {
			c.onSlotMoved(now, slot, b.Node, c.nodeByAddr(address))
		}
	}
}

// onSubscribeRedirect handles the error of a subscription order, which may be a redirection.
func (c *Coordinator) onSubscribeRedirect(now time.Duration, n *Node, err error) {
	if c.Cluster == nil || err == nil || actor.HasPrefixFold(err.Error(), "NOPERM") { // no other node would permit it
		return
	}
	c.invalidateTopology()
	if _, unanswered := err.(*rediserr.ClientError); unanswered {
		return
	}
	if slot, address, asking, ok := redirection(err.Error(), n.Address); ok && !asking {
		c.onSlotMoved(now, slot, n, c.nodeByAddr(address))
	}
}

// probeUnknownNode makes one lock of a node that the cluster's client does not know send a command. The command is
// routed by redirection, so the client learns of the node.
func (c *Coordinator) probeUnknownNode(now time.Duration, n *Node) {
	all := n.Subscriptions.all
	for _, ch := range all[:min(len(all), maxChannelsPerTurn)] {
		if ch.listeners.len() > 0 {
			c.step(now, ch.listeners.last(), &actor.Message{Event: actor.Reconfirm})
			return
		}
	}
}

// onSlotMoved handles a reply that a slot has another owner; others may have changed as well. Two nodes may each name
// the other as the owner. So a node that has just denied to own the slot is not accepted. Otherwise each such reply
// would make all locks of the slot retry.
func (c *Coordinator) onSlotMoved(now time.Duration, slot uint16, from, to *Node) {
	c.invalidateTopology()
	cl := c.Cluster
	if cl.denied(now, slot, to) {
		return
	}
	cl.learn(now, move{int(slot), int(slot), to})
	if from != to {
		cl.deny(now, slot, from)
	}
}

// isSlotError reports whether the server rejected a batch because of its slot. Batches for other slots still work.
func isSlotError(err error) bool {
	text := err.Error()
	return actor.HasPrefixFold(text, "MOVED ") || actor.HasPrefixFold(text, "ASK ") || actor.HasPrefixFold(text, "CLUSTERDOWN Hash slot")
}
