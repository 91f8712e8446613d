package coordinator

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// Priorities lists the verbs by priority: a flood of acquires must not delay a renewal. Verbs of one row have equal
// priority and take turns. A row that waits has its share all the same, see maxPassedOver.
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

// priorityVerbs has for each row of Priorities the bits of its verbs, as in Node.queued.
var priorityVerbs = func() (rows [len(Priorities)]uint32) {
	for i, verbs := range Priorities {
		for _, verb := range verbs {
			rows[i] |= 1 << verb
		}
	}
	return rows
}()

// acquirePriority is the index in Priorities of the verbs that acquire.
const acquirePriority = 3

// maxPassedOver is the maximum number of batches of more urgent rows that leave one after the other before one of a row
// that waits. A flood of releases must not stop acquires for as long as it lasts. Renewals have no part in it: they go
// first, and use at most half of the senders while others wait.
const maxPassedOver = 8

// enqueue appends a command to the queue of its node.
func (c *Coordinator) enqueue(command *actor.Command) {
	n := c.nodeForKey(command.Key)
	n.Queues[command.Verb].push(c.now, command)
	n.queued |= 1 << command.Verb
}

// dispatch fills the free senders of a node with batches, as long as there are commands to send.
func (c *Coordinator) dispatch(now time.Duration, n *Node) {
	defer n.clearUrgent()
	for n.InFlightBundles-n.InFlightReplicated < c.Senders && !c.Closed && n.Breaker.allow(now, n.InFlightBundles) {
		b := c.nextBatch(n)
		if b == nil {
			return
		}
		n.InFlightBundles++
		n.bundles = append(n.bundles, b)
		n.InFlightByVerb[b.Verb]++
		n.othersSent = !IsRenewal(b.Verb)
		if b.background {
			n.inFlightBackground++
		}
		for batch := b; batch != nil; batch = batch.Next {
			batch.bundleNext = batch.Next
			n.inFlight += len(batch.Commands)
			c.counters.batches++
			c.counters.commands += uint64(len(batch.Commands))
			c.histograms.batchSizes.Add(len(batch.Commands))
			batch.Sent, batch.Node, batch.ViaClusterClient, batch.busyWait = now, n, false, c.busy.on()
			batch.EffectUntilMillis = n.clock.millisAt(now+c.Fx.Config.MaxCommandDelay(), now)
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
		if b := c.nextOfPriority(n, n.Breaker.rotate(place, len(Priorities))); b != nil {
			return b
		}
		if overdue := n.overduePriority(); place == 0 && overdue > 0 {
			if b := c.nextOfPriority(n, overdue); b != nil {
				return b
			}
			n.forgetIfEmpty(overdue)
		}
	}
	return nil
}

// nextOfPriority returns one batch of a row of Priorities, in a cluster a bundle, or nil.
func (c *Coordinator) nextOfPriority(n *Node, priority int) *Batch {
	if len(n.Retries) == 0 && n.queued&priorityVerbs[priority] == 0 {
		return nil
	}
	verbs := Priorities[priority]
	at := int(c.rotation % uint(len(verbs)))
	for range verbs {
		verb := verbs[at]
		if at++; at == len(verbs) {
			at = 0
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
			n.passOver(priority)
			return b
		}
	}
	return nil
}

// passOver counts a batch of a row of Priorities against the less urgent rows that wait.
func (n *Node) passOver(priority int) {
	n.passedOver[priority] = 0
	for other := priority + 1; priority > 0 && other < len(Priorities); other++ {
		if n.rowWaits(other) {
			n.passedOver[other]++
		}
	}
}

// forgetIfEmpty ends the claim of a row that no longer waits: its commands were given up, or have moved away.
func (n *Node) forgetIfEmpty(priority int) {
	if !n.rowWaits(priority) {
		n.passedOver[priority] = 0
	}
}

// rowWaits reports whether a command of a row of Priorities waits to be sent.
func (n *Node) rowWaits(priority int) bool {
	return n.queued&priorityVerbs[priority] != 0 && slices.ContainsFunc(Priorities[priority], func(verb actor.Verb) bool { return n.Queues[verb].Len() > 0 })
}

// overduePriority returns the most urgent row of Priorities that has waited for its share, or 0.
func (n *Node) overduePriority() int {
	return max(0, slices.IndexFunc(n.passedOver[:], func(passed int) bool { return passed >= maxPassedOver }))
}

// Throttled reports whether commands of a verb must wait although a sender is free. Fair acquires have at most one
// batch in flight, because two could arrive in the wrong order. Batches with WAIT need a free replica sender. Renewals
// and background commands may be throttled.
func (c *Coordinator) Throttled(n *Node, verb actor.Verb) bool {
	switch {
	case verb == actor.SendFairAcquire && n.InFlightByVerb[verb] > 0:
		return true
	case c.WaitsForReplicas(verb):
		return n.InFlightReplicated == ReplicaSendersPerNode
	case IsRenewal(verb):
		return c.renewalsThrottled(n)
	}
	q := &n.Queues[verb]
	return c.backgroundThrottled(n, verb) && q.lists[awaited].n+q.InRetries == 0
}

// backgroundThrottled reports whether no further batch may carry background commands. Those are attempts to acquire
// that are repeated, and attempts and releases for which no caller blocks. At most three of eight senders carry them. A
// caller that blocks has as many fewer commands ahead of it at the server. Measured beside a million LockAsync calls
// for held locks: an unrelated lock and unlock take 0.4 times as long at p50 as without this limit, both while the
// calls are posted and while their channels are subscribed. With two of eight, 100 000 releases take 15 % longer.
func (c *Coordinator) backgroundThrottled(n *Node, verb actor.Verb) bool {
	return n.inFlightBackground >= max(1, 3*c.Senders/8) && !c.WaitsForReplicas(verb)
}

// nextRetry returns a retry batch, without the commands that are no longer wanted, or nil.
func (c *Coordinator) nextRetry(n *Node, verb actor.Verb) *Batch {
	for i := len(n.Retries) - 1; i >= 0; i = min(i, len(n.Retries)) - 1 { // a sweep that begins below removes further ones
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
		c.freeBatch(b)
	}
	return nil
}

// fillBatch returns a batch of the oldest commands of a verb, or nil if none is still wanted. Of the three lists of the
// queue, each but the one that it begins with has a quarter of the batch (backgroundShare), and the list before it the
// rest. Without that share, a continuous stream of first attempts would keep those that wait for a held lock from ever
// asking again. With the oldest of all lists, a caller of a free lock would wait behind all that ask again. What one
// list leaves of its part, the others fill.
//
// A batch begins with the commands that a caller waits for, with two exceptions: a list that got nothing of the batch
// before, because its first command did not fit, and routine renewals that have waited for long.
func (c *Coordinator) fillBatch(n *Node, verb actor.Verb) *Batch {
	q := &n.Queues[verb]
	if q.Len() == 0 {
		return nil
	}
	b, maxKeys := c.batchToFill(verb), BatchKeys
	late := IsRenewal(verb) && q.lists[unawaited].waited(c.now) > c.Fx.Config.RenewInterval/lateRoutine
	if IsRenewal(verb) {
		maxKeys = c.maxRenewals(n, q, late)
	}
	if n.Breaker.Down && slices.Contains(Priorities[acquirePriority], verb) {
		maxKeys = 1 // a command without a reply must be released later, so one is enough to probe
	}
	if late && !q.passedOver {
		q.first = unawaited
	}
	c.fillFromLists(n, q, &batchBuilder{Batch: b, maxKeys: maxKeys}, !IsRenewal(verb) && c.backgroundThrottled(n, verb))
	c.sweepIfStale(n, verb)
	if len(b.Commands) == 0 {
		if c.Cluster == nil {
			c.freeBatch(b)
		}
		return nil
	}
	n.onBatchFilled(verb)
	return b
}

// fillFromLists fills a batch from the lists of a queue, or from the first one only.
func (c *Coordinator) fillFromLists(n *Node, q *queue, b *batchBuilder, onlyAwaited bool) {
	order, maxKeys := listOrders[q.first], b.maxKeys
	if onlyAwaited {
		order = listOrders[awaited][:1]
	}
	var taken [queueLists]int
	take := func(list int) {
		before := len(b.Commands)
		c.addOldest(n, q, &q.lists[list], b)
		taken[list] += len(b.Commands) - before
	}
	for i, list := range order {
		b.maxKeys = maxKeys - q.reserved(order[i+1:], maxKeys)
		take(list)
	}
	b.maxKeys = maxKeys
	for _, list := range order {
		take(list)
	}
	c.moreToScan = c.moreToScan || len(b.Commands) == 0 && b.skipped > maxSkipped
	if onlyAwaited {
		return
	}
	begun := q.first
	q.first, q.passedOver = awaited, false
	for i := range queueLists - 1 {
		if list := (begun + 1 + i) % queueLists; taken[list] == 0 && q.lists[list].n > 0 {
			q.first, q.passedOver = list, true // in turn: each of them begins one soon
			return
		}
	}
}

// listOrders has for each list of a queue the order of the lists in a batch that begins with it.
var listOrders = [queueLists][]int{
	awaited:   {awaited, unawaited, repeated},
	unawaited: {unawaited, awaited, repeated},
	repeated:  {repeated, awaited, unawaited},
}

// lateRoutine divides Options.RenewInterval: routine renewals that have waited in a queue for longer than that part of
// it are sent before those that a caller waits for. Else a flood of extensions would keep other holds from being
// renewed in time.
const lateRoutine = 4

// reserved returns how much of a batch of maxKeys some lists of a queue have for themselves.
func (q *queue) reserved(lists []int, maxKeys int) (keys int) {
	for _, list := range lists {
		if q.lists[list].n > 0 {
			keys += maxKeys / backgroundShare
		}
	}
	return keys
}

// maxSkipped is the maximum number of stale commands that are skipped to fill one batch.
const maxSkipped = 8 * BatchKeys

// batchBuilder is a batch being filled, during one fillBatch. It needs a Batch and maxKeys; its counts begin at 0.
// Owned by the coordinator.
type batchBuilder struct {
	*Batch
	maxKeys                  int // limit on its keys
	keyCount, bytes, skipped int
}

// addOldest moves the oldest commands of a list to a batch, as many as fit. A single command is always taken, whatever
// its size.
func (c *Coordinator) addOldest(n *Node, q *queue, list *chain, b *batchBuilder) {
	for command := list.oldest(); command != nil && b.skipped <= maxSkipped; command = list.oldest() {
		keys, bytes := CommandSize(command, b.Verb)
		if len(b.Commands) > 0 && (b.keyCount+keys > b.maxKeys || b.bytes+bytes > batchBytes) {
			return
		}
		if c.shouldSend(n, command) {
			b.Commands = append(b.Commands, *command)
			b.background = b.background || list != &q.lists[awaited] && !IsRenewal(b.Verb)
			b.keyCount += keys
			b.bytes += bytes
		} else {
			b.skipped++
		}
		q.drop(list)
	}
}

// CommandSize returns how much of a batch a command takes. keys counts locks, or holds of a reader: each has a key and
// a lease. bytes is an estimate.
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
