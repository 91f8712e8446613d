package actor

import "time"

// quiet records what is known of other clients that want the lock and do not subscribe: engines that poll, and
// Redisson's spin locks. All of them are called spinners here. No client can see them wait, because they only try from
// time to time.
//
// An engine that finds the lock held by another holder, and knows of no subscriber, presumes that there are spinners.
// Then it takes turns with them. It stops presuming after it has twice left the lock free and found it free again. The
// first time is longer than they sleep, and the second time is soon after. Once is not enough: a spinner that acquires
// the lock again and again may be between two holds when this engine looks.
//
// A spinner sleeps for 1 ms when it finds the lock held, then twice as long each time, up to 128 ms. One that had the
// lock a moment ago tries so often that it would always be the first. One that sleeps longest would have to be lucky.
// So at the times at which the last holder tries again, this engine has the lock; between two of them the lock is free.
type quiet struct {
	presumed bool // there are presumed to be spinners
	came     bool // one of them had the lock since this engine had it last
}

const (
	// lookOut is how often an engine that polls looks for spinners if it has seen none. It is one itself, and where
	// one client polls, others probably do.
	lookOut = time.Second
	// absent is after how long without a spinner this engine leaves the lock free for longer than they sleep. If none
	// comes then either, none are presumed any more.
	absent = pollMost
	// lookAgain is the minimum duration of the second look. A spinner that was turned away when this engine got the
	// lock sleeps for about as long as this engine has had it since.
	lookAgain = 3 * time.Millisecond
)

// turns are the spinners' turns, counted from when this engine got the lock from them. In between, a spinner that was
// turned away at that time tries again. It does so after 1, 3, 7 to 8 and 15 to 20 ms, plus the time of its calls.
var turns = [...]struct{ from, until time.Duration }{
	{3500 * time.Microsecond, 7500 * time.Microsecond},
	{8500 * time.Microsecond, 16 * time.Millisecond},
}

// From lateFrom on that spinner may try at any time, as all others may. The lock is left to them except for the last
// lateOurs of every lateTurn, in which this engine finds out whether they have it.
const lateFrom, lateTurn, lateOurs = 20 * time.Millisecond, 10 * time.Millisecond, time.Millisecond

// theirs returns for how much longer the lock is left to spinners, at a time after they were turned away; 0: it is this
// engine's turn.
func theirs(after time.Duration) time.Duration {
	for _, turn := range turns {
		if after >= turn.from && after < turn.until {
			return turn.until - after
		}
	}
	if after < lateFrom {
		return 0
	}
	return max(lateTurn-lateOurs-(after-lateFrom)%lateTurn, 0)
}

// saw records that another client has the lock. If others subscribed, it is presumed to be one of them.
func (x *rare) saw() {
	q, h := &x.quiet, x.handed()
	q.presumed = q.presumed || h.left == 0 || !h.listen
	q.came = true
}

// took records that this engine has the lock.
func (x *rare) took(now time.Duration) {
	q, h := &x.quiet, x.withHandoff()
	h.left = 0
	switch {
	case q.came:
		h.since = now
	case h.looked && !h.again:
		h.again, h.tookAt, h.looked = true, now, false
		return
	case h.looked:
		q.presumed, h.clear = false, now
	}
	q.came, h.looked, h.again = false, false, false
	if h.clear == 0 {
		h.clear = now - lookOut*3/4 // the first look is sooner
	}
}

// keeps reports whether it is this engine's turn, and not that of spinners.
func (x *rare) keeps(now time.Duration) bool {
	return !x.quiet.presumed || theirs(now-x.handed().since) == 0
}

// backFor returns how long to yield. Subscribers come at once. Spinners come in their turn, or after they have slept.
func (x *rare) backFor(now time.Duration, fx *Effects) time.Duration {
	back := fx.Back()
	q, h := &x.quiet, x.withHandoff()
	switch h.listen = h.listeners > 0; {
	case h.listen:
	case h.again:
		h.looked = true
		return min((now-h.tookAt)*5/4+lookAgain, pollMost) + back
	case q.presumed && now-h.since < absent:
		return max(back, theirs(now-h.since))
	case q.presumed || fx.Config.Poll && now-h.clear >= lookOut:
		h.looked, h.clear = true, now
		return pollMost + back
	}
	return back
}

// breaksIn reports whether to ask again soon, because others have the lock only since this engine yielded. A spinner
// that has the lock acquires it again at once, and would keep it until another one is lucky.
func (x *rare) breaksIn(now time.Duration) bool {
	left := x.handed().left
	return left != 0 && now-left < pollMost
}
