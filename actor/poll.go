package actor

import "time"

// pollFirst and pollMost bound the time between two tries for a lock that is polled. It doubles each time, as with
// Redisson's spin lock. pollKeen is the lowest upper bound, for a waiter that others overtake again and again.
const pollFirst, pollKeen, pollMost = time.Millisecond, 4 * time.Millisecond, 128 * time.Millisecond

// pollFew is the maximum number of waiting locks with which a lock may be polled without a pause.
const pollFew = 8

// nextPoll returns how long to sleep with Config.Poll. With very many waiters each asks less often, so that they do not
// overload the server.
func (x *rare) nextPoll(now time.Duration, holder string, fx *Effects) time.Duration {
	p := x.withPolling(now)
	p.sleep = min(max(2*p.sleep, pollFirst), x.pollBound(now, holder))
	if x.quiet.presumed && x.breaksIn(now) && fx.Unheard < pollFew {
		return 0 // there is no better time to find it free
	}
	return fx.jitter(max(p.sleep, time.Duration(fx.Unheard)*pollEach) / 2)
}

// polls begins a new wait.
func (x *rare) polls(now time.Duration) {
	if x.polling != nil {
		*x.polling = polling{passedAt: now}
	}
}

// pollBound returns the upper bound of the sleep between two tries. If another holder has the lock than at the last
// try, it was free in between. Each time that happens the bound is halved, at most as often as an engine that hands off
// releases the lock. While one holder keeps the lock for long, asking more often would find nothing.
func (x *rare) pollBound(now time.Duration, holder string) time.Duration {
	p, hash := x.withPolling(now), hashOf(holder)
	switch other := p.holder != 0 && p.holder != hash; {
	case now-p.passedAt >= 4*pollMost && !other:
		p.passed, p.passedAt = 0, now
	case other && now-p.passedAt >= keepAtMost*3/4:
		p.passed, p.passedAt = min(p.passed+1, 7), now
	}
	p.holder = hash
	if x.breaksIn(now) {
		return pollFirst
	}
	return max(pollMost>>p.passed, pollKeen)
}

// hashOf returns the FNV-1a hash, and never 0.
func hashOf(text string) uint32 {
	hash := uint32(2166136261)
	for i := range len(text) {
		hash = (hash ^ uint32(text[i])) * 16777619
	}
	return max(hash, 1)
}

// poll records whether requests wait for the lock without a subscription.
func (l *Lock) poll(fx *Effects) {
	waits := !l.queue.empty() && l.rare.answered && (l.phase == free || l.phase == asking)
	l.rare.setUnheard(waits, fx)
}
