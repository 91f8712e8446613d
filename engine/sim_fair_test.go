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
	till   int64 // until when its engine keeps it up, by the server's clock; 0: its client does not do that
	added  int64 // to the times behind it, if its engine keeps it up
	life   int64 // and how long it lives then
	late   bool  // a late copy brought it: nobody may know of it
	old    bool  // a restart with old data did
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
	if len(queue) == 0 {
		s.ends[name] = simEndOf{}
	}
}

// leftOf is how much longer a place counts as alive. Clients of another kind know times only.
func (s *simServer) leftOf(p simPlace) int64 {
	if p.till != 0 && !s.outside {
		return p.till - s.clock()
	}
	return p.time - s.wall
}

// prune takes the dead off the head of a queue, as far as the server allows it. Whoever asks is alive.
func (s *simServer) prune(name int, asks simHolder) error {
	s.passAway(name)
	before := len(s.queues[name])
	for len(s.queues[name]) > 0 && s.leftOf(s.queues[name][0]) <= 0 && s.queues[name][0].holder != asks {
		if err := s.writable(false); err != nil {
			return err
		}
		s.w.skips(name, s.queues[name][0])
		if head := s.queues[name][0]; head.till != 0 && !s.outside {
			s.w.saw(sawFellDue)
			s.leave(name, head.holder, head.added)
			continue
		}
		s.queue(name, s.queues[name][1:])
	}
	if len(s.queues[name]) < before {
		s.age(name, -1)
	}
	return s.forgetTimes(name)
}

// tellFurther tells those behind a head that should have been kept up by now that the lock is free, until one is not doubtful.
func (s *simServer) tellFurther(name int) {
	queue, head, at := s.queues[name], 0, 0
	for step := 1; step <= 24; step++ {
		if p := queue[head]; p.till == 0 || 8*(p.till-s.clock()) >= 5*p.life {
			return
		}
		if at *= 2; step <= 8 {
			at = step
		}
		next := min(at, len(queue)-1)
		if next == head {
			return
		}
		head = next
		s.w.saw(sawDoubtful)
		s.tell(s.w.names[name].channel + ":" + s.w.holderName(queue[head].holder))
	}
}

// forgetTimes is for a list that was lost: times without places count for nothing, and those who had them are told.
func (s *simServer) forgetTimes(name int) error {
	lost := s.strays[name]
	if len(s.queues[name]) > 0 || len(lost) == 0 || s.w.bug == bugTimeIsPlace {
		return nil
	}
	if err := s.writable(false); err != nil {
		return err
	}
	s.note(name)
	s.strays[name] = nil
	for _, p := range lost {
		s.tell(s.w.names[name].channel + ":" + s.w.holderName(p.holder))
	}
	return nil
}

func (s *simServer) fairAcquire(name int, holder simHolder, c *actor.Command) actor.Reply {
	if s.late {
		s.w.saw(sawTooLate)
		return actor.Reply{Status: actor.Refused, Err: actor.ErrLate, Late: true, Clock: s.clock()}
	}
	if s.expires != 0 && s.w.now > s.expires {
		s.w.fail("an acquire of %s takes effect %v after its engine gave it up", s.w.plan.names[name], s.w.now-s.expires)
	}
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
			s.age(name, -1)
		}
		return reply
	}
	reply := actor.Reply{Status: actor.Taken}
	if k.exists {
		if reply = s.acquire(name, holder, milliseconds(c.Lease)); reply.Status != actor.Taken {
			return reply
		}
	}
	reply.Clock = s.clock()
	if at = s.stray(name, holder, at, &reply); at == simStray {
		return reply
	}
	if at >= 0 {
		s.keep(name, at, wait)
		s.age(name, max(wait, s.queues[name][at].time-s.wall))
	}
	if at < 0 && wait != 0 {
		if err := s.writable(true); err != nil {
			return refusedBy(err)
		}
		at = s.enqueue(name, holder, ttl, c)
	}
	if !k.exists {
		reply.TTL = ttlOf(max(s.leftOf(s.queues[name][0]), 0))
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
	if at <= 0 || wait == 0 || 4*(s.queues[name][at].time-s.wall) > wait {
		return nil
	}
	err := s.writable(true)
	if err == nil {
		s.queue(name, later(s.queues[name], 1, max(wait, s.wall+wait-s.queues[name][at].time)))
	}
	return err
}

// simStray is the place of somebody whose time counts for one.
const simStray = -2

// stray is the mistake that a time counts for a place.
func (s *simServer) stray(name int, holder simHolder, at int, reply *actor.Reply) int {
	if s.w.bug != bugTimeIsPlace || at >= 0 || placeOf(s.strays[name], holder) < 0 {
		return at
	}
	reply.Left = ttlOf(simFairWait.Milliseconds())
	return simStray
}

