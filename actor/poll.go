package actor

import "time"

// pollFirst and pollMost bound how long a lock that is polled is left alone between two tries: twice as long
// each time, as Redisson's spin lock does it. pollKeen is the least bound for one whose turn others have again and
// again.
const pollFirst, pollKeen, pollMost = time.Millisecond, 4 * time.Millisecond, 128 * time.Millisecond

// pollFew is of how many locks at most some may be asked for without a pause.
const pollFew = 8

// nextPoll is how long to sleep when nobody listens by choice. Very many waiters ask less often, so that they
// do not keep the server from everything else.
func (x *rare) nextPoll(now time.Duration, holder string, fx *Effects) time.Duration {
	p := x.withPolling(now)
	p.sleep = min(max(2*p.sleep, pollFirst), x.pollBound(now, holder))
	if x.quiet.presumed && x.breaksIn(now) && fx.Unheard < pollFew {
		return 0 // there is no other moment at which it would rather be free
	}
	return fx.jitter(max(p.sleep, time.Duration(fx.Unheard)*pollEach) / 2)
}

// polls begins a wait.
func (x *rare) polls(now time.Duration) {
	if x.polling != nil {
		*x.polling = polling{passedAt: now}
	}
}

// pollBound bounds the sleep between two tries. A lock that is somebody else's than at the last try was free in
// between: each time that happens it is halved, at most as often as an engine that hands the lock on releases it. While
// one has it for long, asking more often would find nothing.
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

// hashOf is FNV-1a, and never 0.
func hashOf(text string) uint32 {
	hash := uint32(2166136261)
	for i := range len(text) {
		hash = (hash ^ uint32(text[i])) * 16777619
	}
	return max(hash, 1)
}

// poll notes whether the lock is waited for without listening.
func (l *Lock) poll(fx *Effects) {
	waits := !l.queue.empty() && l.rare.answered && (l.phase == free || l.phase == asking)
	l.rare.setUnheard(waits, fx)
}
