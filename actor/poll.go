package actor

import "time"

// minPoll and maxPoll bound the time between two tries for a lock that is polled. It doubles each time, as with
// Redisson's spin lock. contendedPoll is the lowest upper bound, for a waiter that others overtake again and again.
const minPoll, contendedPoll, maxPoll = time.Millisecond, 4 * time.Millisecond, 128 * time.Millisecond

// maxUnpausedPolls is the maximum number of waiting locks with which a lock may be polled without a pause.
const maxUnpausedPolls = 8

// nextPollDelay returns how long to sleep with Config.Poll, or before a foreign lock is tried again. With very many
// waiters each asks less often, so that they do not overload the server.
func (x *ext) nextPollDelay(now time.Duration, reply *Reply, fx *Effects) time.Duration {
	p := x.ensurePolling(now)
	p.lastSleep = NextBackoff(p.lastSleep, minPoll, x.maxPollDelay(now, reply))
	if x.spinners.presumed && x.regainsSoon(now) && fx.PolledLocks < maxUnpausedPolls {
		return 0 // there is no better time to find it free
	}
	return fx.jitter(max(p.lastSleep, time.Duration(fx.PolledLocks)*noPubSubPollSpread) / 2)
}

// resetPolling begins a new wait.
func (x *ext) resetPolling(now time.Duration) {
	if x.polling != nil {
		*x.polling = polling{takeoverAt: now}
	}
}

// maxPollDelay returns the upper bound of the sleep between two tries. If another holder has the lock than at the last
// try, it was free in between. Each time that happens the bound is halved, at most as often as an engine that hands off
// releases the lock. While one holder keeps the lock for long, asking more often would find nothing.
func (x *ext) maxPollDelay(now time.Duration, reply *Reply) time.Duration {
	p, hash := x.ensurePolling(now), hashOf(reply.otherHolder())
	other := p.holderHash != 0 && p.holderHash != hash
	if reply.Foreign && p.foreignMoved(now, reply.TTL) {
		other = true
	}
	switch {
	case now-p.takeoverAt >= 4*maxPoll && !other:
		p.takeovers, p.takeoverAt = 0, now
	case other && now-p.takeoverAt >= pollerHandoffTime*3/4:
		p.takeovers, p.takeoverAt = min(p.takeovers+1, 7), now
	}
	p.holderHash = hash
	if x.regainsSoon(now) {
		return minPoll
	}
	return max(maxPoll>>p.takeovers, contendedPoll)
}

// hashOf returns the FNV-1a hash, and never 0.
func hashOf(text string) uint32 {
	hash := uint32(2166136261)
	for i := range len(text) {
		hash = (hash ^ uint32(text[i])) * 16777619
	}
	return max(hash, 1)
}

// updatePolling records whether requests wait for the lock without a subscription, or for a foreign lock.
func (l *Lock) updatePolling(fx *Effects) {
	x := l.ext
	if !fx.Config.Poll && !x.foreign && !x.pollsForeign {
		return
	}
	waits := !l.queue.empty() && x.knownHeld && (l.phase == free || l.phase == acquiring)
	x.foreign = x.foreign && waits
	unsubscribed := x.pollsUnsubscribed
	if fx.Config.Poll {
		unsubscribed = waits
	}
	x.setPolled(unsubscribed, x.foreign, fx)
}
