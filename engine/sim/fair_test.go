package sim

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/wire"
)

// simFairWait is how long a waiter without a bound is considered alive.
const simFairWait = 500 * time.Millisecond

// simQueuePlace is a waiter's place in the queue of a fair lock. A queue is never changed, only replaced, because
// replicas share it.
type simQueuePlace struct {
	holder simHolder
	time   int64 // until when it is considered alive, by the wall clock, which all processes share
	till   int64 // until when its engine keeps it up, by the server's clock; 0: its client does not do that
	added  int64 // to the times behind it, if its engine keeps it up
	life   int64 // for how long each time, if its engine keeps it up
	late   bool  // a late copy brought it: possibly no engine knows of it
	old    bool  // a restart with old data brought it
}

func placeOf(queue []simQueuePlace, holder simHolder) int {
	return slices.IndexFunc(queue, func(p simQueuePlace) bool { return p.holder == holder })
}

// later returns a queue in which the places from one index on have more time, or less.
func later(queue []simQueuePlace, from int, by int64) []simQueuePlace {
	queue = slices.Clone(queue)
	for i := from; i < len(queue); i++ {
		queue[i].time += by
	}
	return queue
}

// queue is the fifth way in which data of the server changes.
func (s *simServer) queue(name int, queue []simQueuePlace) {
	s.note(name)
	s.w.inLine(name, queue)
	s.queues[name] = queue
	if len(queue) == 0 {
		s.queueEnds[name] = simQueueEnd{}
	}
}

// leftOf returns for how much longer a place is considered alive. Other clients know only times.
func (s *simServer) leftOf(p simQueuePlace) int64 {
	if p.till != 0 && !s.outside {
		return p.till - s.clock()
	}
	return p.time - s.wall
}

// prune removes dead places from the head of a queue, as far as the server allows it. The client that asks is
// alive.
func (s *simServer) prune(name int, asks simHolder) error {
	s.removeExpiredQueue(name)
	before := len(s.queues[name])
	for len(s.queues[name]) > 0 && s.leftOf(s.queues[name][0]) <= 0 && s.queues[name][0].holder != asks {
		if err := s.writable(false); err != nil {
			return err
		}
		s.w.skips(name, s.queues[name][0])
		if head := s.queues[name][0]; head.till != 0 && !s.outside {
			s.w.cover(coverPlaceExpired)
			s.leave(name, head.holder, head.added)
			continue
		}
		s.queue(name, s.queues[name][1:])
	}
	if len(s.queues[name]) < before {
		s.extendQueueExpiry(name, -1)
	}
	return s.forgetTimes(name)
}

// publishFurther handles a head that should have been kept up by now. It notifies waiters behind such a head that the
// lock is free, until it reaches one that is not doubtful.
func (s *simServer) publishFurther(name int) {
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
		s.w.cover(coverHeadMaybeDead)
		s.publishTo(s.w.names[name].channel + ":" + s.w.holderName(queue[head].holder))
	}
}

// forgetTimes handles a list that was lost: times without places do not count, and the waiters that had them are
// notified.
func (s *simServer) forgetTimes(name int) error {
	lost := s.strayPlaces[name]
	if len(s.queues[name]) > 0 || len(lost) == 0 || s.w.bug == bugTimeIsPlace {
		return nil
	}
	if err := s.writable(false); err != nil {
		return err
	}
	s.note(name)
	s.strayPlaces[name] = nil
	for _, p := range lost {
		s.publishTo(s.w.names[name].channel + ":" + s.w.holderName(p.holder))
	}
	return nil
}

