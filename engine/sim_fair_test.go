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
	s.w.inLine(name, queue)
	s.queues[name] = queue
}

// prune takes the dead off the head of a queue, as far as the server allows it. Whoever asks is alive.
func (s *simServer) prune(name int, asks simHolder) error {
	for len(s.queues[name]) > 0 && s.queues[name][0].time <= s.wall && s.queues[name][0].holder != asks {
		if err := s.writable(false); err != nil {
			return err
		}
		s.w.skips(name, s.queues[name][0])
		s.queue(name, s.queues[name][1:])
	}
	return nil
}

func (s *simServer) fairAcquire(name int, holder simHolder, c *actor.Command) actor.Reply {
	k, ttl, wait := s.key(name), s.left(s.key(name)), milliseconds(c.Wait)
	if err := s.prune(name, holder); err != nil {
		return refusedBy(err)
	}
	at := placeOf(s.queues[name], holder)
	if err := s.putOff(name, at, ttl, wait); err != nil {
		return refusedBy(err)
	}
	if err := s.outlive(name, at, wait); err != nil {
		return refusedBy(err)
	}
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
		at = s.enqueue(name, holder, ttl, c)
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
func (s *simServer) putOff(name, at int, ttl, wait int64) error {
	if at != 0 || wait == 0 {
		return nil
	}
	by := s.wall + max(ttl, 0) + wait - s.queues[name][0].time
	if by <= wait/8 {
		return nil
	}
	err := s.writable(true)
	if err == nil {
		s.queue(name, later(s.queues[name], 0, by))
	}
	return err
}

// outlive is what somebody does that asks and would die with the head, whose time it shares.
func (s *simServer) outlive(name, at int, wait int64) error {
	if at <= 0 || wait == 0 || s.w.bug == bugDiesTogether || 4*(s.queues[name][at].time-s.wall) > wait {
		return nil
	}
	err := s.writable(true)
	if err == nil {
		s.w.saw(sawOutlived)
		s.queue(name, later(s.queues[name], 1, wait))
	}
	return err
}

// enqueue returns which place it is. Right behind the one of its engine that it names, it shares that one's time
// if that is enough for it.
func (s *simServer) enqueue(name int, holder simHolder, ttl int64, c *actor.Command) int {
	queue, wait := s.queues[name], milliseconds(c.Wait)
	last, shares := len(queue)-1, false
	if last >= 0 {
		ttl = max(queue[last].time-s.wall, 0)
		shares = c.Behind != 0 && queue[last].holder == holderOf(int(holder.life), name, false, c.Behind) && ttl >= wait
	}
	if shares {
		s.w.saw(sawShared)
	} else {
		ttl += wait
	}
	s.queue(name, append(slices.Clip(queue), simPlace{holder: holder, time: s.wall + ttl, late: s.w.books.late}))
	s.w.arrives(name, holder)
	return last + 1
}

// simGoing is a tenure that a call releases: it held the lock, or has its place taken away at the end of the call.
type simGoing struct {
	name   int
	holder simHolder
	wait   int64 // that it added
	status actor.Status
}

func (s *simServer) fairRelease(name int, holder simHolder, c *actor.Command) actor.Reply {
	reply := s.drop(name, holder)
	s.going = append(s.going, simGoing{name, holder, milliseconds(c.Wait), reply.Status})
	return reply
}

// leaveQueues is the end of a call that releases fair locks: all who stand in a queue leave it, and then the one
// whose turn it is is told, once.
func (s *simServer) leaveQueues(replies []actor.Reply) {
	for _, it := range s.going {
		if it.status == actor.Gone {
			s.leave(it.name, it.holder, it.wait)
		}
	}
	for i, it := range s.going {
		same := func(other simGoing) bool { return other.name == it.name && other.status != actor.Refused }
		if slices.IndexFunc(s.going, same) == i {
			s.nextTurn(it.name, replies)
		}
	}
	s.going = s.going[:0]
}

// nextTurn says whose turn it is, if the lock was released or is free.
func (s *simServer) nextTurn(name int, replies []actor.Reply) {
	_ = s.prune(name, simHolder{}) // an error is the message's as well
	at := slices.IndexFunc(s.going, func(it simGoing) bool { return it.name == name && it.status == actor.Done })
	if at < 0 && s.key(name).exists {
		return
	}
	if told := s.publish(name); !told && at >= 0 {
		replies[at].Muted = true
	}
}

// leave takes a place away, and what is left of its time from those behind, unless others share that.
func (s *simServer) leave(name int, holder simHolder, wait int64) {
	queue := s.queues[name]
	at := placeOf(queue, holder)
	if at < 0 {
		return
	}
	time := queue[at].time
	unused := max(min(wait, time-s.wall), 0)
	if s.w.bug == bugTakesTooMuch {
		unused = wait
	}
	queue = slices.Delete(slices.Clone(queue), at, at+1)
	if slices.ContainsFunc(queue, func(p simPlace) bool { return p.time == time }) && s.w.bug != bugTakesTwice {
		unused = 0
	}
	s.queue(name, later(queue, at, -unused))
}

// channelFor is where a message for a name goes: for a fair lock, to the head of its queue. It is empty
// when that has none.
func (s *simServer) channelFor(name int) (string, error) {
	n := &s.w.names[name]
	if n.kind != actor.Fair {
		return n.channel, nil
	}
	if err := s.prune(name, simHolder{}); err != nil || len(s.queues[name]) == 0 {
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

// inLine checks that nobody counts as dead before those who stand in front of it, and at the same time as the one in
// front only with it: if both are one engine's.
func (w *simWorld) inLine(name int, queue []simPlace) {
	for i := 1; i < len(queue); i++ {
		front, back := queue[i-1], queue[i]
		if back.time < front.time || back.time == front.time && back.holder.life != front.holder.life {
			w.fail("%s counts as alive in the queue of %s no longer than %s in front of it, but until %d and %d", w.holderName(back.holder), w.plan.names[name],
				w.holderName(front.holder), back.time, front.time)
		}
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
	} else if a.hold.tenure.unsure {
		return // it came with a call whose answer was lost, maybe long ago
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
	if l := e.c.locks.of(key); l != nil && l.Tenure() == h.tenure && !h.reads() {
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
