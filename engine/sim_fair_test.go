package engine

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// The fair lock: its queue in the server, its scripts, and what those who queue are promised.

// simFairWait is how long a waiter without a bound counts as alive.
const simFairWait = 500 * time.Millisecond

// simPlace is somebody who waits for a fair lock. A queue is never changed, only replaced: replicas share it.
type simPlace struct {
	holder simHolder
	time   int64 // until when it counts as alive, by the wall clock, which all processes share
	late   bool  // a late copy brought it, or a restart with old data: nobody may know of it
}

func placeOf(queue []simPlace, holder simHolder) int {
	return slices.IndexFunc(queue, func(p simPlace) bool { return p.holder == holder })
}

// later is a queue whose places from one on have more time, or less.
func later(queue []simPlace, from int, by int64) []simPlace {
	queue = slices.Clone(queue)
	for i := from; i < len(queue); i++ {
		queue[i].time += by
	}
	return queue
}

// queue is the fifth way in which what the server keeps changes.
func (s *simServer) queue(name int, queue []simPlace) {
	s.note(name)
	s.queues[name] = queue
}

// prune takes the dead off the head of a queue, as far as the server allows it.
func (s *simServer) prune(name int) error {
	for len(s.queues[name]) > 0 && s.queues[name][0].time <= s.wall {
		if err := s.writable(false); err != nil {
			return err
		}
		s.w.skips(name, s.queues[name][0])
		s.queue(name, s.queues[name][1:])
	}
	return nil
}

func (s *simServer) fairAcquire(name int, holder simHolder, c *actor.Command) actor.Reply {
	k, ttl, wait := s.key(name), int64(0), milliseconds(c.Wait)
	if k.exists && k.expires != simForever {
		ttl = k.expires - s.clock()
	}
	if err := s.putOff(name, holder, s.wall+ttl+wait, wait); err != nil {
		return refusedBy(err)
	}
	if err := s.prune(name); err != nil {
		return refusedBy(err)
	}
	at := placeOf(s.queues[name], holder)
	if !k.exists && (len(s.queues[name]) == 0 || at == 0) {
		reply := s.acquire(name, holder, milliseconds(c.Lease))
		if reply.Status == actor.Done && at == 0 {
			s.leave(name, holder, wait)
		}
		return reply
	}
	reply := actor.Reply{Status: actor.Taken}
	if k.exists {
		if reply = s.acquire(name, holder, milliseconds(c.Lease)); reply.Status != actor.Taken {
			return reply
		}
	}
	if at < 0 && wait != 0 {
		if err := s.writable(true); err != nil {
			return refusedBy(err)
		}
		at = s.enqueue(name, holder, ttl, wait)
	}
	if !k.exists {
		reply.TTL = ttlOf(s.queues[name][0].time - s.wall)
	}
	reply.Left = -1
	if at >= 0 {
		reply.Left = ttlOf(s.queues[name][at].time - s.wall)
	}
	return reply
}

// putOff is what a head does that asks.
func (s *simServer) putOff(name int, holder simHolder, until, wait int64) error {
	queue := s.queues[name]
	if wait == 0 || placeOf(queue, holder) != 0 {
		return nil
	}
	by := until - queue[0].time
	if by <= wait/8 {
		return nil
	}
	err := s.writable(true)
	if err == nil {
		s.queue(name, later(queue, 0, by))
	}
	return err
}

// enqueue returns which place it is.
func (s *simServer) enqueue(name int, holder simHolder, ttl, wait int64) int {
	queue, from := s.queues[name], s.wall+ttl
	last := len(queue) - 1
	if last >= 0 {
		from = max(queue[last].time, s.wall)
	}
	s.queue(name, append(slices.Clip(queue), simPlace{holder: holder, time: from + wait, late: s.w.books.late}))
	s.w.arrives(name, holder)
	return last + 1
}

func (s *simServer) fairRelease(name int, holder simHolder, c *actor.Command) actor.Reply {
	reply := s.release(name, holder)
	if reply.Status != actor.Gone {
		return reply
	}
	s.leave(name, holder, milliseconds(c.Wait))
	if !s.key(name).exists {
		s.publish(name)
	}
	return reply
}

// leave takes a place away, and what is left of its time from those behind.
func (s *simServer) leave(name int, holder simHolder, wait int64) {
	queue := s.queues[name]
	if at := placeOf(queue, holder); at >= 0 {
		unused := max(min(wait, queue[at].time-s.wall), 0)
		if s.w.bug == bugTakesTooMuch {
			unused = wait
		}
		s.queue(name, later(slices.Delete(slices.Clone(queue), at, at+1), at, -unused))
	}
}

// channelFor is where a message for a name goes: for a fair lock, to the head of its queue. It is empty
// when that has none.
func (s *simServer) channelFor(name int) (string, error) {
	n := &s.w.names[name]
	if n.kind != actor.Fair {
		return n.channel, nil
	}
	if err := s.prune(name); err != nil || len(s.queues[name]) == 0 {
		return "", err
	}
	return n.channel + ":" + s.w.holderName(s.queues[name][0].holder), nil
}

