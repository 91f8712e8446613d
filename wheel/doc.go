// Package wheel implements a hierarchical timing wheel. It is for programs that set many timeouts and cancel most of
// them, such as a client that gives each request a deadline. It behaves as Netty's HashedWheelTimer does, but it is a
// plain value: it has no goroutine, no clock and no lock. One goroutine owns the wheel and passes the time to it. The
// wheel returns when the owner has to call it again:
//
//	for {
//		if at, ok := w.Next(); ok {
//			wait for messages, but no longer than until at
//		} else {
//			wait for messages
//		}
//		w.Advance(now(), fire)
//	}
//
// # Ticks and accuracy
//
// [New] sets the length of a tick. All timers of one tick fire together, at the end of the tick. So a timer is never
// early, and it is late by less than one tick plus the delay of the owner's call of [Wheel.Advance]. Ticks fire in
// order; the order within one tick is not defined. A timer set for the past fires at the next Advance. A tick of 1 to
// 10 milliseconds suits network timeouts: they need not be exact, since almost all of them are canceled.
//
// Times are durations since an epoch that the owner chooses. They must come from a clock that never goes back, such as
// time.Since of a stored moment. A time before the epoch counts as the epoch.
//
// # Cost
//
// A [Timer] is its own list node, so the wheel allocates nothing after New. A wheel has about 1800 slots, each of the
// size of one Timer plus 8 bytes. Schedule and Cancel do the same few writes however many timers there are, and a
// canceled timer is unlinked at once. A timer far ahead moves to finer slots as it comes nearer. With ticks of 5 ms it
// does not move if it is due within a second. It moves once within a minute, and three times within days.
// [Wheel.Advance] jumps over time in which nothing is due.
//
// An owner that sleeps until [Wheel.Next] wakes for timers only, never for ticks or for moves between slots. With an
// empty wheel it sleeps without a limit. As long as no timer is canceled, each wakeup fires at least one. A canceled
// timer causes at most one wakeup that fires nothing, and none if it was alone in its slot.
//
// # When not to use it
//
//   - For work that must happen at an exact moment, or in the order of deadlines within a tick, use a heap.
//   - For a few timers, use time.AfterFunc, which is simpler and needs no owner.
//   - Callbacks must be short: they run one after another on the owner's goroutine and delay all timers behind them.
//   - A wheel is not safe for several goroutines: they send messages to its owner instead.
//
// This package is not part of lockwheel's API: any version may change it. See docs/versions.md.
package wheel
