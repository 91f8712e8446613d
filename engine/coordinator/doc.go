// Package coordinator decides what an engine does, without doing it. It has no clock, no I/O and no goroutine. The loop
// of package engine, or the simulation in engine/sim, brings messages and the time and carries out the results.
//
// The contract of a [Coordinator]:
//
//   - [New] makes one. Before the first turn, [Coordinator.InitCluster] prepares it for a cluster, or
//     [Coordinator.InitUnconnected] for a server that is not known yet: a [Connected] then brings it. An owner that can
//     carry out Redial sets CanRedial.
//   - [Coordinator.Turn] handles messages, oldest first, and whatever is due at the given time. Time never goes back.
//     If the machine was suspended, [Coordinator.ReconfirmAll] comes before the turn.
//   - After each turn the owner takes all outputs, in the order below. [Coordinator.ResetOutputs] then clears all of
//     them, so what was not taken is lost.
//   - [Coordinator.NoteTurn] counts how long the turn and its outputs took, for [Stats]. An owner without a clock
//     leaves it out.
//   - A batch belongs to the owner until it comes back as a message, with replies or with the reason why there are
//     none. An order comes back as an [OrderDone]. Each request receives exactly one result.
//   - [Coordinator.Next] says when the next turn is due without a message. A turn handles a bounded number of messages,
//     timers and results; if some are left, the next turn is due at once.
//   - Closed says that a request to close ends all holds and requests. The owner lets in no further message, and calls
//     Turn until [Coordinator.ClosePending] is false: one turn ends a bounded number of them.
//
// The outputs, in the order in which the owner takes them:
//
//  1. Fx.HoldEnds has the holds that ended.
//  2. Fx.Leaks and Fx.TooLong have the holds to be logged.
//  3. Redial asks the owner to close the connections to a server that is no longer a master.
//  4. Connected says that there is a server now.
//  5. Added and Removed have the new and the removed nodes.
//  6. Cluster.Request asks the owner to refresh the topology.
//  7. Batches has the batches.
//  8. Node.Subscriptions.Order has the order of each node's subscriptions.
//  9. [Coordinator.OwnMessagesHandled] is how many messages of the engine's own channel the turn took, so that the
//     owner lets in others. [Coordinator.Answers] has what other clients are told.
//  10. Results.Ready has the results; [Coordinator.PrefetchCallers] fills the CPU cache for them.
//  11. [Coordinator.AsyncCancelsLeft] is how many cancellations, of requests without a waiting caller, are still to be
//     handled. The owner limits those requests by it. [Coordinator.ResetOutputs] leaves it as it is.
//
// For example, the essence of the loop:
//
//	c := coordinator.New(config, coordinator.SendersPerNode)
//	publish := func() {
//		send(c.Batches)
//		wake(c.Results.Ready)
//		c.ResetOutputs()
//	}
//	for !c.Closed {
//		c.Turn(now(), mailbox.TakeAll())
//		publish()
//		sleepUntil(c.Next())
//	}
//	c.Turn(now(), mailbox.Close())
//	for publish(); c.ClosePending(); publish() {
//		c.Turn(now(), nil)
//	}
//
// A message takes this way. intake.go sorts it by what may wait. requests.go finds or makes its lock, and
// coordinator.go steps it. dispatch.go queues the commands that the lock emits and packs them into batches of one verb.
// replies.go hands each reply to its lock. docs/how-it-works.md follows one Lock call from the caller to the server and
// back. The parts:
//
//   - the turn: coordinator.go, messages.go, intake.go, heldback.go, heldback_sweep.go, overtaking.go, late_cancels.go,
//     requests.go, timers.go, resultqueue.go, prefetch.go
//   - finding locks: lockmap.go; for kinds with a lock per request lockset.go, locklist.go, lockindex.go,
//     ownerindex.go, waited_for.go
//   - what concerns several locks: multi.go, rwlock.go, rwlock_orphans.go
//   - very many locks, a bounded number per turn: round.go, fanout.go, rejecting.go, drain.go, closing.go
//   - commands on their way: queue.go, sweep.go, stale_commands.go, dispatch.go, renew_pacing.go, batch.go, bundle.go,
//     replies.go, replicas.go
//   - servers: node.go, breaker.go, refusal.go, evidence.go, connecting.go, demotion.go, clockskew.go
//   - slots of a cluster: cluster.go, topology.go, membership.go, redirect.go, migration.go, failover.go
//   - channels that waiters need: channels.go, listenerset.go, waiting_readers.go, subscriptions.go,
//     subscription_orders.go, subscription_moves.go
//   - what other clients ask and tell: ownchannel.go, forced.go, waiters.go
//   - limits and reports: shedding.go, snapshot.go, stats.go, histograms.go
//
// This package is not part of lockwheel's API: any version may change it. See docs/versions.md.
package coordinator
