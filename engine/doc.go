// Package engine runs the locks of package actor on one event loop.
//
// How it is used:
//
//   - Probe checks a server or cluster and loads the scripts. The result is a Server.
//   - Start runs an Engine on that Server until the engine is closed.
//   - A caller fills in a Call and passes it to Engine.Post. The call's request receives exactly one result.
//   - Engine.Cancel gives a posted call up. The result still comes, and a late grant is released.
//   - A request with the tag AskShutdown or AskClose ends the engine. Stopped and Wait report the end.
//
// The number of goroutines does not depend on the number of locks:
//
//   - the loop owns the coordinator, and through it every lock, the wheel and the expiration-renewal map
//   - the senders each send one batch at a time to the server and post its replies to the loop
//   - the replica senders, with Config.Replicas, send grants; each has a connection of its own
//   - the subscriber owns the pub/sub connection and posts its messages; behind Sentinel it also polls for a new master
//   - a connection with very many channels has a goroutine while it is unsubscribed in slices
//   - in that case up to 300 more goroutines wait for replies, for a million channels
//
// In a cluster every master has senders, replica senders and a subscriber of its own, so a silent master delays no
// other. One more goroutine, the topology refresher, asks for the slot owners when the topology is in doubt. Behind Sentinel each
// master has such workers as well. When a master is replaced, its workers finish what they have and never talk to
// another master.
//
// All other goroutines only post messages. A turn of the loop:
//
//   - reads the clock once
//   - hands the messages to the actors and fires the due timers, both up to a limit per turn
//   - publishes the outputs: ended holds, batches, results
//
// While all senders are busy, commands accumulate and leave as one larger batch. No command waits for a batch to fill.
//
// The coordinator makes all decisions of a turn. It takes messages and the time, and returns batches, results and the
// next wake-up. The loop adds the clock, the senders and the channels. Simulation drives the same coordinator with
// simulated time.
//
// This package is not part of lockwheel's API: any version may change it. See docs/versions.md.
package engine
