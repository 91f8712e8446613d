package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// priorities lists the verbs by priority: a flood of acquires must not delay a renewal. Verbs of one line have equal
// priority and take turns. A line that waits has its share all the same, see maxPassedOver.
var priorities = [...][]actor.Verb{
	{actor.SendRenew, actor.SendFencedRenew, actor.SendReadRenew, actor.SendWriteRenew},
	{actor.SendRelease, actor.SendFairRelease, actor.SendReadRelease, actor.SendWriteRelease},
	{actor.SendForce, actor.SendFairForce, actor.SendReadForce, actor.SendWriteForce},
	acquirePriority: {
		actor.SendAcquire, actor.SendFencedAcquire, actor.SendFairAcquire, actor.SendReadAcquire, actor.SendWriteAcquire,
		actor.SendMultiAcquire,
	},
	{actor.SendState, actor.SendReadState, actor.SendWriteState},
}

// acquirePriority is the index in urgency of the verbs that acquire.
const acquirePriority = 3

// maxPassedOver is the maximum number of batches of more urgent lines that leave in a row before one of a line that waits.
// A flood of releases must not stop acquires for as long as it lasts. Renewals have no part in it: they go first, and use at
// most half of the senders while others wait.
const maxPassedOver = 8

// errShortReply is the error of a command for which the server sent no reply, or one that does not fit it.
var errShortReply = errors.New("lockwheel: the server's reply does not have the form of the script's")

// enqueue appends a command to the queue of its node.
func (c *coordinator) enqueue(command *actor.Command) {
	c.nodeForKey(command.Key).queues[command.Verb].push(command)
}

// dispatch fills the free senders of a node with batches, as long as there are commands to send.
func (c *coordinator) dispatch(now time.Duration, n *node) {
	defer n.clearUrgent()
	for n.inFlightBatches-n.inFlightReplicated < c.senders && !c.closed && n.breaker.allow(now, n.inFlightBatches) {
		b := c.nextBatch(n)
		if b == nil {
			return
		}
		n.inFlightBatches++
		n.calls = append(n.calls, b)
		n.inFlightByVerb[b.verb]++
		for call := b; call != nil; call = call.next {
			call.bundleNext = call.next
			n.inFlight += len(call.commands)
			c.counters.batches++
			c.counters.commands += uint64(len(call.commands))
			call.sent, call.node, call.viaClusterClient = now, n, false
			call.effectUntilMillis = n.clock.millisAt(now+c.fx.Config.MaxCommandDelay(), now)
		}
		if c.waitsForReplicas(b.verb) {
			n.inFlightReplicated++
		}
		c.batches = append(c.batches, b)
	}
}

// nextBatch returns one batch of the most urgent commands, in a cluster a bundle. It returns nil if there are none.
func (c *coordinator) nextBatch(n *node) *batch {
	c.rotation++
	if !n.backlog() {
		return nil // the common case
	}
	for place := range priorities {
		if b := c.nextOfLine(n, n.breaker.rotate(place, len(priorities))); b != nil {
			return b
		}
		if overdue := n.overdueLine(); place == 0 && overdue > 0 {
			if b := c.nextOfLine(n, overdue); b != nil {
				return b
			}
		}
	}
	return nil
}

// nextOfLine returns one batch of a line of priorities, in a cluster a bundle, or nil.
func (c *coordinator) nextOfLine(n *node, line int) *batch {
	verbs := priorities[line]
	turn := c.rotation % len(verbs)
	for range verbs {
		verb := verbs[turn]
		if turn++; turn == len(verbs) {
			turn = 0
		}
		if len(n.retries)+n.queues[verb].len() == 0 || c.throttled(n, verb) {
			continue
		}
		b := c.nextRetry(n, verb)
		if b != nil && c.cluster != nil {
			c.addRetries(n, b)
		}
		if b == nil {
			if b = c.fillBatch(n, verb); b != nil && c.cluster != nil {
				b = c.splitBySlot(b)
			}
		}
		if b != nil {
			n.passOver(line)
			return b
		}
	}
	return nil
}

// passOver counts a batch of a line against the less urgent lines that wait.
func (n *node) passOver(line int) {
	n.passedOver[line] = 0
	for other := line + 1; line > 0 && other < len(priorities); other++ {
		if slices.ContainsFunc(priorities[other], func(verb actor.Verb) bool { return n.queues[verb].len() > 0 }) {
			n.passedOver[other]++
		}
	}
}

