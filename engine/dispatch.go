package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// urgency lists the verbs by priority: a flood of acquires must not delay a renewal. Verbs of one line have equal
// priority and take turns.
var urgency = [...][]actor.Verb{
	{actor.SendRenew, actor.SendFencedPass, actor.SendReadRenew, actor.SendWriteRenew},
	{actor.SendRelease, actor.SendFairRelease, actor.SendReadRelease, actor.SendWriteRelease},
	{actor.SendForce, actor.SendFairForce, actor.SendReadForce, actor.SendWriteForce},
	acquires: {
		actor.SendAcquire, actor.SendFencedAcquire, actor.SendFairAcquire, actor.SendReadAcquire, actor.SendWriteAcquire,
		actor.SendJointAcquire,
	},
	{actor.SendState, actor.SendReadState, actor.SendWriteState},
}

// acquires is the index in urgency of the verbs that acquire.
const acquires = 3

// errShort is the error of a command for which the server sent no reply, or one that does not fit it.
var errShort = errors.New("lockwheel: the server's reply does not have the form of the script's")

// send appends a command to the queue of its node.
func (c *coordinator) send(command *actor.Command) {
	c.nodeOf(command.Key).queues[command.Verb].push(command)
}

// depart fills the free senders of a node with batches, as long as there are commands to send.
func (c *coordinator) depart(now time.Duration, n *node) {
	defer n.relax()
	for n.out-n.syncing < c.couriers && !c.closed && n.link.open(now, n.out) {
		b := c.pack(n)
		if b == nil {
			return
		}
		n.out++
		n.calls = append(n.calls, b)
		n.underWay[b.verb]++
		for call := b; call != nil; call = call.next {
			call.beside = call.next
			n.inFlight += len(call.commands)
			c.counters.batches++
			c.counters.commands += uint64(len(call.commands))
			call.sent, call.node, call.led = now, n, false
			call.latest = n.clock.latest(now+c.fx.Config.Late(), now)
		}
		if c.asksReplicas(b.verb) {
			n.syncing++
		}
		c.batches = append(c.batches, b)
	}
}

// pack returns one batch of the most urgent commands, in a cluster a bundle. It returns nil if there are none.
func (c *coordinator) pack(n *node) *batch {
	c.packed++
	if !n.backlog() {
		return nil // the common case
	}
	for at := range urgency {
		verbs := urgency[n.link.turn(at, len(urgency))]
		turn := c.packed % len(verbs)
		for range verbs {
			verb := verbs[turn]
			if turn++; turn == len(verbs) {
				turn = 0
			}
			if len(n.split)+n.queues[verb].len() == 0 || c.waits(n, verb) {
				continue
			}
			if b := c.part(n, verb); b != nil {
				if c.cluster != nil {
					c.addParts(n, b)
				}
				return b
			}
			if b := c.fill(n, verb); b != nil {
				if c.cluster != nil {
					b = c.bundle(b)
				}
				return b
			}
		}
	}
	return nil
}

// waits reports whether commands of a verb must wait although a sender is free. Fair acquires have at most one batch in
// flight, because two could arrive in the wrong order. Batches with WAIT need a free replica sender, and renewals may
// be throttled.
func (c *coordinator) waits(n *node, verb actor.Verb) bool {
	switch {
	case verb == actor.SendFairAcquire && n.underWay[verb] > 0:
		return true
	case c.asksReplicas(verb):
		return n.syncing == syncers
	}
	return renews(verb) && c.renewalsWait(n)
}

// part returns a retry batch, without the commands that are no longer wanted, or nil.
func (c *coordinator) part(n *node, verb actor.Verb) *batch {
	for i := len(n.split) - 1; i >= 0; i-- {
		b := n.split[i]
		if b.verb != verb {
			continue
		}
		n.split = slices.Delete(n.split, i, i+1)
		n.queues[verb].parts -= len(b.commands)
		b.commands = slices.DeleteFunc(b.commands, func(command actor.Command) bool { return !c.departs(n, &command) })
		c.thin(n, verb)
		if len(b.commands) > 0 {
			return b
		}
		c.spares = append(c.spares, b)
	}
	return nil
}

func (c *coordinator) fill(n *node, verb actor.Verb) *batch {
	q := &n.queues[verb]
	if q.len() == 0 {
		return nil
	}
	b, most := c.empty(verb), batchKeys
	if renews(verb) && q.pressing == 0 && q.len() >= renewKeys {
		most = renewKeys
	}
	if n.link.down && slices.Contains(urgency[acquires], verb) {
		most = 1 // a command without a reply must be released later, so one is enough to probe
	}
	l := &load{batch: b, keys: most}
	if q.again.n > 0 && most >= againShare {
		l.keys -= most / againShare
	}
	c.take(n, q, &q.first, l)
	l.keys = most
	c.take(n, q, &q.again, l)
	c.take(n, q, &q.first, l)
	c.thin(n, verb)
	if len(b.commands) == 0 {
		c.spares = append(c.spares, b)
		c.lookOn = c.lookOn || l.looks > looksMost
		return nil
	}
	return b
}

