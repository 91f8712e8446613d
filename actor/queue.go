package actor

import "time"

// A tenure of a kind that queues keeps its number while it waits. The number identifies its place in the fair queue,
// which the server keeps for all processes. The tenure is asking until it is granted or no request wants it any more.
// Then it is released like a held one. The release gives up its place and subtracts what it added to the times of those
// behind it.

// placeGrain is how much longer a place lives than its caller waits. The wait is sent in whole milliseconds, and the
// server counts from the last whole one, so up to 2 ms are lost. Without it, a caller with a wait of 5.9 ms had a place
// for 4 ms, and a later waiter was granted the lock.
const placeGrain = 2 * time.Millisecond

// waitOf returns how long a place in the queue lives unless it is refreshed; 0 for a request that does not queue.
func (fx *Effects) waitOf(r *Request) time.Duration {
	switch {
	case r.Once:
		return 0
	case r.Wait > 0:
		return min(r.Wait+placeGrain, fx.Config.FairWait)
	}
	return fx.Config.FairWait
}

// keep fixes the wait with which a tenure queues: the release must subtract what the acquire added.
func (p *place) keep(wait time.Duration) time.Duration {
	if p.wait == 0 {
		p.wait = wait
	}
	return p.wait
}

// Follow records which Lock of the same key came before, for a request that begins a new one. Waiters with equal waits
// share one timeout in the queue, so that a grant to one of them leaves the others unchanged.
func (l *Lock) Follow(before *Lock, r *Request, fx *Effects) {
	if x := before.rare; l.protocol().queues && x != nil && x.placed().wait != 0 && x.place.wait == fx.waitOf(r) {
		l.withRare().withPlace().behind = before.tenure
	}
}

// stays handles the reply to an acquire that was not granted, and records whether the tenure has a place now.
func (l *Lock) stays(reply *Reply) {
	p := l.withRare().withPlace()
	p.queued = p.queued || reply.Left > 0
}

// turnIn bounds a sleep in the queue:
//   - If the lock is free, the head of the queue may be dead. So this engine's first waiter polls. Those behind it need
//     not, because they cannot be served before it.
//   - A waiter that does not ask at all is considered dead in the end. So each refreshes its place by asking when a
//     third of FairWait has elapsed, as a hold is renewed.
//   - The place of a waiter with a shorter wait lives for all of that wait.
func (x *rare) turnIn(sleep time.Duration, reply *Reply, fx *Effects) time.Duration {
	free := reply.Holder == ""
	p := x.withPlace()
	if p.passive = free && reply.Preceded; free && !p.passive {
		sleep = min(sleep, fx.jitter(pollKept))
	}
	if reply.Left > 0 {
		sleep = min(sleep, max(min(reply.Left/2, fx.Config.FairWait/3), tryFloor))
	}
	return sleep
}

// foremost handles that no waiter of this engine is ahead any more: this one polls from now on. It also polls if a
// waiter of this engine behind it was told that the lock is free.
func (l *Lock) foremost(now time.Duration, free bool, fx *Effects) {
	if x := l.rare; x != nil && (x.placed().passive || free) {
		if x.place != nil {
			x.place.passive = false
		}
		x.askAt = min(x.askAt, now+fx.jitter(pollKept))
	}
}

// Queues reports whether the lock waits and has a place in the fair queue, as far as is known.
func (l *Lock) Queues() bool {
	return l.phase == asking && !l.queue.empty() && l.rare != nil && l.rare.placed().queued
}

// stopAsking ends a tenure that no request wants any more. One that has a place in the queue, or may have, is released.
func (l *Lock) stopAsking(now time.Duration, fx *Effects) {
	x := l.rare
	if x == nil || !x.placed().queued && (!l.protocol().queues || !x.acquiring) {
		l.endTenure(now, fx)
		return
	}
	fx.Asking--
	fx.Tenures++
	l.until = now + fx.Config.Timeout // for the release only
	l.end(fx)
}
