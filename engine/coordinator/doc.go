// Package coordinator decides what an engine does, without doing it. It has no clock, no I/O and no goroutine: the loop
// of package engine, or the simulation in engine/sim, brings messages and the time and carries out the results.
//
// The contract of a [Coordinator]:
//
//   - [New] makes one. [Coordinator.InitCluster] prepares it for a cluster, before the first turn.
//   - [Coordinator.Turn] handles messages, oldest first, and whatever is due at the given time. Time never goes back.
//   - After each turn the owner takes all outputs, in this order: holds that ended (Fx.HoldEnds); holds to be logged
//     (Fx.Leaks, Fx.TooLong); Redial, which asks it to close the connections to a server that is no longer a master;
//     Connected, which says that there is a server now; new and removed nodes (Added, Removed); Cluster.Request, which
//     asks it to refresh the topology; batches (Batches); the order of each node's subscriptions
//     (Node.Subscriptions.Order); and results (Results.Ready). [Coordinator.ResetOutputs] then clears all of them, so
//     what was not taken is lost.
//   - A batch belongs to the owner until it comes back as a message, with replies or with the reason why there are
//     none. An order comes back as an [OrderDone]. Each request receives exactly one result.
//   - [Coordinator.Next] says when the next turn is due without a message. A turn handles a bounded number of messages,
//     timers and results; if some are left, the next turn is due at once.
//
// For example, the essence of the loop:
//
//	c := coordinator.New(config, coordinator.SendersPerNode)
//	for !c.Closed {
//		c.Turn(now(), mailbox.TakeAll())
//		send(c.Batches)
//		wake(c.Results.Ready)
//		c.ResetOutputs()
//		sleepUntil(c.Next())
//	}
//
// Inside, a message takes this way: intake.go sorts it by what may wait, coordinator.go finds or makes its lock
// (lockmap.go, lockset.go for kinds with a lock per request) and steps it, dispatch.go queues the commands that the
// lock emits and packs them into batches of one verb (renew_pacing.go, breaker.go, bundle.go), and replies.go hands
// each reply to its lock. cluster.go, redirect.go, failover.go and migration.go follow the slots of a cluster;
// subscriptions.go keeps the channels that waiters need.
//
// This package is not part of lockwheel's API: any version may change it. See docs/versions.md.
package coordinator