// looksMost is the maximum number of stale commands that are skipped to fill one call.
const looksMost = 8 * batchKeys

// load is a call being filled.
type load struct {
	*batch
	keys                  int // limit on its keys
	hasKeys, bytes, looks int
}

// take moves the oldest commands of a list to a call, as many as fit. A single command is always taken, whatever its
// size.
func (c *coordinator) take(n *node, q *queue, list *chain, l *load) {
	for command := list.oldest(); command != nil && l.looks <= looksMost; command = list.oldest() {
		keys, bytes := size(command, l.verb)
		if len(l.commands) > 0 && (l.hasKeys+keys > l.keys || l.bytes+bytes > batchBytes) {
			return
		}
		if c.departs(n, command) {
			l.commands = append(l.commands, *command)
			l.hasKeys += keys
			l.bytes += bytes
		} else {
			l.looks++
		}
		q.drop(list)
	}
}

// size returns how much of a call a command takes. keys counts locks, or holds of a reader: each has a key and a lease.
// bytes is an estimate.
func size(command *actor.Command, verb actor.Verb) (keys, bytes int) {
	const besidesName = 64 // the tenure, the lease, and the affixes of derived keys
	f := &forms[verb]
	bytes = besidesName * len(command.Ghosts)
	switch reads := command.Reads; {
	case len(command.Parts) > 0:
		for i := range command.Parts {
			bytes += len(command.Parts[i].Key) + besidesName*(1+len(command.Parts[i].Ghosts))
		}
		return len(command.Parts), bytes
	case f.holds && reads != nil && len(reads.Leases) > 1:
		keys = len(reads.Leases)
		return keys, bytes + (len(command.Key)+besidesName)*(1+keys)
	case f.holds:
		return 1, bytes + 2*(len(command.Key)+besidesName)
	}
	return 1, bytes + (len(command.Key)+besidesName)*(1+len(f.more))
}

func (c *coordinator) empty(verb actor.Verb) *batch {
	var b *batch
	if last := len(c.spares) - 1; last >= 0 {
		b = c.spares[last]
		c.spares = c.spares[:last]
	} else {
		b = newBatch()
	}
	b.reset(verb)
	return b
}

// returned handles a bundle that a sender has brought back.
func (c *coordinator) returned(now time.Duration, b *batch) {
	b.node.out--
	b.node.calls = slices.DeleteFunc(b.node.calls, func(other *batch) bool { return other == b })
	b.node.underWay[b.verb]--
	if c.asksReplicas(b.verb) {
		b.node.syncing--
	}
	if c.cluster != nil {
		c.foretell(now, b)
	}
	for b != nil {
		next := b.next
		b.next, b.beside = nil, nil
		b.node.inFlight -= len(b.commands)
		c.heed(now, b)
		c.outcome(now, b)
		b = next
	}
}

// outcome handles the result of one call.
func (c *coordinator) outcome(now time.Duration, b *batch) {
	switch {
	case b.over:
		c.cameBack(now, b)
	case c.overtaken(b):
		c.unanswered(now, b)
	case b.failed == nil && c.tooLate(now, b):
		return
	case b.failed == nil:
		c.answered(now, b)
	case c.redirected(now, b):
		return
	case !b.lost && !b.whole && actor.Begins(b.failed.Error(), "NOSCRIPT"):
		c.counters.retries++
		b.whole, b.failed = true, nil
		c.again(now, b.node, b)
		return
	case !b.lost && len(b.commands) > 1 && forOneKey(b.failed):
		c.noticeMove(now, b)
		c.reached(b)
		c.halve(now, b)
	default:
		c.unanswered(now, b)
	}
	c.spares = append(c.spares, b)
}

// reached notes that the server replied. A reply to a call that the cluster client routed proves nothing about the
// node.
func (c *coordinator) reached(b *batch) {
	if b.led {
		c.doubtMap()
		return
	}
	b.node.link.answered()
}

// answered delivers every reply to its lock.
func (c *coordinator) answered(now time.Duration, b *batch) {
	c.reached(b)
	if !c.asksReplicas(b.verb) {
		c.measure(now - b.sent)
	}
	for len(b.replies) < len(b.commands) {
		b.replies = append(b.replies, actor.Reply{Err: errShort, Garbled: true})
	}
	c.fetchLocks(b.commands)
	for i := range b.commands {
		if b.replies[i].Part >= b.commands[i].Keys() {
			b.replies[i] = actor.Reply{Err: errShort, Garbled: true}
		}
		if c.cluster != nil && c.cluster.onItsWay(now, b.slot) {
			impatient(&b.replies[i])
		}
		c.reply(now, b, &b.commands[i], &b.replies[i])
	}
}

