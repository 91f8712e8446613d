package engine

import (
	"runtime"
	"time"
)

const (
	// longYield is the longest yield without a pause after it. A goroutine that computes keeps its processor for 10 ms;
	// those of callers that post and wait take some microseconds each.
	longYield = 10 * time.Millisecond
	// yieldPause is the pause after a longer yield, in multiples of it: the loop spends at most 6 % of its time on these.
	yieldPause = 16
	// busyYieldPause is that while turns leave work. Go stops the loop after 10 ms then, and it waits as long.
	busyYieldPause = 1
	// maxGathers is how often the loop yields to the callers of few results, at most. They are few if they are no more
	// than fewResults, and no more than fewBundles are in flight. One yield is enough for many, and more would leave the
	// server without work: with 64 callers there would be 0.9 times as many pairs.
	maxGathers = 4
	fewResults = 16
	fewBundles = 2
	// gatherTime is how long the loop goes on to yield to them: callers may not come back, and other goroutines may
	// compute.
	gatherTime = 50 * time.Microsecond
	// callsPerYield is the number of asynchronous calls after which the next caller yields.
	callsPerYield = 64
)

// yieldToLoop lets other goroutines run before its caller posts more asynchronous calls or cancellations. A goroutine
// that posts very many of them without a pause would keep its processor for 10 ms at a time. With few processors the
// loop, and the goroutines that read and write for it, would wait that long at each of their steps.
func yieldToLoop() { runtime.Gosched() }

// yieldBetweenTurns yields to other runnable goroutines in two cases. It runs once a turn and waits for nothing. A lone
// caller never pays for it.
//   - At least two bundles are in flight. The server has work then, and messages that arrive together share a turn and
//     make larger batches.
//   - The turn before has left work. Go would let the loop run for 10 ms then, while the goroutines that read and write
//     for it wait for a processor, and would stop it within a turn.
//
// Go resumes the loop after all goroutines that are runnable. If these compute, that takes 10 ms for each of them, and
// the loop has some turns a second. Those are too few to renew very many locks, because a turn renews a bounded number.
// So after such a yield the loop does without for a while.
//
// Measured: with 2048 callers a turn handles 45 messages instead of 1.5, and a pair costs 4.4 µs of processor time
// instead of 5.2 µs.
func (e *Engine) yieldBetweenTurns() {
	if e.coordinator.InFlightBundles() < 2 && !e.workLeft {
		return
	}
	began := e.Now()
	if e.yieldPaused(began) {
		return
	}
	runtime.Gosched()
	e.noteYield(began, e.Now())
}

// gather yields to the callers of a turn that gave at least two requests their results, until as many messages have
// come. Their next requests share a turn then. While one lock is handed off from caller to caller these are an unlock
// and a lock: a pair needs one turn instead of two. The loop does not sleep meanwhile, so none of them has to wake it.
// began is the end of the turn, and gather returns the time at which it ends itself.
//
// Measured, to a yield after the sleep: with 16 callers 1.08 times as many pairs, with 64 of one name 1.15 times as
// many, for 0.89 and 0.86 of the processor time.
func (e *Engine) gather(began time.Duration) (ended time.Duration) {
	if ended = began; e.woken < 2 || e.yieldPaused(began) {
		return ended
	}
	for yields := 1; ; yields++ {
		runtime.Gosched()
		if ended = e.Now(); e.gathered(yields, ended-began) {
			break
		}
	}
	e.noteYield(began, ended)
	return ended
}

// gathered reports whether gather ends after that many yields, which took so long.
func (e *Engine) gathered(yields int, took time.Duration) bool {
	few := e.woken <= fewResults && e.coordinator.InFlightBundles() <= fewBundles
	return !few || yields >= maxGathers || took > gatherTime || e.box.Has(e.woken)
}

// yieldPaused reports whether the loop still does without yields after a long one.
func (e *Engine) yieldPaused(now time.Duration) bool {
	pause := e.longYieldTook * yieldPause
	if e.workLeft {
		pause = e.longYieldTook * busyYieldPause
	}
	return now < e.longYieldEnded+pause
}

// noteYield records how long a yield took.
func (e *Engine) noteYield(began, ended time.Duration) {
	if took := ended - began; took > longYield {
		e.longYieldEnded, e.longYieldTook = ended, took
	}
}