func (s *simServer) fairAcquire(name int, holder simHolder, c *actor.Command) actor.Reply {
	if s.late {
		s.w.cover(coverTooLate)
		return actor.Reply{Status: actor.Rejected, Err: actor.ErrLate, Late: true, ServerMillis: s.clock()}
	}
	if s.expires != 0 && s.w.now > s.expires {
		s.w.fail("an acquire of %s takes effect %v after its engine gave it up", s.w.plan.names[name], s.w.now-s.expires)
	}
	k, ttl, wait := s.key(name), s.left(s.key(name)), wire.Milliseconds(c.Wait)
	before := len(s.queues[name])
	if err := s.prune(name, holder); err != nil {
		return refusedBy(err)
	}
	at := placeOf(s.queues[name], holder)
	if len(s.queues[name]) < before && len(s.queues[name]) > 0 && !k.exists && at != 0 && !s.outside {
		s.publishTo(s.w.names[name].channel + ":" + s.w.holderName(s.queues[name][0].holder))
	}
	if err := s.putOff(name, at, ttl, wait); err != nil {
		return refusedBy(err)
	}
	if err := s.grow(name, at, wait); err != nil {
		return refusedBy(err)
	}
	if err := s.outlive(name, at, wait); err != nil {
		return refusedBy(err)
	}
	if !k.exists && (len(s.queues[name]) == 0 || at == 0) {
		reply := s.acquire(name, holder, wire.Milliseconds(c.Lease))
		if reply.Status == actor.OK && at == 0 {
			s.leave(name, holder, wait)
			s.extendQueueExpiry(name, -1)
		}
		return reply
	}
	reply := actor.Reply{Status: actor.HeldByOther}
	if k.exists {
		if reply = s.acquire(name, holder, wire.Milliseconds(c.Lease)); reply.Status != actor.HeldByOther {
			return reply
		}
	}
	reply.ServerMillis = s.clock()
	if at = s.stray(name, holder, at, &reply); at == simStray {
		return reply
	}
	if at >= 0 {
		s.keep(name, at, wait)
		s.extendQueueExpiry(name, max(wait, s.queues[name][at].time-s.wall))
	}
	if at < 0 && wait != 0 {
		if err := s.writable(true); err != nil {
			return refusedBy(err)
		}
		at = s.enqueue(name, holder, ttl, c)
	}
	if !k.exists {
		reply.TTL = wire.DecodeTTL(max(s.leftOf(s.queues[name][0]), 0))
	}
	reply.QueueTTL = -1
	if at >= 0 {
		reply.QueueTTL = wire.DecodeTTL(s.queues[name][at].time - s.wall)
	}
	return reply
}

// putOff postpones all times of a queue if its head asks.
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

// grow handles a waiter that would add more if it came now: it moves back until it is as far behind the place in front.
func (s *simServer) grow(name, at int, wait int64) error {
	if at <= 0 || wait == 0 || s.queues[name][at].till == 0 {
		return nil
	}
	queue := s.queues[name]
	sameTime := slices.IndexFunc(queue, func(p simQueuePlace) bool { return p.time == queue[at].time })
	if sameTime == 0 {
		return nil
	}
	front, adds := queue[sameTime-1], wait
	if front.till == 0 {
		adds = max(wait, simFairWait.Milliseconds())
	}
	if adds <= queue[at].added {
		return nil
	}
	by := max(adds-(queue[at].time-front.time), 0)
	if err := s.writable(true); by > 0 && err != nil {
		return err
	}
	queue = later(queue, sameTime, by)
	queue[at].added = adds
	s.queue(name, queue)
	return nil
}

// outlive postpones the times behind the head if a waiter there asks and would die with the head. That happens to
// waiters that share the head's time.
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

// simStray is the place of a waiter without a place, if its time counts as one.
const simStray = -2

// stray implements the planted mistake that a time counts as a place.
func (s *simServer) stray(name int, holder simHolder, at int, reply *actor.Reply) int {
	if s.w.bug != bugTimeIsPlace || at >= 0 || placeOf(s.strayPlaces[name], holder) < 0 {
		return at
	}
	reply.QueueTTL = wire.DecodeTTL(simFairWait.Milliseconds())
	return simStray
}

// keep lets a place that its engine asks for live for one wait from now on. The server skips that when it is short
// of memory.
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

// enqueue returns the index of the new place. If the last place is the one of its engine that the command names, the
// new place shares its time. It does so only if this time is enough.
func (s *simServer) enqueue(name int, holder simHolder, ttl int64, c *actor.Command) int {
	queue, wait := s.queues[name], wire.Milliseconds(c.Wait)
	last, shares, adds := len(queue)-1, false, wait
	if last >= 0 {
		front := queue[last]
		ttl = max(front.time-s.wall, 0)
		shares = c.QueuedAfter != 0 && front.holder == holderOf(int(holder.life), name, false, c.QueuedAfter) && ttl >= wait &&
			(front.till == 0 || front.added >= wait)
		switch {
		case shares && front.till != 0:
			adds = front.added
		case !shares && s.latest != 0 && front.till == 0:
			adds = max(wait, simFairWait.Milliseconds())
		}
	}
	if shares {
		s.w.cover(coverSharedTime)
	} else {
		ttl += adds
	}
	place := simQueuePlace{holder: holder, time: s.wall + ttl, late: s.w.model.late}
	if s.latest != 0 {
		place.till, place.added, place.life = s.clock()+wait, adds, wait
		s.w.livesTooLong(name, place)
	}
	s.queue(name, append(slices.Clip(queue), place))
	s.extendQueueExpiry(name, max(wait, ttl))
	s.w.arrives(name, holder)
	return last + 1
}

