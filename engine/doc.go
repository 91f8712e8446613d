// Package engine runs the locks of package actor on one event loop.
//
// Its goroutines, whatever the number of locks:
//
//   - the loop: owns the coordinator, and through it every lock, the wheel and the expiration-renewal map
//   - the couriers: each carries one batch at a time to the server and posts the answer back
//   - the syncers, with Config.Replicas: couriers for grants, each with a connection of its own
//   - the subscriber: owns the pub/sub connection, and posts what it hears; behind Sentinel it also looks
//     whether there is another master
//   - for a while, one for each connection on which very many channels were listened to, which it leaves in slices; and up to 300 more for
//     a million of them, which wait for answers
//
// In a cluster every master has couriers, syncers and a subscriber of its own, so that a silent one holds nobody
// else up, and one goroutine more, the surveyor, asks who owns which slots when that is in doubt. Behind Sentinel each
// master has them as well: those of one that was replaced end with what they have, and talk to no other.
//
// Everybody else only posts mail. A turn of the loop reads the clock once, hands all mail to the actors,
// fires the due timers, and then lets go of what came out: ended holds, batches, verdicts. While all
// couriers are out, commands pile up and leave as one larger batch; nobody waits for a batch to fill.
//
// What is decided in a turn is the coordinator's, a type that takes messages and the time and returns
// batches, verdicts and the next wake-up. The loop around it adds the clock, the couriers and the
// channels; simulation drives the same type with simulated time.
package engine
