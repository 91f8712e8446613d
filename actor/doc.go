// Package actor implements one lock's state machine. It is pure: it has no clock, no I/O and no goroutine.
//
// A [Lock] is one name as one engine sees it. Messages go through [Lock.Step], which takes a message and the current
// time. These methods change a Lock without a message, for what concerns several locks or the end of all: Reserve and
// SendReserved of a [Request] for several locks; ReadUnderWriter, ContinueUnderWriter, OnTTLRaised, YieldUntil and
// SetLocalReaders for what another Lock of the name does; AddOrphan, RejectUpgrades, RejectTry and QueueAfter;
// SubscriptionLost; SetKind; and Close. Output is appended to [Effects]: commands for Redis, results for callers,
// subscriptions and timers. Times are durations since the engine's start, on a monotonic clock.
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
// A tenure is one acquisition of the key in Redis by this engine. Its number is half of the holder id and is never
// reused: late or duplicate replies are recognized by number, never by timing. (Only a reader beside its owner's write
// may have the writer's number, see [Lock.ReadUnderWriter].) An owner is the identity that may re-enter inside this
// process. A tenure can pass through many owners.
//
//	free ──acquire──▶ acquiring ──granted──▶ held ──last hold ends──▶ releasing ──released──▶ free
//	 ▲                    │                  │ ▲
//	 └──────rejected──────┘                  └─┘ handed off to the next request in this engine's queue
//
//	free ──force──▶ forcing ──reply──▶ free        a hold of this engine is lost first
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
//   - whether a tenure waits in a queue on the server while it is asking,
//   - on which channel notifications arrive.
//
// This package is not part of lockwheel's API: any version may change it. See docs/versions.md.
package actor
