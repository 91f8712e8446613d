package engine

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// simMore is what a name has in the server besides its lock: both stay when that is released.
type simMore struct {
	token uint64
	queue []simPlace
}

// simPlace is somebody who waits for a fair lock.
type simPlace struct {
	holder simHolder
	time   int64 // until when it counts as alive, by the server's clock, which all engines share
	stale  bool  // nobody may know of it: a late copy brought it, or its engine is gone, or a restart with old data
}

// simKinds draws which kind each name is, apart from all else: many seeds know the plain lock only.
func simKinds(seed uint64, names int) []actor.LockKind {
	random := rand.New(rand.NewPCG(seed, 0x6b696e64))
	kinds := make([]actor.LockKind, names)
	if random.IntN(2) == 0 {
		return kinds
	}
	for i := range kinds {
		kinds[i] = []actor.LockKind{actor.Plain, actor.Fenced, actor.Fair}[random.IntN(3)]
	}
	return kinds
}

// The scripts of the fenced lock.

func (s *simServer) fencedAcquire(name int, holder simHolder, lease int64) actor.Reply {
	m := &s.more[name]
	if free := !s.key(name).exists; free {
		if err := s.writable(true); err != nil {
			return refusedBy(err)
		}
		m.token++
	}
	reply := s.acquire(name, holder, lease)
	if reply.Status == actor.Done {
		reply.Token = m.token
	}
	return reply
}

func (s *simServer) fencedPass(name int, holder simHolder, c *actor.Command) actor.Reply {
	reply := s.renew(name, holder, c)
	if reply.Status != actor.Done {
		return reply
	}
	m := &s.more[name]
	if m.token == c.Token || m.token == 0 {
		if err := s.writable(true); err != nil {
			return refusedBy(err)
		}
		m.token++
	}
	reply.Token = m.token
	return reply
}

// The scripts of the fair lock.

// prune takes the dead off the head of a queue, as far as the server allows it. Whoever asks is alive.
func (s *simServer) prune(name int, asks simHolder) error {
	for m := &s.more[name]; len(m.queue) > 0 && m.queue[0].time <= s.clock() && m.queue[0].holder != asks; m.queue = m.queue[1:] {
		if err := s.writable(false); err != nil {
			return err
		}
	}
	return nil
}

func (m *simMore) place(holder simHolder) int {
	return slices.IndexFunc(m.queue, func(p simPlace) bool { return p.holder == holder })
}

// drop takes a place away, and its wait off all behind it.
func (m *simMore) drop(at int, wait int64) {
	m.queue = slices.Delete(m.queue, at, at+1)
	for i := at; i < len(m.queue); i++ {
		m.queue[i].time -= wait
	}
}

