// Package wheel is a timing wheel for programs that set a great many timeouts and cancel most of them, such as a client
// that gives each request a deadline. It behaves as Netty's HashedWheelTimer does, but it is a plain value: it has no
// goroutine, no clock and no lock. One goroutine owns it, tells it the time, and is told when to come back.
//
//	for {
//		if at, ok := w.Next(); ok {
//			wait for mail, but no longer than until at
//		} else {
//			wait for mail
//		}
//		w.Advance(now(), fire)
//	}
//
// # Ticks and accuracy
//
// Time is cut into ticks of one length, chosen in [New]. All timers of one tick fire together, at the tick's end, so a
// timer is never early, and late by less than one tick plus whatever its owner is late with [Wheel.Advance]. Ticks are
// fired in their order; within one tick the order is not promised. A timer set for the past fires at the next Advance.
// A tick of 1 to 10 milliseconds suits timeouts in a network; it need not be exact there, since almost none comes to pass.
//
// Times are durations since an epoch of the owner's choice. They must come from a clock that never goes back, such as
// time.Since of a moment that was kept; everything before the epoch counts as the epoch itself.
//
// # Cost
//
// A [Timer] is its own list node, so nothing is ever allocated beyond it and the wheel itself, which has about 1800
// slots of the size of one Timer and another 8 bytes each. Schedule and Cancel take the same few writes however many
// timers there are, and a cancelled timer is gone at once. A timer far ahead is sorted into finer slots as it comes
// nearer: with ticks of 5 ms not at all if it is due within a second, once within a minute, three times within days.
// [Wheel.Advance] jumps over time in which nothing is due.
//
// An owner that sleeps until [Wheel.Next] never wakes for a tick, or for that sorting, but for timers: an empty wheel
// lets it sleep for ever, and as long as none is cancelled each waking fires one at least. A cancelled timer causes at
// most one waking that fires nothing, and none if it was alone in its slot.
//
// # When not to use it
//
// Not for work that must happen at an exact moment, or in the exact order of its deadlines within a tick: a heap does
// that. Not for a handful of timers: time.AfterFunc is simpler, and needs no owner. Not for callbacks that take long:
// they run one after another on the owner's goroutine, and all that is due behind them is late. Not from several
// goroutines: send the owner a message.
package wheel
