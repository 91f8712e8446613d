// Package actor implements one lock's state machine. It is pure: it has no clock, no I/O and no goroutine.
//
// A [Lock] is one name as one engine sees it. Messages go through [Lock.Step], which takes a message and the current
// time. Other exported methods that change a Lock are for what is no message to it. They are for several locks at once,
// another Lock of the name, the command that leaves, and the beginning and the end of a Lock. Only the coordinator
// calls them. Most are called just before a step of that Lock, which does what follows from the change. Output is
// appended to [Effects]: commands for Redis, results for callers, subscriptions and timers. Times are on a monotonic
// clock that begins above 0: a time of 0 says that something has not happened yet, or is not planned.
//
// The coordinator of package engine uses it like this:
//
//  1. [Effects.Receive] registers a new [Request]; the coordinator finds or makes the Lock of its key.
//  2. [Lock.Step] handles the request, and later each reply, notification and expired timer.
//  3. After each step the coordinator takes what the step appended: it sends the commands, delivers the results and
//     changes subscriptions.
//  4. Before a command leaves, [Lock.TryDispatch] reports whether the lock still wants it.
//  5. A Lock that is [Lock.Idle] can be forgotten: [Lock.Clear] empties it.
//
// All of that belongs to the goroutine that runs the coordinator's turns. The one part that other goroutines touch is a
// [Hold]. Its atomic fields say until when it is held ([Hold.Until]) and which [HoldSignal] is installed. A user of the
// hold installs a signal with [Hold.Install], which replaces the one that it has seen. [Hold.End], which the loop or
// the caller that unlocks calls, replaces the last one and notifies it. It calls the [Watcher], and closes Done unless
// a context has to end before. Both replace by compare-and-swap. So a user has installed its signal before the end, and
// is notified, or finds the end.
//
// A tenure is one acquisition of the key in Redis by this engine. Its number is half of the holder id: late or
// duplicate replies are recognized by number, never by timing. The glossary (docs/glossary.md) says when a number is
// used twice. An owner is the identity that may re-enter inside this process. A tenure can pass through many owners.
// docs/how-it-works.md draws the phases of a [Lock], and follows one Lock call from the caller to the server and back.
//
// A tenure has at most one command in flight. After each message, [Lock.Step] reconciles: it compares what is wanted
// with what is in flight and sends the next command. A tenure's commands are sent by send, an orphan's release by
// releaseOrphans, a command for several locks by SendReserved. This level-triggered design makes
// lost, late and duplicate replies harmless.
//
// A request for several locks ([MultiRequest]) waits in the queue of one of them. When it is at the head of that queue,
// the coordinator reserves all the locks for one command. The reply makes all of them held, or none.
//
// What all kinds of lock share has one file per topic: requests, holds, validity, renewal, orphans, waiting. What they
// differ in is a table (protocol):
//
//   - which commands they send,
//   - whether a grant comes with a fencing token,
//   - whether each first grant has a Lock of its own (a per-request lock: fair locks and readers),
//   - whether a tenure waits in a queue on the server while it is acquiring,
//   - on which channel notifications arrive.
//
// This package is not part of lockwheel's API: any version may change it. See docs/versions.md.
package actor
