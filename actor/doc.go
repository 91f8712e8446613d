// Package actor holds the lock's state machine: pure, without a clock, I/O or a goroutine.
//
// A [Lock] is one name as one engine sees it. Its one door is [Lock.Step]: a message and the time go
// in, and [Effects] come out — commands for Redis, verdicts for callers, subscriptions, timers. Moments
// are durations since the engine's start, on a clock that never goes back.
//
// A tenure is one stretch of this engine having the lock in Redis; its number is never reused, so
// whatever is late or sent twice is told apart by a number and never by timing. An owner is who may
// re-enter inside this process; a tenure can pass through many owners.
//
//	Free ──ask──▶ Asking ──granted──▶ Held ──last hold ends──▶ Ending ──released──▶ Free
//	 ▲               │                 │ ▲
//	 └───refused─────┘                 └─┘ handed on to the next of this engine's queue
//
// A tenure has at most one command under way. After each message, settle compares what is wanted with
// what is under way and sends the next command: nothing is sent anywhere else. That level-triggered
// shape is what makes lost, late and doubled answers dull.
//
// That is the plain lock. What kinds of lock share (requests, holds, belief, renewal, ghosts, waiting) has a
// file each; what they differ in is a table: which commands they send, whether a grant comes with a token,
// whether each first grant is a claim with a Lock of its own, whether a tenure queues at the server while it
// is asking, where it listens.
package actor
