package actor

import "time"

// quiet is what is known of others who want the lock and do not listen: engines that poll, and Redisson's spin locks.
// Nobody sees them wait. They come by at times, and find the lock free or not. So an engine that was told that another
// has the lock, and knows of none who listens, presumes that there are such others, until it has left the lock free once for
// longer than they sleep, and once more soon after, and they did not come. As long as it does, it takes turns with them. Once
// is not enough: one that came takes the lock again and again, and a look that ends between two of its holds finds it free.
//
// A spinner sleeps for 1 ms when it finds the lock taken, then for twice as long each time, and for 128 ms in the end. One
// that had the lock a moment ago comes by so often that it would always be the first, and one that sleeps longest has to
// be lucky. So while the last that had it comes by the lock is this engine's, and between two such moments it is free.
type quiet struct {
	presumed bool // that there are such others
	came     bool // one of them had the lock since this engine had it last
}

const (
	// lookOut is how often an engine that polls looks for others that do, if it has seen none: it is one of them, and
	// where it is, they are.
	lookOut = time.Second
	// absent is for how long they do not come until this engine leaves the lock free for longer than they sleep: if they do
	// not come then either, none are presumed any more.
	absent = pollMost
	// lookAgain is how long the second look lasts at least. Who was turned away when this engine got the lock sleeps for about as
	// long as it has had it since.
	lookAgain = 3 * time.Millisecond
)

// turns are when, after this engine got the lock from others, it is theirs. In between, a spinner that was turned away at
// that moment comes by again: after 1, 3, 7 to 8 and 15 to 20 ms, and as long as its calls take.
var turns = [...]struct{ from, until time.Duration }{
	{3500 * time.Microsecond, 7500 * time.Microsecond},
	{8500 * time.Microsecond, 16 * time.Millisecond},
}

// Later it may come at any time, as all others may. The lock is theirs but for a moment in which this engine finds out
// whether they have it: from lateFrom on, every lateTurn, the last lateOurs.
const lateFrom, lateTurn, lateOurs = 20 * time.Millisecond, 10 * time.Millisecond, time.Millisecond

// theirs is for how long the lock is others', so long after they were turned away; 0: it is this engine's.
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

// saw takes in that another has the lock. If somebody listened, it is that one.
func (x *rare) saw() {
	q, h := &x.quiet, x.handed()
	q.presumed = q.presumed || h.left == 0 || !h.listen
	q.came = true
}

// took takes in that this engine has it.
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
		h.clear = now - lookOut*3/4 // the first time sooner
	}
}

// keeps reports whether it is this engine's turn beside others who do not listen.
func (x *rare) keeps(now time.Duration) bool {
	return !x.quiet.presumed || theirs(now-x.handed().since) == 0
}

// backFor is how long to step back. Those who listen come at once. Others come in their turn, or once they have slept.
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

// breaksIn reports whether to ask again soon: others have the lock because this engine let them. A spinner that has it takes
// it again at once, and would have it until another one is lucky.
func (x *rare) breaksIn(now time.Duration) bool {
	left := x.handed().left
	return left != 0 && now-left < pollMost
}
