package actor

import "time"

// pollFirst and pollMost bound how long a lock that is polled is left alone between two tries: twice as long
// each time, as Redisson's spin lock does it.
const pollFirst, pollMost = time.Millisecond, 128 * time.Millisecond

// nextPoll is how long to sleep when nobody listens by choice. Very many waiters ask less often, so that they
// do not keep the server from everything else.
func (x *rare) nextPoll(fx *Effects) time.Duration {
	x.poll = min(max(2*x.poll, pollFirst), pollMost)
	return fx.jitter(max(x.poll, time.Duration(fx.Unheard)*pollEach) / 2)
}

// poll notes whether the lock is waited for without listening.
func (l *Lock) poll(fx *Effects) {
	waits := !l.queue.empty() && l.rare.answered && (l.phase == free || l.phase == asking)
	l.rare.setUnheard(waits, fx)
}
