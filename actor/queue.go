package actor

import "time"

// A tenure of a kind that queues keeps its number while it waits: that is its place in the queue that the
// server keeps for all processes. It is asking until it is granted, or until nobody wants it any more; then
// it is released like one that is held, which gives its place up and takes back what it added to the times
// of those behind.

// placeGrain is what a place lives longer than its caller waits: the wait is sent in whole milliseconds, and the server
// counts whole ones from the last that was over. A caller with a wait of 5.9 ms had a place for 4 ms, and who came after
// it was granted the lock.
const placeGrain = 2 * time.Millisecond

// waitOf is for how long a place in the queue lives unless it is kept up; 0 is for one who does not queue.
func (fx *Effects) waitOf(r *Request) time.Duration {
	switch {
	case r.Once:
		return 0
	case r.Wait > 0:
		return min(r.Wait+placeGrain, fx.Config.FairWait)
	}
	return fx.Config.FairWait
}

// keep keeps the wait with which a tenure queues: what is taken back is what was added.
func (p *place) keep(wait time.Duration) time.Duration {
	if p.wait == 0 {
		p.wait = wait
	}
	return p.wait
}

// Follow takes in which claim on the same name came before, for a request that begins one. Those who wait
// equally long share a time in the queue, so that a grant to one of them leaves all others as they are.
func (l *Lock) Follow(before *Lock, r *Request, fx *Effects) {
	if x := before.rare; l.protocol().queues && x != nil && x.placed().wait != 0 && x.place.wait == fx.waitOf(r) {
		l.withRare().withPlace().behind = before.tenure
	}
}

// stays takes in that a tenure was not granted, and whether it has a place now.
func (l *Lock) stays(reply *Reply) {
	p := l.withRare().withPlace()
	p.queued = p.queued || reply.Left > 0
}

// turnIn bounds a sleep in the queue. A lock that is free belongs to somebody who may be dead: the foremost of this
// engine asks often, because nobody behind can be served before it. Whoever does not ask at all counts as dead in the
// end: each keeps its place up by asking when a third of FairWait is over, as a hold is renewed. One with a shorter wait
// has a place that lives for all of it.
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

// foremost takes in that whoever of this engine stood before it has gone: now it is the one that asks often. So it is
// when somebody of this engine behind it was told that the lock is free.
func (l *Lock) foremost(now time.Duration, free bool, fx *Effects) {
	if x := l.rare; x != nil && (x.placed().passive || free) {
		if x.place != nil {
			x.place.passive = false
		}
		x.askAt = min(x.askAt, now+fx.jitter(pollKept))
	}
}

// Queues reports whether it waits and has a place in the queue, as far as is known.
func (l *Lock) Queues() bool {
	return l.phase == asking && !l.queue.empty() && l.rare != nil && l.rare.placed().queued
}

// stopAsking ends a tenure that nobody wants any more. One that has a place, or may have, gives it up.
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