// unanswered tells every lock that its command has no reply, or that the server rejected the whole call.
func (c *coordinator) unanswered(now time.Duration, b *batch) {
	reply := actor.Reply{Status: actor.Refused, Err: b.failed}
	if b.lost {
		reply.Status = actor.Unanswered
		reply.Garbled = b.demoted // the server is there: retry after a pause
	}
	switch {
	case b.demoted:
		c.reached(b)
		c.doubtMap()
	case b.late || !b.lost && forOneKey(b.failed):
		c.noticeMove(now, b)
		c.reached(b)
	case !b.lost && forOneSlot(b.failed):
		c.reached(b)
		c.doubtMap()
	default:
		b.node.link.failed(now, b.failed)
		c.dissolve(b.node)
		c.doubtMap()
	}
	for i := range b.commands {
		c.reply(now, b, &b.commands[i], &reply)
	}
	if unconnected(b.failed) {
		c.unreached(now, b)
	}
}

// unreached tells every lock that its server cannot be connected to. Requests that do not wait for other holders do not
// wait for that either.
func (c *coordinator) unreached(now time.Duration, b *batch) {
	for i := range b.commands {
		if l := b.commands[i].Lock; l != nil && l.Key() != "" {
			c.step(now, l, &actor.Message{Kind: actor.Unreached, Cause: b.failed})
		}
	}
}

func (c *coordinator) reply(now time.Duration, b *batch, command *actor.Command, reply *actor.Reply) {
	if reply.Status == actor.Unanswered || reply.Status == actor.Refused {
		c.counters.retries++
	}
	if command.Lock == nil {
		c.read(now, command, reply)
		return
	}
	if command.Lock.Key() == "" {
		return // the lock has finished; its tenure ended before
	}
	forces := command.Lock.Kind().Forces(command.Verb) // read before the lock may finish
	if len(c.groups) > 0 {
		c.tellClaims(now, b, command, reply)
	}
	if reply.Status == actor.Taken {
		c.otherHalf(now, command, reply)
	}
	until, less := time.Duration(0), false
	if command.Lock.Kind() == actor.Read {
		until, less = command.Lock.ReadsLess(now, command, reply)
	}
	c.step(now, command.Lock, &actor.Message{Kind: actor.Answered, Command: command, Reply: reply, Sent: b.sent})
	if reply.Status == actor.Taken && command.Lock.Kind().Queues() && command.Lock.Key() != "" {
		c.groups[command.Lock.Key()].placed(command.Lock)
	}
	if less {
		c.readLess(now, command.Key, until)
	}
	if forces && reply.Status == actor.Done {
		c.forced(now, command)
	}
	c.rumour(now, command, reply)
}

// read delivers the state of a key to the request. Without a reply the command is sent again, until the request times
// out.
func (c *coordinator) read(now time.Duration, command *actor.Command, reply *actor.Reply) {
	r := command.Request
	switch {
	case reply.Status == actor.Done:
		state := *reply
		r.State = &state
		c.fx.Decide(now, r, nil, nil)
	case reply.Status == actor.Refused && !actor.Passing(reply.Err.Error()):
		c.fx.Decide(now, r, reply.Err, nil)
	case reply.Status == actor.Refused:
		c.fx.Decide(now, r, actor.ErrUnavailable, reply.Err)
	case reply.Garbled:
		c.fx.Decide(now, r, actor.ErrUnavailable, reply.Err)
	case !r.Decided():
		r.Depart(false)
		c.send(command)
	}
}

// forOneKey reports whether one key may be the reason why the server rejected a batch: a permanent error, or TRYAGAIN
// while a slot migrates. Then the other keys can go on.
func forOneKey(refused error) bool {
	return !actor.Passing(refused.Error()) || actor.Begins(refused.Error(), "TRYAGAIN")
}

// halve splits a rejected batch in two and sends both again, so that an error for one key does not affect the others.
func (c *coordinator) halve(now time.Duration, b *batch) {
	c.counters.retries++
	middle := len(b.commands) / 2
	for _, part := range [][]actor.Command{b.commands[:middle], b.commands[middle:]} {
		half := c.empty(b.verb)
		half.commands = append(half.commands, part...)
		half.slot = b.slot
		c.again(now, c.nodeOf(part[0].Key), half)
	}
}

// measure updates the moving average of the round-trip time.
func (c *coordinator) measure(took time.Duration) {
	if c.fx.RoundTrip == 0 {
		c.fx.RoundTrip = took
	}
	c.fx.RoundTrip += (took - c.fx.RoundTrip) / 8
}