// simQueueRelease is a tenure that a call releases. It held the lock, or its place is removed at the end of the call.
type simQueueRelease struct {
	name   int
	holder simHolder
	wait   int64 // the wait that it added
	status actor.Status
}

func (s *simServer) fairRelease(name int, holder simHolder, c *actor.Command) actor.Reply {
	reply := s.drop(name, holder)
	s.releasing = append(s.releasing, simQueueRelease{name, holder, wire.Milliseconds(c.Wait), reply.Status})
	return reply
}

// leaveQueues is the end of a call that releases fair locks. Those of its tenures that wait in a queue leave it, and
// then the waiter at the head is notified once.
func (s *simServer) leaveQueues(replies []actor.Reply) {
	for _, it := range s.releasing {
		s.removeExpiredQueue(it.name)
		if it.status == actor.NotFound {
			s.leave(it.name, it.holder, it.wait)
			s.extendQueueExpiry(it.name, -1)
		}
	}
	for i, it := range s.releasing {
		same := func(other simQueueRelease) bool { return other.name == it.name && other.status != actor.Rejected }
		if slices.IndexFunc(s.releasing, same) == i {
			s.nextTurn(it.name, replies)
		}
	}
	s.releasing = s.releasing[:0]
}

// nextTurn notifies the waiter at the head, if the lock was released or is free.
func (s *simServer) nextTurn(name int, replies []actor.Reply) {
	_ = s.prune(name, simHolder{}) // a server that rejects it rejects the message as well
	at := slices.IndexFunc(s.releasing, func(it simQueueRelease) bool { return it.name == name && it.status == actor.OK })
	if at < 0 && s.key(name).exists {
		return
	}
	if told := s.publish(name); !told && at >= 0 {
		replies[at].Unpublished = true
	}
}

// leave removes a place and subtracts what is left of its time from the places behind it, unless others share that
// time.
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
	if slices.ContainsFunc(queue, func(p simQueuePlace) bool { return p.time == time }) && s.w.bug != bugTakesTwice {
		unused = 0
	}
	s.queue(name, later(queue, at, -unused))
	s.w.leavesEnough(name, at, unused)
}

// channelFor returns where a message for a name goes: for a fair lock, to the head of its queue. It is empty if the
// queue has no head.
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

// Invariants of waiters in a fair queue.

// simQueueEntry is a request that has entered the queue of a fair lock.
type simQueueEntry struct {
	request *simRequest
	number  int // of the request, which may have been reused since
	tenure  *simTenure
	at      time.Duration
}

func (a simQueueEntry) waits() bool {
	return a.request.number == a.number && !a.request.decided && !a.request.canceled && !a.gaveUp()
}

// gaveUp reports whether the waiter left its place because its owner was granted the lock, which the waiter was
// about to re-enter. If the owner unlocks first, the waiter enters the queue anew.
func (a simQueueEntry) gaveUp() bool {
	l := a.request.Lock()
	return a.request.Owner != 0 && l != nil && l.Tenure() != a.tenure.holder.tenure
}

// arrives notes a new waiter. Arrivals are in the order in which they come.
func (w *simWorld) arrives(name int, holder simHolder) {
	w.cover(coverQueued)
	n := &w.names[name]
	n.line = slices.DeleteFunc(n.line, func(a simQueueEntry) bool { return !a.waits() })
	if a := w.waiter(holder); a != nil && !w.model.late {
		n.line = append(n.line, simQueueEntry{a, a.number, w.model.tenure(holder), w.now})
	}
}

// waiter returns the request that a place in the queue is for, nil if there is none any more.
func (w *simWorld) waiter(holder simHolder) *simRequest {
	e := w.alive(holder.life)
	if e == nil {
		return nil
	}
	l := e.lockOf(holder)
	if l == nil {
		return nil
	}
	for _, a := range e.requests {
		if a.Op == actor.Acquire && a.Lock() == l && !a.canceled {
			return a
		}
	}
	return nil
}