// What holds of those who queue.

// simArrival is a request that has come to stand in the queue of a fair lock.
type simArrival struct {
	ask    *simAsk
	number int // of the request: it may be used for another one since
	tenure *simTenure
	at     time.Duration
}

func (a simArrival) waits() bool { return a.ask.number == a.number && !a.ask.decided && !a.ask.left }

// arrives notes who has come, in the order in which they do.
func (w *simWorld) arrives(name int, holder simHolder) {
	w.saw(sawQueued)
	n := &w.names[name]
	n.line = slices.DeleteFunc(n.line, func(a simArrival) bool { return !a.waits() })
	if a := w.waiter(holder); a != nil && !w.books.late {
		n.line = append(n.line, simArrival{a, a.number, w.books.tenure(holder), w.now})
	}
}

// waiter is the request that a place in the queue is for, nil if there is none any more.
func (w *simWorld) waiter(holder simHolder) *simAsk {
	e := w.alive(holder.life)
	if e == nil {
		return nil
	}
	l := e.lockOf(holder)
	if l == nil {
		return nil
	}
	for _, a := range e.asks {
		if a.Tag == actor.Acquire && a.Lock() == l && !a.left {
			return a
		}
	}
	return nil
}

// skips checks that nobody loses its place who waits for as long as it takes, unless something went wrong.
func (w *simWorld) skips(name int, p simPlace) {
	w.saw(sawSkipped)
	a := w.waiter(p.holder)
	if a == nil || a.Wait != 0 || p.late || w.books.late || w.books.tenure(p.holder).unsure {
		return
	}
	if w.calmSince(a.asked-w.patience()) || w.calmSince(w.now-2*simFairWait-w.patience()) {
		w.fail("%s waits for %s, and is skipped as if it were dead", a.caller.e.name, a)
	}
}

// inOrder checks that nobody of all engines is granted a fair lock before those who came to stand in its queue
// earlier.
func (w *simWorld) inOrder(a *simAsk) {
	n := &w.names[a.name]
	if n.kind != actor.Fair || a.Owner != 0 {
		return
	}
	came := a.hold.tenure.created
	if i := slices.IndexFunc(n.line, func(other simArrival) bool { return other.ask == a && other.number == a.number }); i >= 0 {
		came = n.line[i].at
	}
	for _, earlier := range n.line {
		if earlier.at < came && earlier.ask != a && earlier.waits() && !earlier.tenure.unsure && earlier.ask.Wait == 0 && w.calmSince(earlier.ask.asked-w.patience()) {
			w.fail("%s grants %s, though %s of %s came to the queue before", a.caller.e.name, a, earlier.ask, earlier.ask.caller.e.name)
		}
	}
}

// free reports whether a name is free for somebody who is there: of a fair lock, the head of its queue
// waits in an engine that runs.
func (w *simWorld) free(name int) bool {
	if w.server.key(name).exists {
		return false
	}
	for _, p := range w.server.queues[name] {
		if p.time > w.server.clock() {
			return w.waits(p.holder)
		}
	}
	return true
}

// waits reports whether a place in the queue is somebody's who knows of it.
func (w *simWorld) waits(holder simHolder) bool {
	e := w.alive(holder.life)
	return e != nil && e.lockOf(holder) != nil
}

// lockOf finds the actor that has a tenure.
func (e *simEngine) lockOf(h simHolder) *actor.Lock {
	key := e.w.plan.names[h.name()]
	if l := e.c.locks[key]; l != nil && l.Tenure() == h.tenure && !h.reads() {
		return l
	}
	return e.c.groups[key].first(func(l *actor.Lock) bool {
		return l.Tenure() == h.tenure && (l.Kind() == actor.Read) == h.reads()
	})
}

// queued is how long it takes at most until all who stand in a queue now, and do not ask, count as dead.
func (w *simWorld) queued() (longest time.Duration) {
	for _, queue := range w.server.queues {
		if last := len(queue) - 1; last >= 0 {
			longest = max(longest, ttlOf(queue[last].time-w.server.clock())+simFairWait)
		}
	}
	return longest
}

// sweep takes places away that are nobody's by no fault of an engine.
func (w *simWorld) sweep() {
	for name, queue := range w.server.queues {
		w.server.queues[name] = slices.DeleteFunc(slices.Clone(queue), func(p simPlace) bool {
			nobodys := p.late || w.books.tenure(p.holder).forbidden
			return w.alive(p.holder.life) == nil || nobodys && !w.waits(p.holder)
		})
	}
}

// restored is a queue as a restart finds it.
func restored(queue []simPlace) []simPlace {
	queue = slices.Clone(queue)
	for i := range queue {
		queue[i].late = true
	}
	return queue
}
