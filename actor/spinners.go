package actor

import "time"

// spinnerState records what is known of other clients that want the lock and do not subscribe: engines that poll, and
// Redisson's spin locks. All of them are called spinners here. No client can see them wait, because they only try from
// time to time. The zero value presumes none. Owned by the coordinator.
//
// An engine that finds the lock held by another holder, and knows of no subscriber, presumes that there are spinners.
// Then it takes turns with them. It stops presuming after it has twice left the lock free and found it free again. The
// first time is longer than they sleep, and the second time is soon after. Once is not enough: a spinner that acquires
// the lock again and again may be between two holds when this engine looks.
//
// A spinner sleeps for 1 ms when it finds the lock held, then twice as long each time, up to 128 ms. The spinner that
// had the lock last tries at known times after this engine got the lock. Every other spinner would lose against it. So
// at those times this engine has the lock, and between them it leaves the lock free, for the others (spinnerWindows, in
// ms):
//
//	0         3.5      7.5   8.5      16      20       29    30       39    40  ms since this engine got the lock
//	├── own ──┼─ free ─┼ own ┼─ free ─┼─ own ─┼─ free ─┼ own ┼─ free ─┼ own ┼─▶
//	   ▲   ▲              ▲              ▲
//	   1   3           7 to 8         15 to 20          the last holder tries again
type spinnerState struct {
	presumed bool // there are presumed to be spinners
	acquired bool // one of them had the lock since this engine had it last
}

const (
	// spinnerProbeInterval is how often an engine looks for spinners that it has not seen. One that polls does so because
	// where one client polls, others probably do; one with Config.Foreign because all clients of these libraries poll.
	spinnerProbeInterval = time.Second
	// spinnerIdle is after how long without a spinner this engine leaves the lock free for longer than they sleep. If none
	// comes then either, none are presumed any more.
	spinnerIdle = maxPoll
	// secondProbeMin is the minimum duration of the second look. A spinner that was turned away when this engine got the
	// lock sleeps for about as long as this engine has had it since.
	secondProbeMin = 3 * time.Millisecond
)

// spinnerWindows are the spinners' turns, counted from when this engine got the lock from them. In between, a spinner
// that was turned away at that time tries again. It does so after 1, 3, 7 to 8 and 15 to 20 ms, plus the time of its
// calls.
var spinnerWindows = [...]struct{ from, until time.Duration }{
	{3500 * time.Microsecond, 7500 * time.Microsecond},
	{8500 * time.Microsecond, 16 * time.Millisecond},
}

// lateWindowsFrom is when the windows of that spinner end: from then on it may try at any time, as all others may. The
// lock is left to them except for the last lateWindowOwn of every lateWindowPeriod, in which this engine finds out
// whether they have it.
const lateWindowsFrom, lateWindowPeriod, lateWindowOwn = 20 * time.Millisecond, 10 * time.Millisecond, time.Millisecond

// spinnerWindowLeft returns for how much longer the lock is left to spinners, at a time after they were turned away. 0
// says that it is this engine's turn.
func spinnerWindowLeft(after time.Duration) time.Duration {
	for _, window := range spinnerWindows {
		if after >= window.from && after < window.until {
			return window.until - after
		}
	}
	if after < lateWindowsFrom {
		return 0
	}
	return max(lateWindowPeriod-lateWindowOwn-(after-lateWindowsFrom)%lateWindowPeriod, 0)
}

// noteOtherHolder records that another client has the lock. If others subscribed, it is presumed to be one of them.
func (x *ext) noteOtherHolder() {
	q, h := &x.spinners, x.handoffView()
	q.presumed = q.presumed || h.yieldedAt == 0 || !h.listenedLast
	q.acquired = true
}

// noteAcquired records that this engine has the lock.
func (x *ext) noteAcquired(now time.Duration) {
	q, h := &x.spinners, x.ensureHandoff()
	h.yieldedAt = 0
	switch {
	case q.acquired:
		h.regainedAt = now
	case h.probed && !h.probeAgain:
		h.probeAgain, h.foundFreeAt, h.probed = true, now, false
		return
	case h.probed:
		q.presumed, h.noSpinnersAt = false, now
	}
	q.acquired, h.probed, h.probeAgain = false, false, false
	if h.noSpinnersAt == 0 {
		h.noSpinnersAt = now - spinnerProbeInterval*3/4 // the first look is sooner
	}
}

// inOwnWindow reports whether it is this engine's turn, and not that of spinners.
func (x *ext) inOwnWindow(now time.Duration) bool {
	return !x.spinners.presumed || spinnerWindowLeft(now-x.handoffView().regainedAt) == 0
}

// yieldFor returns how long to yield. Subscribers come at once. Spinners come in their turn, or after they have slept.
func (x *ext) yieldFor(now time.Duration, fx *Effects) time.Duration {
	back := fx.YieldTime()
	q, h := &x.spinners, x.ensureHandoff()
	switch h.listenedLast = h.otherListeners > 0; {
	case h.listenedLast:
	case h.probeAgain:
		h.probed = true
		return min((now-h.foundFreeAt)*5/4+secondProbeMin, maxPoll) + back
	case q.presumed && now-h.regainedAt < spinnerIdle:
		return max(back, spinnerWindowLeft(now-h.regainedAt))
	case q.presumed || (fx.Config.Poll || fx.Config.Foreign) && now-h.noSpinnersAt >= spinnerProbeInterval:
		h.probed, h.noSpinnersAt = true, now
		return maxPoll + back
	}
	return back
}

// regainsSoon reports whether to ask again soon, because others have the lock only since this engine yielded. A spinner
// that has the lock acquires it again at once, and would keep it until another one is lucky.
func (x *ext) regainsSoon(now time.Duration) bool {
	left := x.handoffView().yieldedAt
	return left != 0 && now-left < maxPoll
}
