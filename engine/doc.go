// Package engine runs the locks of package actor on one event loop.
//
// How it is used:
//
//   - Probe checks a server or cluster and loads the scripts. The result is a Server.
//   - Start runs an Engine on that Server until the engine is closed.
//   - StartUnconnected runs an Engine without a Server, which Connected brings later.
//   - A caller fills in a Call and passes it to Engine.Post. The call's request receives exactly one result.
//   - Engine.Cancel gives a posted call up. The result still comes, and a late grant is released.
//   - A request with the op AskShutdown or AskClose ends the engine. Stopped and Wait report the end.
//
// The number of goroutines does not depend on the number of locks:
//
//   - the loop (engine.go) owns the coordinator, and through it every lock and the timing wheels. Start starts it. It
//     ends when the coordinator is closed.
//   - the senders (workers.go, sender.go), 8 per node, each send one batch at a time to the server and post its replies
//     to the loop. The loop starts them with the node, and ends them by closing their channel.
//   - a relayed message (relayer.go): while a slot moves in a cluster with sharded pub/sub, messages of releases at the
//     next master are published at the one before as well. A sender starts one goroutine for those of each batch or
//     bundle, at most 64 for a node. It ends with the replies or with the connection.
//   - the replica senders (workers.go, replica_sender.go), 2 per node with Config.Replicas, send grants; each has a
//     connection of its own. They start and end with the senders.
//   - the subscriber (workers.go, subscriber.go), one per node, owns the pub/sub connection and posts its messages;
//     behind Sentinel it also polls for a new master. It starts and ends with the senders.
//   - the topology refresher (engine.go, topology_refresh.go), in a cluster, asks for the slot owners when the topology
//     is in doubt. Start starts it, and the loop ends it by closing its channel.
//   - the announcer (announcer.go), of an engine with an Identity, writes the engine's record periodically and
//     publishes answers about its locks. It deletes the record after the loop has ended. It starts with the first
//     Server.
//   - the timer's callback (engine.go) posts the message that wakes the loop. The runtime starts it when the timer
//     fires; it ends at once.
//   - a lender's call (dedicated.go) takes a dedicated connection from the client. A replica sender or a subscriber
//     starts it, at most one each, and so does Probe with Config.Replicas. It ends when its connection was taken, or
//     was released because no caller took it in time. In the pool of a client that the program owns, it waits for a
//     free connection without limit.
//   - an unsubscription (unsubscriber.go): a replaced connection with very many channels has a goroutine while it is
//     unsubscribed in slices. The subscriber starts it. It ends after the last slice, or when a reply is late.
//   - one goroutine per slice (unsubscriber.go), of 2048 channels or of the channels of a slot, waits for the reply to
//     UNSUBSCRIBE. Another one waits for the reply to the QUIT that follows. They end with the reply or with the
//     connection.
//   - while Probe runs, one goroutine per master of a cluster loads the scripts there (load_scripts.go). Probe waits
//     for them.
//
// Engine.Wait waits for the workers: senders, replica senders, subscribers, the refresher, the announcer,
// unsubscriptions and relayed messages, and for lender's calls on the engine's own client. The goroutines of rueidis's
// connections are not in this list.
//
// The user of StartUnconnected has one more, which connects and then ends.
//
// In a cluster every master has senders, replica senders and a subscriber of its own, so a silent master delays no
// other. Behind Sentinel each master has such workers as well. When a master is replaced, its workers finish what they
// have and never talk to another master.
//
// All goroutines but the loop change the loop's state only by posting messages. A turn of the loop:
//
//   - reads the clock: one time for all of the turn (and once more at its end, to measure it and to set the timer)
//   - hands the messages to the actors and fires the due timers, both up to a limit per turn
//   - publishes the outputs: ended holds, batches, results
//
// While all senders are busy, commands accumulate and leave as one larger batch. No command waits for a batch to fill.
//
// The coordinator makes all decisions of a turn. It takes messages and the time, and returns batches, results and the
// next wake-up. The loop adds the clock, the senders and the channels. Simulation drives the same coordinator with
// simulated time.
//
// docs/how-it-works.md follows one Lock call from the caller through the loop to the server and back, function by
// function. It also follows a loss to the end of a context.
//
// This package is not part of lockwheel's API: any version may change it. See docs/versions.md.
package engine
