package engine

import (
	"errors"
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
	// mostCalls is how many calls leave together when they are sent again.
	mostCalls = 64
	// Between two surveys. The map is corrected by every MOVED besides.
	surveyFirst, surveyMost = 50 * time.Millisecond, time.Second
	// movingPoll is how often a lock whose slot is on its way is tried: its message may go to the node
	// that the slot is going to, and is not heard here.
	movingPoll = 100 * time.Millisecond
)

// errOvertaken is for an answer that nobody can rely on: a master that was replaced says what it likes.
var errOvertaken = errors.New("answered by a node that had lost the slot")

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

// cluster is the coordinator's map. Owned by the coordinator.
type cluster struct {
	slots  [slotCount]*node
	moves  []move            // learned in this turn: they count once all mail is open
	bare   bool              // there may be nodes without slots
	number int               // of the next node
	calls  map[uint16]*batch // of the bundle that is being made
	opened []*node           // outcome: new nodes, for which there is nobody yet
	shut   []*node           // outcome: nodes that nothing is sent to any more

	wanted  bool // the map is in doubt
	busy    bool
	tryAt   time.Duration
	backoff time.Duration
	order   *survey // outcome
}

// move is that slots have another master.
type move struct {
	first, last int
	to          *node
}

// inCluster makes the coordinator one of a cluster that is charted.
func (c *coordinator) inCluster(known *chart) {
	c.cluster = &cluster{calls: make(map[uint16]*batch)}
	c.nodes = nil
	c.draw(known)
	c.node = c.nodes[0]
	for slot := range c.cluster.slots {
		c.cluster.slots[slot] = c.node // it will say whose a slot is, or that nobody has it
	}
	c.redraw()
}

// nodeOf is where a key is.
func (c *coordinator) nodeOf(key string) *node {
	if c.cluster == nil {
		return c.node
	}
	return c.cluster.slots[slotOf(key)]
}

// nodeAt finds the node of an address, or makes one.
func (c *coordinator) nodeAt(address string) *node {
	for _, n := range c.nodes {
		if n.address == address {
			return n
		}
	}
	k := c.cluster
	n := newNode(address, c.fx.Config.Lease)
	n.number = k.number
	k.number++
	k.opened = append(k.opened, n)
	c.nodes = append(c.nodes, n)
	return n
}

// draw takes a chart over. Slots that it does not show stay where they were.
func (c *coordinator) draw(known *chart) {
	for _, s := range known.spans {
		c.cluster.moves = append(c.cluster.moves, move{s.first, s.last, c.nodeAt(s.address)})
	}
}

// redraw makes what was learned count. It reports whether it is news, and which slots were a node's that is
// down: its successor may not know of all that was granted there.
func (c *coordinator) redraw() (news bool, inherited map[uint16]bool) {
	k := c.cluster
	inherited = make(map[uint16]bool)
	for _, m := range k.moves {
		for slot := m.first; slot <= m.last; slot++ {
			before := k.slots[slot]
			if before == m.to {
				continue
			}
			news = true
			k.slots[slot] = m.to
			if before.link.down {
				inherited[uint16(slot)] = true
			}
		}
	}
	clear(k.moves)
	k.moves = k.moves[:0]
	return news, inherited
}

// succeed follows the map where it changed.
func (c *coordinator) succeed(now time.Duration) {
	news, inherited := c.redraw()
	if news {
		c.resettle()
	}
	if len(inherited) == 0 {
		return
	}
	var keys []string
	for key := range c.locks {
		if inherited[slotOf(key)] {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		if l := c.locks[key]; l != nil {
			c.step(now, l, &actor.Message{Kind: actor.Doubt})
		}
	}
}

// charted takes in the answer to a survey.
func (c *coordinator) charted(now time.Duration, known *chart, err error) {
	k := c.cluster
	k.busy = false
	if err != nil || len(known.spans) == 0 {
		k.wanted = true
		k.backoff = min(max(2*k.backoff, surveyFirst), surveyMost)
	} else {
		k.backoff, k.bare = surveyFirst, true
		c.draw(known)
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
	if k.bare {
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
	return k != nil && k.wanted && !k.busy && (len(c.locks) > 0 || slices.ContainsFunc(c.nodes, (*node).backlog))
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

// bundle makes calls of one slot each of a batch, to leave together.
func (c *coordinator) bundle(b *batch) *batch {
	calls := c.cluster.calls
	clear(calls)
	first, last := (*batch)(nil), (*batch)(nil)
	for i := range b.commands {
		slot := slotOf(b.commands[i].Key)
		call := calls[slot]
		if call == nil {
			call = c.empty(b.verb)
			call.slot, calls[slot] = slot, call
			if first == nil {
				first = call
			} else {
				last.next = call
			}
			last = call
		}
		call.commands = append(call.commands, b.commands[i])
	}
	b.reset(b.verb)
	c.spares = append(c.spares, b)
	return first
}

// addParts lets more of what is sent again leave with b.
func (c *coordinator) addParts(now time.Duration, n *node, b *batch) {
	for range mostCalls - 1 {
		next := c.part(now, n, b.verb)
		if next == nil {
			return
		}
		b.next = next
		b = next
	}
}

// resettle moves everything that waits at a node which does not own its slot any more.
func (c *coordinator) resettle() {
	for _, n := range c.nodes {
		for verb := range n.queues {
			q := &n.queues[verb]
			for range q.len() {
				command := q.pop()
				c.send(&command)
			}
		}
		n.split = slices.DeleteFunc(n.split, func(b *batch) bool {
			owner := c.cluster.slots[b.slot]
			if b.asking || owner == n {
				return false
			}
			owner.split = append(owner.split, b)
			return true
		})
		c.moveEars(n)
	}
}

// moveEars lets locks listen where their slots are now.
func (c *coordinator) moveEars(n *node) {
	for _, name := range slices.Sorted(maps.Keys(n.ears.channels)) {
		ch := n.ears.channels[name]
		if len(ch.locks) == 0 || c.nodeOf(name) == n {
			continue
		}
		for _, l := range slices.Clone(ch.locks) {
			n.ears.leave(l, name)
			l.Deafen()
			c.nodeOf(name).ears.join(l, name)
		}
	}
}

// abandon lets go of nodes that own nothing and have nothing under way.
func (c *coordinator) abandon() {
	k := c.cluster
	owners := make(map[*node]bool)
	for _, n := range k.slots {
		owners[n] = true
	}
	k.bare = false
	c.nodes = slices.DeleteFunc(c.nodes, func(n *node) bool {
		if owners[n] {
			return false
		}
		if n.busy() || n.backlog() || n.ears.engaged() {
			k.bare = true
			return false
		}
		k.shut = append(k.shut, n)
		return true
	})
	c.node = c.nodes[0]
}

// impatient shortens how long the holder of a lock is believed to keep it while its slot is on its way.
func impatient(reply *actor.Reply) {
	if reply.Status == actor.Taken && reply.TTL > movingPoll {
		reply.TTL = movingPoll
	}
}