// overdueLine returns the most urgent line that has waited for its share, or 0.
func (n *node) overdueLine() int {
	return max(0, slices.IndexFunc(n.passedOver[:], func(passed int) bool { return passed >= maxPassedOver }))
}

// throttled reports whether commands of a verb must wait although a sender is free. Fair acquires have at most one batch in
// flight, because two could arrive in the wrong order. Batches with WAIT need a free replica sender, and renewals may
// be throttled.
func (c *coordinator) throttled(n *node, verb actor.Verb) bool {
	switch {
	case verb == actor.SendFairAcquire && n.inFlightByVerb[verb] > 0:
		return true
	case c.waitsForReplicas(verb):
		return n.inFlightReplicated == replicaSendersPerNode
	}
	return isRenewal(verb) && c.renewalsThrottled(n)
}

// nextRetry returns a retry batch, without the commands that are no longer wanted, or nil.
func (c *coordinator) nextRetry(n *node, verb actor.Verb) *batch {
	for i := len(n.retries) - 1; i >= 0; i-- {
		b := n.retries[i]
		if b.verb != verb {
			continue
		}
		n.retries = slices.Delete(n.retries, i, i+1)
		n.queues[verb].inRetries -= len(b.commands)
		b.commands = slices.DeleteFunc(b.commands, func(command actor.Command) bool { return !c.shouldSend(n, &command) })
		c.sweepIfStale(n, verb)
		if len(b.commands) > 0 {
			return b
		}
		c.freeBatches = append(c.freeBatches, b)
	}
	return nil
}

func (c *coordinator) fillBatch(n *node, verb actor.Verb) *batch {
	q := &n.queues[verb]
	if q.len() == 0 {
		return nil
	}
	b, most := c.getBatch(verb), batchKeys
	if isRenewal(verb) && q.urgent == 0 && q.len() >= renewKeys {
		most = renewKeys
	}
	if n.breaker.down && slices.Contains(priorities[acquirePriority], verb) {
		most = 1 // a command without a reply must be released later, so one is enough to probe
	}
	l := &batchBuilder{batch: b, maxKeys: most}
	if q.repeated.n > 0 && most >= repeatShare {
		l.maxKeys -= most / repeatShare
	}
	c.addOldest(n, q, &q.first, l)
	l.maxKeys = most
	c.addOldest(n, q, &q.repeated, l)
	c.addOldest(n, q, &q.first, l)
	c.sweepIfStale(n, verb)
	if len(b.commands) == 0 {
		c.freeBatches = append(c.freeBatches, b)
		c.moreToScan = c.moreToScan || l.skipped > maxSkipped
		return nil
	}
	return b
}

// maxSkipped is the maximum number of stale commands that are skipped to fill one call.
const maxSkipped = 8 * batchKeys

// batchBuilder is a call being filled.
type batchBuilder struct {
	*batch
	maxKeys                  int // limit on its keys
	keyCount, bytes, skipped int
}

// addOldest moves the oldest commands of a list to a call, as many as fit. A single command is always taken, whatever its
// size.
func (c *coordinator) addOldest(n *node, q *queue, list *chain, l *batchBuilder) {
	for command := list.oldest(); command != nil && l.skipped <= maxSkipped; command = list.oldest() {
		keys, bytes := commandSize(command, l.verb)
		if len(l.commands) > 0 && (l.keyCount+keys > l.maxKeys || l.bytes+bytes > batchBytes) {
			return
		}
		if c.shouldSend(n, command) {
			l.commands = append(l.commands, *command)
			l.keyCount += keys
			l.bytes += bytes
		} else {
			l.skipped++
		}
		q.drop(list)
	}
}

// commandSize returns how much of a call a command takes. keys counts locks, or holds of a reader: each has a key and a lease.
// bytes is an estimate.
func commandSize(command *actor.Command, verb actor.Verb) (keys, bytes int) {
	const besidesName = 64 // the tenure, the lease, and the affixes of derived keys
	bytes = besidesName * len(command.Orphans)
	switch reads := command.Reader; {
	case len(command.Parts) > 0:
		for i := range command.Parts {
			bytes += len(command.Parts[i].Key) + besidesName*(1+len(command.Parts[i].Orphans))
		}
		return len(command.Parts), bytes
	case hasHoldKeys(verb) && reads != nil && len(reads.Leases) > 1:
		keys = len(reads.Leases)
		return keys, bytes + (len(command.Key)+besidesName)*(1+keys)
	case hasHoldKeys(verb):
		return 1, bytes + 2*(len(command.Key)+besidesName)
	}
	return 1, bytes + (len(command.Key)+besidesName)*(1+extraKeys(verb))
}