func (s *simServer) fairAcquire(name int, holder simHolder, c *actor.Command) actor.Reply {
	m, wait := &s.more[name], milliseconds(c.Wait)
	k, ttl := s.key(name), int64(0)
	if k.exists && k.expires != simForever {
		ttl = k.expires - s.clock()
	}
	if err := s.prune(name, holder); err != nil {
		return refusedBy(err)
	}
	if m.place(holder) == 0 {
		if by := s.clock() + ttl + wait - m.queue[0].time; by > wait/8 {
			if err := s.writable(true); err != nil {
				return refusedBy(err)
			}
			for i := range m.queue {
				m.queue[i].time += by
			}
		}
	}
	at := m.place(holder)
	if !k.exists && (len(m.queue) == 0 || at == 0) {
		reply := s.acquire(name, holder, milliseconds(c.Lease))
		if reply.Status == actor.Done && at == 0 {
			m.drop(0, wait)
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
		from := s.clock() + ttl
		if len(m.queue) > 0 {
			from = max(m.queue[len(m.queue)-1].time, s.clock())
		}
		at = len(m.queue)
		m.queue = append(m.queue, simPlace{holder: holder, time: from + wait, stale: s.w.books.late})
	}
	if !k.exists {
		reply.TTL = ttlOf(m.queue[0].time - s.clock())
	}
	reply.Left = -1
	if at >= 0 {
		reply.Left = ttlOf(m.queue[at].time - s.clock())
	}
	return reply
}

func (s *simServer) fairRelease(name int, holder simHolder, c *actor.Command) actor.Reply {
	reply := s.release(name, holder)
	if reply.Status != actor.Gone {
		return reply
	}
	if at := s.more[name].place(holder); at >= 0 {
		s.more[name].drop(at, milliseconds(c.Wait))
	}
	if !s.key(name).exists {
		s.publish(name)
	}
	return reply
}

// channelFor is where a message for a name goes: for a fair lock, to the head of its queue. It is empty
// when that has none.
func (s *simServer) channelFor(name int) string {
	n := &s.w.names[name]
	if n.kind != actor.Fair {
		return n.channel
	}
	if s.prune(name, simHolder{}) != nil || len(s.more[name].queue) == 0 {
		return ""
	}
	return n.channel + ":" + s.w.holderName(s.more[name].queue[0].holder)
}

// free reports whether a name is free for somebody who is there: of a fair lock, the head of its queue
// waits in an engine that runs.
func (w *simWorld) free(name int) bool {
	if w.server.key(name).exists {
		return false
	}
	for _, p := range w.server.more[name].queue {
		if p.time > w.server.clock() {
			return w.waits(name, p.holder)
		}
	}
	return true
}

// waits reports whether a place in the queue is somebody's who waits.
func (w *simWorld) waits(name int, holder simHolder) bool {
	e := w.alive(holder.life)
	return e != nil && e.lockOf(w.names[name].key, holder.tenure) != nil
}

// lockOf finds the actor that has a tenure.
func (e *simEngine) lockOf(key string, tenure uint64) *actor.Lock {
	if l := e.c.locks[key]; l != nil && l.Tenure() == tenure {
		return l
	}
	return e.c.groups[key].first(func(l *actor.Lock) bool { return l.Tenure() == tenure })
}

// sweep takes places away that are nobody's by no fault of an engine.
func (w *simWorld) sweep() {
	for name := range w.server.more {
		m := &w.server.more[name]
		m.queue = slices.DeleteFunc(m.queue, func(p simPlace) bool {
			stale := p.stale || w.books.tenure(p.holder).forbidden
			return w.alive(p.holder.life) == nil || stale && !w.waits(name, p.holder)
		})
	}
}

// forgets is a restart without data, or with old ones.
func (s *simServer) forgets(more []simMore) {
	for name := range s.more {
		was := s.more[name].queue
		s.more[name] = simMore{token: more[name].token, queue: slices.Clone(more[name].queue)}
		for i := range s.more[name].queue {
			s.more[name].queue[i].stale = true
		}
		if n := &s.w.names[name]; s.more[name].token < n.token {
			n.token = s.more[name].token // what was given out is forgotten
			s.w.books.oldTokens(name)
		}
		if len(was) > len(more[name].queue) {
			s.w.unheard(name, s.clock()+(2*s.w.plan.longest).Milliseconds())
		}
	}
}

// oldTokens forgets what holds of before had: tokens begin anew.
func (b *simBooks) oldTokens(name int) {
	for _, h := range b.active {
		if h.name == name {
			h.tenure.robbed = true
		}
	}
}

// fenced checks that a grant's token is its owner's, and greater than those of all owners before.
func (w *simWorld) fenced(a *simAsk) {
	h, n, t := a.hold, &w.names[a.name], a.hold.tenure
	if n.kind != actor.Fenced {
		if a.Token != 0 {
			w.fail("%s gives %s a token", a.caller.e.name, h)
		}
		return
	}
	if t.owner == h.grant.Owner && t.token == a.Token {
		return // re-entered; an owner of a thread may also come as a stranger
	}
	t.owner, t.token = h.grant.Owner, a.Token
	if a.Token <= n.token && !t.robbed && !t.revived {
		w.fail("%s grants %s with token %d, after %d", h.e.name, h, a.Token, n.token)
	}
	n.token = max(n.token, a.Token)
}

// simFairWait is how long a waiter without a bound counts as alive.
const simFairWait = 500 * time.Millisecond