// skips checks that no waiter without a limit loses its place, unless something went wrong.
func (w *simWorld) skips(name int, p simQueuePlace) {
	w.cover(coverQueueSkipped)
	a := w.waiter(p.holder)
	if a == nil || a.Wait != 0 || p.late || p.old || w.model.late || w.model.tenure(p.holder).uncertain {
		return
	}
	if w.calmSince(a.requestedAt-w.maxFreeTime()) || w.calmSince(w.now-2*simFairWait-w.maxFreeTime()) {
		w.fail("%s waits for %s, and is skipped as if it were dead", a.caller.e.name, a)
	}
}

// livesTooLong checks that no place outlives its engine's process by more than the engine's options say.
func (w *simWorld) livesTooLong(name int, p simQueuePlace) {
	if p.till-w.server.clock() > simFairWait.Milliseconds() {
		w.fail("the place of %s in the queue of %s would live for %d ms without being kept up", w.holderName(p.holder), w.plan.names[name], p.till-w.server.clock())
	}
}

// leavesEnough checks a waiter that leaves a queue. It must not subtract so much time that the place behind it has less
// than its own wait.
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

// inLine checks that no place is considered dead before those in front of it. It may become dead together with the
// one in front only if both belong to one engine.
func (w *simWorld) inLine(name int, queue []simQueuePlace) {
	for i := 1; i < len(queue); i++ {
		front, back := queue[i-1], queue[i]
		if back.time < front.time || back.time == front.time && back.holder.life != front.holder.life {
			w.fail("%s counts as alive in the queue of %s no longer than %s in front of it, but until %d and %d", w.holderName(back.holder), w.plan.names[name],
				w.holderName(front.holder), back.time, front.time)
		}
	}
}

// inOrder checks that a fair lock is granted in the order of arrival in its queue, over all engines.
func (w *simWorld) inOrder(a *simRequest) {
	n := &w.names[a.name]
	if n.kind != actor.Fair || a.Owner != 0 {
		return
	}
	came := a.hold.tenure.created
	if i := slices.IndexFunc(n.line, func(other simQueueEntry) bool { return other.request == a && other.number == a.number }); i >= 0 {
		came = n.line[i].at
	} else if a.hold.tenure.uncertain {
		return // it came with a call with a lost reply, maybe long ago
	}
	for _, earlier := range n.line {
		if earlier.at < came && earlier.request != a && earlier.waits() && !earlier.tenure.uncertain && earlier.request.Wait == 0 && w.calmSince(earlier.request.requestedAt-w.maxFreeTime()) {
			w.fail("%s grants %s, though %s of %s came to the queue before", a.caller.e.name, a, earlier.request, earlier.request.caller.e.name)
		}
	}
}

// free reports whether a name is free for a live client. In the queue of a fair lock, the head must
// wait in an engine that runs.
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

// waits reports whether a place in the queue belongs to a client that knows of it.
func (w *simWorld) waits(holder simHolder) bool {
	e := w.alive(holder.life)
	return e != nil && e.lockOf(holder) != nil
}

// lockOf finds the actor that has a tenure.
func (e *simEngine) lockOf(h simHolder) *actor.Lock {
	key := e.w.plan.names[h.name()]
	if l := e.c.Locks.Get(key); l != nil && l.Tenure() == h.tenure && !h.reads() {
		return l
	}
	return e.c.LockSets[key].First(func(l *actor.Lock) bool {
		return l.Tenure() == h.tenure && (l.Kind() == actor.Read) == h.reads()
	})
}

// queued returns an upper bound: after that time all waiters that are in a queue now, and do not ask, are
// considered dead.
func (w *simWorld) queued() (longest time.Duration) {
	for _, queue := range w.server.queues {
		if last := len(queue) - 1; last >= 0 {
			longest = max(longest, wire.DecodeTTL(queue[last].time-w.server.clock())+simFairWait)
		}
	}
	return longest
}

// sweep removes places that have no owner by no fault of an engine.
func (w *simWorld) sweep() {
	for name, queue := range w.server.queues {
		w.server.queues[name] = slices.DeleteFunc(slices.Clone(queue), func(p simQueuePlace) bool {
			nobodys := p.old || w.model.tenure(p.holder).forbidden
			return w.alive(p.holder.life) == nil || nobodys && !w.waits(p.holder)
		})
	}
}

// restored returns a queue as a restart finds it.
func restored(queue []simQueuePlace) []simQueuePlace {
	queue = slices.Clone(queue)
	for i := range queue {
		queue[i].old = true
	}
	return queue
}