// extraKeys returns how many keys the script of a verb gets for each lock besides its own.
func extraKeys(verb actor.Verb) int {
	switch verb {
	case actor.SendFairAcquire, actor.SendFairRelease, actor.SendFairForce:
		return 3
	case actor.SendFencedAcquire, actor.SendFencedRenew:
		return 1
	}
	return 0
}

// hasHoldKeys reports whether the script of a verb gets a key for each hold of a reader.
func hasHoldKeys(verb actor.Verb) bool {
	return verb == actor.SendReadAcquire || verb == actor.SendReadRenew
}

func (c *coordinator) getBatch(verb actor.Verb) *batch {
	var b *batch
	if last := len(c.freeBatches) - 1; last >= 0 {
		b = c.freeBatches[last]
		c.freeBatches = c.freeBatches[:last]
	} else {
		b = newBatch()
	}
	b.reset(verb)
	return b
}

// onBatchDone handles a bundle that a sender has brought back.
func (c *coordinator) onBatchDone(now time.Duration, b *batch) {
	b.node.inFlightBatches--
	b.node.calls = slices.DeleteFunc(b.node.calls, func(other *batch) bool { return other == b })
	b.node.inFlightByVerb[b.verb]--
	if c.waitsForReplicas(b.verb) {
		b.node.inFlightReplicated--
	}
	if c.cluster != nil {
		c.learnOwners(now, b)
	}
	for b != nil {
		next := b.next
		b.next, b.bundleNext = nil, nil
		b.node.inFlight -= len(b.commands)
		c.trackDemotion(now, b)
		c.onCallResult(now, b)
		b = next
	}
}

// onCallResult handles the result of one call.
func (c *coordinator) onCallResult(now time.Duration, b *batch) {
	switch {
	case b.abandoned:
		c.onAbandonedDone(now, b)
	case c.dropStaleOwnerReply(b):
		c.failCommands(now, b)
	case b.failed == nil && c.onLateReply(now, b):
		return
	case b.failed == nil:
		c.deliverReplies(now, b)
	case c.followRedirect(now, b):
		return
	case !b.noReply && !b.sendText && actor.HasPrefixFold(b.failed.Error(), "NOSCRIPT"):
		c.counters.retries++
		b.sendText, b.failed = true, nil
		c.retry(now, b.node, b)
		return
	case !b.noReply && len(b.commands) > 1 && isKeyError(b.failed):
		c.noteTryAgain(now, b)
		c.onReachable(b)
		c.splitBatch(now, b)
	default:
		c.failCommands(now, b)
	}
	c.freeBatches = append(c.freeBatches, b)
}

// onReachable notes that the server replied. A reply to a call that the cluster client routed proves nothing about the
// node.
func (c *coordinator) onReachable(b *batch) {
	if b.viaClusterClient {
		c.invalidateTopology()
		return
	}
	b.node.breaker.onSuccess()
}

// deliverReplies delivers every reply to its lock.
func (c *coordinator) deliverReplies(now time.Duration, b *batch) {
	c.onReachable(b)
	if !c.waitsForReplicas(b.verb) {
		c.updateRTT(now - b.sent)
	}
	for len(b.replies) < len(b.commands) {
		b.replies = append(b.replies, actor.Reply{Err: errShortReply, Malformed: true})
	}
	c.prefetchLocks(b.commands)
	for i := range b.commands {
		if b.replies[i].FailedPart >= b.commands[i].Keys() {
			b.replies[i] = actor.Reply{Err: errShortReply, Malformed: true}
		}
		if c.cluster != nil && c.cluster.isMigrating(now, b.slot) {
			capTTL(&b.replies[i])
		}
		c.deliverReply(now, b, &b.commands[i], &b.replies[i])
	}
}

