package actor

import "time"

// A tenure of a kind that queues keeps its number while it waits. The number identifies its place in the fair queue,
// which the server keeps for all processes. The tenure is acquiring until it is granted or no request wants it any
// more. Then it is released like a held one. The release gives up its place and subtracts what it added to the times of
// those behind it.

// placeSlack is how much longer a place lives than its caller waits. The wait is sent in whole milliseconds, and the
// server counts from the last whole one, so up to 2 ms are lost. Without it, a caller with a wait of 5.9 ms had a place
// for 4 ms, and a later waiter was granted the lock.
const placeSlack = 2 * time.Millisecond

// queueWaitOf returns how long a place in the queue lives unless it is refreshed; 0 for a request that does not queue.
func (fx *Effects) queueWaitOf(r *Request) time.Duration {
	switch {
	case r.Once:
		return 0
	case r.Wait > 0:
		return min(r.Wait+placeSlack, fx.placeLife())
	}
	return fx.placeLife()
}

// renew records that an acquire leaves, and returns the wait that keeps the place alive. The server adds the first wait
// to the times behind the place. It records what it added, and a release subtracts that; the first wait is for a server
// that has lost the record.
func (p *fairPlace) renew(r *Request, fx *Effects) time.Duration {
	wait := fx.queueWaitOf(r)
	if p.queueWait == 0 {
		p.queueWait = wait
	}
	p.life, p.notified = fx.placeLife(), false
	return wait
}

// QueueAfter records which Lock of the same key came before, for a request that begins a new one. Waiters with equal
// waits share one timeout in the queue, so that a grant to one of them leaves the others unchanged.
func (l *Lock) QueueAfter(before *Lock, r *Request, fx *Effects) {
	if x := before.ext; l.protocol().queues && x != nil && x.fairView().queueWait != 0 && x.fair.queueWait == fx.queueWaitOf(r) {
		l.ensureExt().ensureFair().queuedAfter = before.tenure
	}
}

// noteQueued handles the reply to an acquire that was not granted, and records whether the tenure has a place now.
func (l *Lock) noteQueued(reply *Reply) {
	p := l.ensureExt().ensureFair()
	p.queued = p.queued || reply.QueueTTL > 0
}

// boundSleep bounds a sleep in the queue:
//   - If the lock is free, the head of the queue may be dead. So this engine's first waiter polls. Those behind it need
//     not, because they cannot be served before it.
//   - A waiter that does not ask at all is considered dead in the end. So each refreshes its place by asking when a
//     third of its life has elapsed, as a hold is renewed. It counts from when the acquire was sent, took ago.
//   - The place of a waiter with a shorter wait lives for all of that wait.
func (x *ext) boundSleep(sleep, took time.Duration, reply *Reply, fx *Effects) time.Duration {
	free := reply.Holder == ""
	p := x.ensureFair()
	if p.notHead = free && reply.NotHead; free && !p.notHead {
		sleep = min(sleep, fx.jitter(noTTLPoll))
	}
	if reply.QueueTTL > 0 {
		sleep = min(sleep, max(min(reply.QueueTTL/2, p.life/3)-max(took-minRetry, 0), minRetry))
	}
	return sleep
}

// becomeHead handles that no waiter of this engine is ahead any more: this one polls from now on. It also polls if a
// waiter of this engine behind it was told that the lock is free.
func (l *Lock) becomeHead(now time.Duration, free bool, fx *Effects) {
	if x := l.ext; x != nil && (x.fairView().notHead || free) {
		if x.fair != nil {
			x.fair.notHead = false
		}
		x.nextTry = min(x.nextTry, now+fx.jitter(noTTLPoll))
	}
}

// IsQueued reports whether the lock waits and has a place in the fair queue, as far as is known.
func (l *Lock) IsQueued() bool {
	return l.phase == acquiring && !l.queue.empty() && l.ext != nil && l.ext.fairView().queued
}

// leaveQueue ends a tenure that no request wants any more. One that has a place in the queue, or may have, is released.
func (l *Lock) leaveQueue(now time.Duration, fx *Effects) {
	x := l.ext
	if x == nil || !x.fairView().queued && (!l.protocol().queues || !x.acquireUnacked) {
		l.endTenure(now, fx)
		return
	}
	fx.AcquiringLocks--
	fx.HeldLocks++
	l.validUntil = now + max(fx.Config.CallTimeout, x.fairView().life) // for the release only: others wait for the place as long as it lives
	l.startRelease(fx)
}
