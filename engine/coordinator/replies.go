package coordinator

import (
	"errors"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// errShortReply is the error of a command for which the server sent no reply, or one that does not fit it.
var errShortReply = errors.New("lockwheel: the server's reply does not have the form of the script's")

// onBatchDone handles a bundle that a sender has brought back.
func (c *Coordinator) onBatchDone(now time.Duration, b *Batch) {
	b.Node.InFlightBundles--
	b.Node.bundles = slices.DeleteFunc(b.Node.bundles, func(other *Batch) bool { return other == b })
	b.Node.InFlightByVerb[b.Verb]--
	if b.background {
		b.Node.inFlightBackground--
		b.background = false
	}
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
		c.trackWrites(now, b)
		c.onBatchResult(now, b)
		b = next
	}
}

// onBatchResult handles the result of one batch.
func (c *Coordinator) onBatchResult(now time.Duration, b *Batch) {
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
	c.freeBatch(b)
}

// onReachable notes that the server replied. A reply to a batch that the cluster client routed proves nothing about the
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

// onNoReply notes that a node did not reply, or rejects all commands for now. That a server has closed an idle
// connection is no outage: the commands are sent again at once, on the next connection.
func (c *Coordinator) onNoReply(now time.Duration, b *Batch) {
	breaker := &b.Node.Breaker
	if idle, conns := c.connectionsOf(b); breaker.Down || !idle.excuses(now, b.Sent, b.Failed, conns) {
		breaker.onFailure(now, b.Failed)
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
	noteServed(b)
	if !c.WaitsForReplicas(b.Verb) {
		c.updateRTT(now - b.Sent)
		c.busy.note(now, b.busyWait, now-b.Sent)
	}
	for len(b.Replies) < len(b.Commands) {
		b.Replies = append(b.Replies, actor.Reply{Err: errShortReply, Malformed: true})
	}
	c.prefetchLocks(b.Commands)
	for i := range b.Commands {
		if b.Replies[i].FailedPart >= b.Commands[i].Keys() {
			b.Replies[i] = actor.Reply{Err: errShortReply, Malformed: true}
		}
		c.Fx.ApplyForeign(&b.Commands[i], &b.Replies[i])
		if c.Cluster != nil && c.Cluster.isMigrating(now, b.Slot) {
			capTTL(&b.Replies[i])
		}
		c.deliverReply(now, b, &b.Commands[i], &b.Replies[i])
	}
}

// failCommands tells every lock that its command has no reply, or that the server rejected the whole batch.
func (c *Coordinator) failCommands(now time.Duration, b *Batch) {
	reply := actor.Reply{Status: actor.Rejected, Err: b.Failed, FailedPart: actor.AllParts}
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

// failUnconnected tells every lock that its server cannot be connected to. Requests that do not wait for other holders
// do not wait for that either.
func (c *Coordinator) failUnconnected(now time.Duration, b *Batch) {
	for i := range b.Commands {
		if l := b.Commands[i].Lock; l != nil && l.Key() != "" {
			c.step(now, l, &actor.Message{Event: actor.Unreachable, Cause: b.Failed})
		}
	}
}

// deliverReply passes the reply to a command to its lock. What the reply means for other locks of the name is handled
// before, where it changes what the reply says, and otherwise after. What is needed of the lock afterwards is read
// before its step, which may end it.
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
	if command.Verb == actor.SendReadAcquire {
		c.LockSets[command.Key].noteReaderReply(reply)
	}
	gone := reply.TenureGone() && (forces || command.Lock.HadTenure(command))
	until, less, underWriter := time.Duration(0), false, command.Lock.UnderWriter()
	if command.Lock.Kind() == actor.Read {
		until, less = command.Lock.MayLeaveLongTTL(now, command, reply)
	}
	c.step(now, command.Lock, &actor.Message{Event: actor.Replied, Command: command, Reply: reply, Sent: b.Sent})
	if len(c.own.early) > 0 && reply.Status == actor.OK {
		c.confirmIfEarly(now, command, b.Sent)
	}
	if reply.Status == actor.HeldByOther && command.Lock.Kind().Queues() && command.Lock.Key() != "" {
		c.LockSets[command.Lock.Key()].noteQueued(command.Lock)
	}
	if command.Verb == actor.SendReadAcquire && reply.Status == actor.OK && !underWriter {
		c.wakeWaitingReaders(now, command.Key)
	}
	if less {
		c.onReadLeaseLowered(now, command.Key, until)
	}
	if forces && reply.Status == actor.OK {
		c.recheckAfterForce(now, command)
	}
	c.notifyLocally(now, command, reply)
	if gone {
		c.notifyOtherHalf(now, command)
	}
}

// deliverState delivers the state of a key to the request. Without a reply the command is sent again, until the request
// times out.
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
func isKeyError(err error) bool {
	return !actor.Transient(err.Error()) || actor.HasPrefixFold(err.Error(), "TRYAGAIN")
}

// splitBatch splits a rejected batch in two and sends both again, so that an error for one key does not affect the
// others.
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