// failCommands tells every lock that its command has no reply, or that the server rejected the whole call.
func (c *coordinator) failCommands(now time.Duration, b *batch) {
	reply := actor.Reply{Status: actor.Rejected, Err: b.failed}
	if b.noReply {
		reply.Status = actor.NoReply
		reply.Malformed = b.demoted // the server is there: retry after a pause
	}
	switch {
	case b.demoted:
		c.onReachable(b)
		c.invalidateTopology()
	case b.staleOwner || !b.noReply && isKeyError(b.failed):
		c.noteTryAgain(now, b)
		c.onReachable(b)
	case !b.noReply && isSlotError(b.failed):
		c.onReachable(b)
		c.invalidateTopology()
	default:
		b.node.breaker.onFailure(now, b.failed)
		c.requeueRetries(b.node)
		c.invalidateTopology()
	}
	for i := range b.commands {
		c.deliverReply(now, b, &b.commands[i], &reply)
	}
	if isConnectFailure(b.failed) {
		c.failUnconnected(now, b)
	}
}

// failUnconnected tells every lock that its server cannot be connected to. Requests that do not wait for other holders do not
// wait for that either.
func (c *coordinator) failUnconnected(now time.Duration, b *batch) {
	for i := range b.commands {
		if l := b.commands[i].Lock; l != nil && l.Key() != "" {
			c.step(now, l, &actor.Message{Event: actor.Unreachable, Cause: b.failed})
		}
	}
}

func (c *coordinator) deliverReply(now time.Duration, b *batch, command *actor.Command, reply *actor.Reply) {
	if reply.Status == actor.NoReply || reply.Status == actor.Rejected {
		c.counters.retries++
	}
	if command.Lock == nil {
		c.deliverState(now, command, reply)
		return
	}
	if command.Lock.Key() == "" {
		return // the lock has finished; its tenure ended before
	}
	forces := command.Lock.Kind().IsForce(command.Verb) // read before the lock may finish
	if len(c.lockSets) > 0 {
		c.annotateReply(now, b, command, reply)
	}
	if reply.Status == actor.HeldByOther {
		c.releaseOtherHalf(now, command, reply)
	}
	until, less := time.Duration(0), false
	if command.Lock.Kind() == actor.Read {
		until, less = command.Lock.MayLeaveLongTTL(now, command, reply)
	}
	c.step(now, command.Lock, &actor.Message{Event: actor.Replied, Command: command, Reply: reply, Sent: b.sent})
	if reply.Status == actor.HeldByOther && command.Lock.Kind().Queues() && command.Lock.Key() != "" {
		c.lockSets[command.Lock.Key()].noteQueued(command.Lock)
	}
	if less {
		c.onReadLeaseLowered(now, command.Key, until)
	}
	if forces && reply.Status == actor.OK {
		c.recheckAfterForce(now, command)
	}
	c.notifyLocally(now, command, reply)
}

// deliverState delivers the state of a key to the request. Without a reply the command is sent again, until the request times
// out.
func (c *coordinator) deliverState(now time.Duration, command *actor.Command, reply *actor.Reply) {
	r := command.Request
	switch {
	case reply.Status == actor.OK:
		state := *reply
		r.State = &state
		c.fx.Complete(now, r, nil, nil)
	case reply.Status == actor.Rejected && !actor.Transient(reply.Err.Error()):
		c.fx.Complete(now, r, reply.Err, nil)
	case reply.Status == actor.Rejected:
		c.fx.Complete(now, r, actor.ErrUnavailable, reply.Err)
	case reply.Malformed:
		c.fx.Complete(now, r, actor.ErrUnavailable, reply.Err)
	case !r.Completed():
		r.SetDispatched(false)
		c.enqueue(command)
	}
}

// isKeyError reports whether one key may be the reason why the server rejected a batch: a permanent error, or TRYAGAIN
// while a slot migrates. Then the other keys can go on.
func isKeyError(refused error) bool {
	return !actor.Transient(refused.Error()) || actor.HasPrefixFold(refused.Error(), "TRYAGAIN")
}

// splitBatch splits a rejected batch in two and sends both again, so that an error for one key does not affect the others.
func (c *coordinator) splitBatch(now time.Duration, b *batch) {
	c.counters.retries++
	middle := len(b.commands) / 2
	for _, part := range [][]actor.Command{b.commands[:middle], b.commands[middle:]} {
		half := c.getBatch(b.verb)
		half.commands = append(half.commands, part...)
		half.slot = b.slot
		c.retry(now, c.nodeForKey(part[0].Key), half)
	}
}

// updateRTT updates the moving average of the round-trip time.
func (c *coordinator) updateRTT(took time.Duration) {
	if c.fx.RoundTrip == 0 {
		c.fx.RoundTrip = took
	}
	c.fx.RoundTrip += (took - c.fx.RoundTrip) / 8
}