// keep is what it does for a place that its engine asks for: it lives for a wait from now on. Short of memory the
// server does not.
func (s *simServer) keep(name, at int, wait int64) {
	if s.latest == 0 || wait == 0 || s.writable(true) != nil {
		return
	}
	queue := slices.Clone(s.queues[name])
	if queue[at].till == 0 {
		queue[at].added = wait
	}
	queue[at].till, queue[at].life = s.clock()+wait, wait
	s.w.livesTooLong(name, queue[at])
	s.queue(name, queue)
	if left := queue[at].time - s.wall; 4*left <= wait {
		s.w.fail("%s asks in the queue of %s, and has %d ms left by its time: other clients will take it for dead", s.w.holderName(queue[at].holder), s.w.plan.names[name], left)
	}
}

// enqueue returns which place it is. Right behind the one of its engine that it names, it shares that one's time
// if that is enough for it.
func (s *simServer) enqueue(name int, holder simHolder, ttl int64, c *actor.Command) int {
	queue, wait := s.queues[name], milliseconds(c.Wait)
	last, shares, adds := len(queue)-1, false, wait
	if last >= 0 {
		front := queue[last]
		ttl = max(front.time-s.wall, 0)
		shares = c.Behind != 0 && front.holder == holderOf(int(holder.life), name, false, c.Behind) && ttl >= wait
		switch {
		case shares && front.till != 0:
			adds = front.added
		case !shares && s.latest != 0 && front.till == 0:
			adds = max(wait, simFairWait.Milliseconds())
		}
	}
	if shares {
		s.w.saw(sawShared)
	} else {
		ttl += adds
	}
	place := simPlace{holder: holder, time: s.wall + ttl, late: s.w.books.late}
	if s.latest != 0 {
		place.till, place.added, place.life = s.clock()+wait, adds, wait
		s.w.livesTooLong(name, place)
	}
	s.queue(name, append(slices.Clip(queue), place))
	s.age(name, max(wait, ttl))
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
		s.passAway(it.name)
		if it.status == actor.Gone {
			s.leave(it.name, it.holder, it.wait)
			s.age(it.name, -1)
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
	if queue[at].till != 0 {
		wait = queue[at].added
	}
	unused := max(min(wait, time-s.wall), 0)
	if s.w.bug == bugTakesTooMuch {
		unused = wait
	}
	queue = slices.Delete(slices.Clone(queue), at, at+1)
	if slices.ContainsFunc(queue, func(p simPlace) bool { return p.time == time }) && s.w.bug != bugTakesTwice {
		unused = 0
	}
	s.queue(name, later(queue, at, -unused))
	s.w.leavesEnough(name, at, unused)
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

func (a simArrival) waits() bool {
	return a.ask.number == a.number && !a.ask.decided && !a.ask.left && !a.gaveUp()
}

// gaveUp reports whether it left its place because its owner was granted the lock, which it was about to re-enter. If
// that one unlocks first, it comes to the queue anew.
func (a simArrival) gaveUp() bool {
	l := a.ask.Lock()
	return a.ask.Owner != 0 && l != nil && l.Tenure() != a.tenure.holder.tenure
}

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
	if a == nil || a.Wait != 0 || p.late || p.old || w.books.late || w.books.tenure(p.holder).unsure {
		return
	}
	if w.calmSince(a.asked-w.patience()) || w.calmSince(w.now-2*simFairWait-w.patience()) {
		w.fail("%s waits for %s, and is skipped as if it were dead", a.caller.e.name, a)
	}
}

// livesTooLong checks that nobody who dies now would hold others up for longer than its engine's options say.
func (w *simWorld) livesTooLong(name int, p simPlace) {
	if p.till-w.server.clock() > simFairWait.Milliseconds() {
		w.fail("the place of %s in the queue of %s would live for %d ms without being kept up", w.holderName(p.holder), w.plan.names[name], p.till-w.server.clock())
	}
}

// leavesEnough checks that who left a queue took no more time from the one behind it than leaves that one its own wait.
func (w *simWorld) leavesEnough(name, at int, took int64) {
	if at == len(w.server.queues[name]) {
		return
	}
	p, wait := w.server.queues[name][at], simFairWait.Milliseconds()
	if p.till != 0 {
		wait = p.life
	}
	if left := p.time - w.server.wall; left < wait && left+took >= wait {
		w.fail("%s has %d ms in the queue of %s when the one in front of it has left, less than its wait", w.holderName(p.holder), left, w.plan.names[name])
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
		if p.till > w.server.clock() || p.till == 0 && p.time > w.server.clock() {
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
			nobodys := p.old || w.books.tenure(p.holder).forbidden
			return w.alive(p.holder.life) == nil || nobodys && !w.waits(p.holder)
		})
	}
}

// restored is a queue as a restart finds it.
func restored(queue []simPlace) []simPlace {
	queue = slices.Clone(queue)
	for i := range queue {
		queue[i].old = true
	}
	return queue
}
