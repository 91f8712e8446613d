package engine

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// mostHops is how often a call is sent on by redirections before its locks are told: two nodes may
	// each believe that the other has the slot.
	mostHops = 5
	// movingPoll is how often a lock whose slot is on its way is tried: its message may go to the node
	// that the slot is going to, and is not heard here.
	movingPoll = 100 * time.Millisecond
)

// errOvertaken is for an answer that nobody can rely on: a master that was replaced says what it likes.
var errOvertaken = errors.New("answered by a node that had lost the slot")

// redirection reads MOVED or ASK. A node that does not know its own name leaves it out.
func redirection(refused, from string) (slot uint16, address string, asking, ok bool) {
	words := strings.Fields(refused)
	if len(words) < 3 || words[0] != "MOVED" && words[0] != "ASK" {
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
	return uint16(number), net.JoinHostPort(host, words[2][colon+1:]), words[0] == "ASK", true
}

// redirected sends a call on to where the server says, if it says so and has not done it too often.
func (c *coordinator) redirected(b *batch) bool {
	if c.cluster == nil || b.lost || b.hops >= mostHops {
		return false
	}
	slot, address, asking, ok := redirection(b.failed.Error(), b.node.address)
	if !ok {
		return false
	}
	c.reached(b)
	c.counters.retries++
	to := c.nodeAt(address)
	if !asking {
		c.moved(slot, to)
	}
	b.failed, b.asking = nil, asking
	b.hops++
	to.split = append(to.split, b)
	return true
}

// misdirected takes in why a node would not let something be listened to.
func (c *coordinator) misdirected(n *node, err error) {
	if c.cluster == nil || err == nil {
		return
	}
	c.doubtMap()
	if slot, address, asking, ok := redirection(err.Error(), n.address); ok && !asking {
		c.moved(slot, c.nodeAt(address))
	}
}

// moved takes in that a slot has another master. More may have changed.
func (c *coordinator) moved(slot uint16, to *node) {
	c.cluster.moves = append(c.cluster.moves, move{int(slot), int(slot), to})
	c.doubtMap()
}

// forOneSlot reports whether the server refused because of where a slot is: it works for others.
func forOneSlot(refused error) bool {
	text := refused.Error()
	return strings.HasPrefix(text, "MOVED ") || strings.HasPrefix(text, "ASK ") || strings.HasPrefix(text, "CLUSTERDOWN Hash slot")
}

// overtaken finds an answer that came when the slot was another node's already, and makes it none. A
// master that was cut off and replaced confirms what its successor never hears of.
func (c *coordinator) overtaken(b *batch) bool {
	if c.cluster == nil || b.failed != nil || b.asking || c.cluster.slots[b.slot] == b.node {
		return false
	}
	b.failed, b.lost, b.late = errOvertaken, true, true
	return true
}

// impatient shortens how long the holder of a lock is believed to keep it while its slot is on its way.
func impatient(reply *actor.Reply) {
	if reply.Status == actor.Taken && reply.TTL > movingPoll {
		reply.TTL = movingPoll
	}
}
