package coordinator

import (
	"errors"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// Priorities lists the verbs by priority: a flood of acquires must not delay a renewal. Verbs of one line have equal
// priority and take turns. A line that waits has its share all the same, see maxPassedOver.
var Priorities = [...][]actor.Verb{
	{actor.SendRenew, actor.SendFencedRenew, actor.SendReadRenew, actor.SendWriteRenew},
	{actor.SendRelease, actor.SendFairRelease, actor.SendReadRelease, actor.SendWriteRelease},
	{actor.SendForce, actor.SendFairForce, actor.SendReadForce, actor.SendWriteForce},
	acquirePriority: {
		actor.SendAcquire, actor.SendFencedAcquire, actor.SendFairAcquire, actor.SendReadAcquire, actor.SendWriteAcquire,
		actor.SendMultiAcquire,
	},
	{actor.SendState, actor.SendReadState, actor.SendWriteState},
}

// acquirePriority is the index in Priorities of the verbs that acquire.
const acquirePriority = 3

// maxPassedOver is the maximum number of batches of more urgent lines that leave in a row before one of a line that waits.
// A flood of releases must not stop acquires for as long as it lasts. Renewals have no part in it: they go first, and use at
// most half of the senders while others wait.
const maxPassedOver = 8

// errShortReply is the error of a command for which the server sent no reply, or one that does not fit it.
var errShortReply = errors.New("lockwheel: the server's reply does not have the form of the script's")

// enqueue appends a command to the queue of its node.
func (c *Coordinator) enqueue(command *actor.Command) {
	c.nodeForKey(command.Key).Queues[command.Verb].push(command)
}

// dispatch fills the free senders of a node with batches, as long as there are commands to send.
func (c *Coordinator) dispatch(now time.Duration, n *Node) {
	defer n.clearUrgent()
	for n.InFlightBatches-n.InFlightReplicated < c.Senders && !c.Closed && n.Breaker.allow(now, n.InFlightBatches) {
		b := c.nextBatch(n)
		if b == nil {
			return
		}
		n.InFlightBatches++
		n.calls = append(n.calls, b)
		n.InFlightByVerb[b.Verb]++
		for call := b; call != nil; call = call.Next {
			call.bundleNext = call.Next
			n.inFlight += len(call.Commands)
			c.counters.batches++
			c.counters.commands += uint64(len(call.Commands))
			c.histograms.batchSizes.Add(len(call.Commands))
			call.Sent, call.Node, call.ViaClusterClient = now, n, false
			call.EffectUntilMillis = n.clock.millisAt(now+c.Fx.Config.MaxCommandDelay(), now)
		}
		if c.WaitsForReplicas(b.Verb) {
			n.InFlightReplicated++
		}
		c.Batches = append(c.Batches, b)
	}
}

// nextBatch returns one batch of the most urgent commands, in a cluster a bundle. It returns nil if there are none.
func (c *Coordinator) nextBatch(n *Node) *Batch {
	c.rotation++
	if !n.Backlog() {
		return nil // the common case
	}
	for place := range Priorities {
		if b := c.nextOfLine(n, n.Breaker.rotate(place, len(Priorities))); b != nil {
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
func (c *Coordinator) nextOfLine(n *Node, line int) *Batch {
	verbs := Priorities[line]
	turn := c.rotation % len(verbs)
	for range verbs {
		verb := verbs[turn]
		if turn++; turn == len(verbs) {
			turn = 0
		}
		if len(n.Retries)+n.Queues[verb].Len() == 0 || c.Throttled(n, verb) {
			continue
		}
		b := c.nextRetry(n, verb)
		if b != nil && c.Cluster != nil {
			c.addRetries(n, b)
		}
		if b == nil {
			if b = c.fillBatch(n, verb); b != nil && c.Cluster != nil {
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
func (n *Node) passOver(line int) {
	n.passedOver[line] = 0
	for other := line + 1; line > 0 && other < len(Priorities); other++ {
		if slices.ContainsFunc(Priorities[other], func(verb actor.Verb) bool { return n.Queues[verb].Len() > 0 }) {
			n.passedOver[other]++
		}
	}
}

// overdueLine returns the most urgent line that has waited for its share, or 0.
func (n *Node) overdueLine() int {
	return max(0, slices.IndexFunc(n.passedOver[:], func(passed int) bool { return passed >= maxPassedOver }))
}

// Throttled reports whether commands of a verb must wait although a sender is free. Fair acquires have at most one batch in
// flight, because two could arrive in the wrong order. Batches with WAIT need a free replica sender, and renewals may
// be throttled.
func (c *Coordinator) Throttled(n *Node, verb actor.Verb) bool {
	switch {
	case verb == actor.SendFairAcquire && n.InFlightByVerb[verb] > 0:
		return true
	case c.WaitsForReplicas(verb):
		return n.InFlightReplicated == ReplicaSendersPerNode
	}
	return IsRenewal(verb) && c.renewalsThrottled(n)
}

// nextRetry returns a retry batch, without the commands that are no longer wanted, or nil.
func (c *Coordinator) nextRetry(n *Node, verb actor.Verb) *Batch {
	for i := len(n.Retries) - 1; i >= 0; i-- {
		b := n.Retries[i]
		if b.Verb != verb {
			continue
		}
		n.Retries = slices.Delete(n.Retries, i, i+1)
		n.Queues[verb].InRetries -= len(b.Commands)
		b.Commands = slices.DeleteFunc(b.Commands, func(command actor.Command) bool { return !c.shouldSend(n, &command) })
		c.sweepIfStale(n, verb)
		if len(b.Commands) > 0 {
			return b
		}
		c.freeBatches = append(c.freeBatches, b)
	}
	return nil
}

func (c *Coordinator) fillBatch(n *Node, verb actor.Verb) *Batch {
	q := &n.Queues[verb]
	if q.Len() == 0 {
		return nil
	}
	b, most := c.getBatch(verb), BatchKeys
	if IsRenewal(verb) && q.urgent == 0 && q.Len() >= renewKeys {
		most = renewKeys
	}
	if n.Breaker.Down && slices.Contains(Priorities[acquirePriority], verb) {
		most = 1 // a command without a reply must be released later, so one is enough to probe
	}
	l := &batchBuilder{Batch: b, maxKeys: most}
	if q.repeated.n > 0 && most >= repeatShare {
		l.maxKeys -= most / repeatShare
	}
	c.addOldest(n, q, &q.first, l)
	l.maxKeys = most
	c.addOldest(n, q, &q.repeated, l)
	c.addOldest(n, q, &q.first, l)
	c.sweepIfStale(n, verb)
	if len(b.Commands) == 0 {
		c.freeBatches = append(c.freeBatches, b)
		c.moreToScan = c.moreToScan || l.skipped > maxSkipped
		return nil
	}
	return b
}

// maxSkipped is the maximum number of stale commands that are skipped to fill one call.
const maxSkipped = 8 * BatchKeys

// batchBuilder is a call being filled.
type batchBuilder struct {
	*Batch
	maxKeys                  int // limit on its keys
	keyCount, bytes, skipped int
}

// addOldest moves the oldest commands of a list to a call, as many as fit. A single command is always taken, whatever its
// size.
func (c *Coordinator) addOldest(n *Node, q *queue, list *chain, l *batchBuilder) {
	for command := list.oldest(); command != nil && l.skipped <= maxSkipped; command = list.oldest() {
		keys, bytes := CommandSize(command, l.Verb)
		if len(l.Commands) > 0 && (l.keyCount+keys > l.maxKeys || l.bytes+bytes > batchBytes) {
			return
		}
		if c.shouldSend(n, command) {
			l.Commands = append(l.Commands, *command)
			l.keyCount += keys
			l.bytes += bytes
		} else {
			l.skipped++
		}
		q.drop(list)
	}
}

// CommandSize returns how much of a call a command takes. keys counts locks, or holds of a reader: each has a key and a lease.
// bytes is an estimate.
func CommandSize(command *actor.Command, verb actor.Verb) (keys, bytes int) {
	const besidesName = 64 // the tenure, the lease, and the affixes of derived keys
	bytes = besidesName * len(command.Orphans)
	switch reads := command.Reader; {
	case len(command.Parts) > 0:
		for i := range command.Parts {
			bytes += len(command.Parts[i].Key) + besidesName*(1+len(command.Parts[i].Orphans))
		}
		return len(command.Parts), bytes
	case HasHoldKeys(verb) && reads != nil && len(reads.Leases) > 1:
		keys = len(reads.Leases)
		return keys, bytes + (len(command.Key)+besidesName)*(1+keys)
	case HasHoldKeys(verb):
		return 1, bytes + 2*(len(command.Key)+besidesName)
	}
	return 1, bytes + (len(command.Key)+besidesName)*(1+ExtraKeys(verb))
}

// ExtraKeys returns how many keys the script of a verb gets for each lock besides its own.
func ExtraKeys(verb actor.Verb) int {
	switch verb {
	case actor.SendFairAcquire, actor.SendFairRelease, actor.SendFairForce:
		return 3
	case actor.SendFencedAcquire, actor.SendFencedRenew:
		return 1
	}
	return 0
}

// HasHoldKeys reports whether the script of a verb gets a key for each hold of a reader.
func HasHoldKeys(verb actor.Verb) bool {
	return verb == actor.SendReadAcquire || verb == actor.SendReadRenew
}

func (c *Coordinator) getBatch(verb actor.Verb) *Batch {
	var b *Batch
	if last := len(c.freeBatches) - 1; last >= 0 {
		b = c.freeBatches[last]
		c.freeBatches = c.freeBatches[:last]
	} else {
		b = NewBatch()
	}
	b.Reset(verb)
	return b
}

// onBatchDone handles a bundle that a sender has brought back.
func (c *Coordinator) onBatchDone(now time.Duration, b *Batch) {
	b.Node.InFlightBatches--
	b.Node.calls = slices.DeleteFunc(b.Node.calls, func(other *Batch) bool { return other == b })
	b.Node.InFlightByVerb[b.Verb]--
	if c.WaitsForReplicas(b.Verb) {
		b.Node.InFlightReplicated--
	}
	if c.Cluster != nil {
		c.learnOwners(now, b)
	}
	for b != nil {
		next := b.Next
		b.Next, b.bundleNext = nil, nil
		b.Node.inFlight -= len(b.Commands)
		if !b.NoReply {
			c.histograms.roundTrips.Add(now - b.Sent)
		}
		c.trackDemotion(now, b)
		c.onCallResult(now, b)
		b = next
	}
}

// onCallResult handles the result of one call.
func (c *Coordinator) onCallResult(now time.Duration, b *Batch) {
	switch {
	case b.Abandoned:
		c.onAbandonedDone(now, b)
	case c.dropStaleOwnerReply(b):
		c.failCommands(now, b)
	case b.Failed == nil && c.onLateReply(now, b):
		return
	case b.Failed == nil:
		c.deliverReplies(now, b)
	case c.followRedirect(now, b):
		return
	case !b.NoReply && !b.SendText && actor.HasPrefixFold(b.Failed.Error(), "NOSCRIPT"):
		c.counters.retries++
		b.SendText, b.Failed = true, nil
		c.retry(now, b.Node, b)
		return
	case !b.NoReply && len(b.Commands) > 1 && isKeyError(b.Failed):
		c.noteTryAgain(now, b)
		c.onReachable(now, b)
		c.splitBatch(now, b)
	default:
		c.failCommands(now, b)
	}
	c.freeBatches = append(c.freeBatches, b)
}

// onReachable notes that the server replied. A reply to a call that the cluster client routed proves nothing about the
// node.
func (c *Coordinator) onReachable(now time.Duration, b *Batch) {
	if b.ViaClusterClient {
		c.invalidateTopology()
		return
	}
	idle, _ := c.connectionsOf(b)
	idle.onReply(now)
	b.Node.Breaker.onSuccess()
}

// onNoReply notes that a node did not reply, or rejects all commands for now. That a server has closed an idle connection
// is no outage: the commands are sent again at once, on the next connection.
func (c *Coordinator) onNoReply(now time.Duration, b *Batch) {
	k := &b.Node.Breaker
	if idle, conns := c.connectionsOf(b); k.Down || !idle.excuses(now, b.Sent, b.Failed, conns) {
		k.onFailure(now, b.Failed)
		c.requeueRetries(b.Node)
	}
	c.invalidateTopology()
}

// connectionsOf returns the connections of which one carried a batch, and their number.
func (c *Coordinator) connectionsOf(b *Batch) (idle *idleConns, conns int) {
	if c.WaitsForReplicas(b.Verb) {
		return &b.Node.Breaker.replicaConnections, ReplicaSendersPerNode
	}
	return &b.Node.Breaker.connections, 1
}

// deliverReplies delivers every reply to its lock.
func (c *Coordinator) deliverReplies(now time.Duration, b *Batch) {
	c.onReachable(now, b)
	if !c.WaitsForReplicas(b.Verb) {
		c.updateRTT(now - b.Sent)
	}
	for len(b.Replies) < len(b.Commands) {
		b.Replies = append(b.Replies, actor.Reply{Err: errShortReply, Malformed: true})
	}
	c.prefetchLocks(b.Commands)
	for i := range b.Commands {
		if b.Replies[i].FailedPart >= b.Commands[i].Keys() {
			b.Replies[i] = actor.Reply{Err: errShortReply, Malformed: true}
		}
		if c.Cluster != nil && c.Cluster.isMigrating(now, b.Slot) {
			capTTL(&b.Replies[i])
		}
		c.deliverReply(now, b, &b.Commands[i], &b.Replies[i])
	}
}

// failCommands tells every lock that its command has no reply, or that the server rejected the whole call.
func (c *Coordinator) failCommands(now time.Duration, b *Batch) {
	reply := actor.Reply{Status: actor.Rejected, Err: b.Failed}
	if b.NoReply {
		reply.Status = actor.NoReply
		reply.Malformed = b.Demoted // the server is there: retry after a pause
	}
	switch {
	case b.Demoted:
		c.onReachable(now, b)
		c.invalidateTopology()
	case b.staleOwner || !b.NoReply && isKeyError(b.Failed):
		c.noteTryAgain(now, b)
		c.onReachable(now, b)
	case !b.NoReply && isSlotError(b.Failed):
		c.onReachable(now, b)
		c.invalidateTopology()
	default:
		c.onNoReply(now, b)
	}
	for i := range b.Commands {
		c.deliverReply(now, b, &b.Commands[i], &reply)
	}
	if isConnectFailure(b.Failed) {
		c.failUnconnected(now, b)
	}
}

// failUnconnected tells every lock that its server cannot be connected to. Requests that do not wait for other holders do not
// wait for that either.
func (c *Coordinator) failUnconnected(now time.Duration, b *Batch) {
	for i := range b.Commands {
		if l := b.Commands[i].Lock; l != nil && l.Key() != "" {
			c.step(now, l, &actor.Message{Event: actor.Unreachable, Cause: b.Failed})
		}
	}
}

func (c *Coordinator) deliverReply(now time.Duration, b *Batch, command *actor.Command, reply *actor.Reply) {
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
	if len(c.LockSets) > 0 {
		c.annotateReply(now, b, command, reply)
	}
	if reply.Status == actor.HeldByOther {
		c.releaseOtherHalf(now, command, reply)
	}
	until, less := time.Duration(0), false
	if command.Lock.Kind() == actor.Read {
		until, less = command.Lock.MayLeaveLongTTL(now, command, reply)
	}
	c.step(now, command.Lock, &actor.Message{Event: actor.Replied, Command: command, Reply: reply, Sent: b.Sent})
	if reply.Status == actor.HeldByOther && command.Lock.Kind().Queues() && command.Lock.Key() != "" {
		c.LockSets[command.Lock.Key()].noteQueued(command.Lock)
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
func (c *Coordinator) deliverState(now time.Duration, command *actor.Command, reply *actor.Reply) {
	r := command.Request
	switch {
	case reply.Status == actor.OK:
		state := *reply
		r.State = &state
		c.Fx.Complete(now, r, nil, nil)
	case reply.Status == actor.Rejected && !actor.Transient(reply.Err.Error()):
		c.Fx.Complete(now, r, reply.Err, nil)
	case reply.Status == actor.Rejected:
		c.Fx.Complete(now, r, actor.ErrUnavailable, reply.Err)
	case reply.Malformed:
		c.Fx.Complete(now, r, actor.ErrUnavailable, reply.Err)
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
func (c *Coordinator) splitBatch(now time.Duration, b *Batch) {
	c.counters.retries++
	middle := len(b.Commands) / 2
	for _, part := range [][]actor.Command{b.Commands[:middle], b.Commands[middle:]} {
		half := c.getBatch(b.Verb)
		half.Commands = append(half.Commands, part...)
		half.Slot = b.Slot
		c.retry(now, c.nodeForKey(part[0].Key), half)
	}
}

// updateRTT updates the moving average of the round-trip time.
func (c *Coordinator) updateRTT(took time.Duration) {
	if c.Fx.RoundTrip == 0 {
		c.Fx.RoundTrip = took
	}
	c.Fx.RoundTrip += (took - c.Fx.RoundTrip) / 8
}
