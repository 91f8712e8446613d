package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/wire"
)

// simServer is the model of the server. It has keys with a holder and a TTL, a script cache, channels with listeners,
// and periods in which it rejects calls. A call runs as a whole, like a script.
type simServer struct {
	w *simWorld
	simData
	cached [len(wire.Specs)]bool
	saved  *simData // what a restart with stale data finds
	writes []simWrite

	distinct map[string]bool // of the running call; reused

	down                  time.Duration     // until when no client can connect
	frozen                time.Duration     // until when calls wait
	forcedError           string            // the error that every call gets
	forcedErrorUntil      time.Duration     // until when
	full                  time.Duration     // until when it rejects calls that need memory
	writeError            string            // the error that every write gets, each by itself
	writesRejectedUntil   time.Duration     // until when
	forbiddenName         int               // index of a name that no client may touch, -1 for none
	forbiddenUntil        time.Duration     // until when
	publishForbiddenUntil time.Duration     // until when no client may publish
	wrote                 bool              // the running call has written: memory is not checked any more then
	wall                  int64             // of the running call: its caller's clock, in ms
	latest                int64             // of the running call: until when it may take effect, by the server's clock; 0: no limit
	late                  bool              // of the running call: that time is over
	outside               bool              // the running call is of a client of another kind
	expires               time.Duration     // of the running call: when its engine has given it up for good. True time; 0: it is no engine's
	falling               []int             // of the running call: names of which readers want the TTL to fall
	releasing             []simQueueRelease // of the running call, if it releases fair locks: the tenures that go
}

// simData is what the server keeps, by index of the name.
type simData struct {
	keys        []simKey          // the zero value is absent
	tokens      []uint64          // the last token of a fenced lock
	queues      [][]simQueuePlace // waiters for a fair lock
	strayPlaces [][]simQueuePlace // waiters with a lost place and a time that is still there
	queueEnds   []simQueueEnd     // until when a queue lives
}

func newSimData(names int) simData {
	return simData{keys: make([]simKey, names), tokens: make([]uint64, names), queues: make([][]simQueuePlace, names), strayPlaces: make([][]simQueuePlace, names), queueEnds: make([]simQueueEnd, names)}
}

func (d *simData) copy() simData {
	return simData{keys: slices.Clone(d.keys), tokens: slices.Clone(d.tokens), queues: slices.Clone(d.queues), strayPlaces: slices.Clone(d.strayPlaces), queueEnds: slices.Clone(d.queueEnds)}
}

// simKey is a lock's hash, or a key of another type, which has no holder.
type simKey struct {
	exists  bool
	holder  simHolder // of a read/write lock: the writer; zero: none
	count   int
	expires int64 // ms; simForever: never
	tenure  *simTenure
	readers []simReader // never changed, only replaced, because replicas share them
}

const simForever = int64(1) << 60

func newSimServer(w *simWorld) *simServer {
	return &simServer{w: w, simData: newSimData(len(w.plan.names)), forbiddenName: -1, distinct: make(map[string]bool), writes: w.memory.writes[:0]}
}

// clock returns the server's clock: whole milliseconds.
func (s *simServer) clock() int64 { return int64(s.w.now / time.Millisecond) }

// key returns a key as it is now. An expired one is absent.
func (s *simServer) key(name int) *simKey {
	k := &s.keys[name]
	if k.exists && k.expires < s.clock() {
		s.note(name)
		s.w.model.expired(k)
		*k = simKey{}
	}
	return k
}

// foreign reports whether a key does not belong to a lock.
func (k *simKey) foreign() bool {
	return k.exists && k.holder == (simHolder{}) && len(k.readers) == 0
}

// until returns when a holder's part of a key ends, 0 if it has none.
func (k *simKey) until(h simHolder) int64 {
	if h.reads() {
		if at := k.reader(h); at >= 0 {
			return min(k.expires, k.readers[at].longest())
		}
	} else if k.holder == h {
		return k.expires
	}
	return 0
}

// each calls f for all holders that have a part of a key.
func (k *simKey) each(f func(simHolder, *simTenure)) {
	if k.tenure != nil {
		f(k.holder, k.tenure)
	}
	for i := range k.readers {
		f(k.readers[i].holder, k.readers[i].tenure)
	}
}

// simEnd returns the true time at which a key that expires then is gone unless a client changes it.
func simEnd(expires int64) time.Duration {
	if expires == simForever {
		return time.Duration(1<<63 - 1)
	}
	return time.Duration(expires+1) * time.Millisecond
}

// execute runs a call and records the server's replies.
func (s *simServer) execute(call *simCall) {
	call.ran = true
	s.w.steps++
	if refusal := s.refusal(call); refusal != "" {
		call.failed = errors.New(refusal)
		s.w.cover(coverCallRejected)
		return
	}
	s.checkDistinct(call)
	s.cached[call.verb] = true
	s.wrote, s.wall = false, call.wall
	s.latest, s.late, s.expires = 0, false, 0
	if call.verb == actor.SendFairAcquire {
		s.latest, s.late, s.expires = max(call.latest, 1), s.clock() > call.latest, call.expires
	}
	call.replies = call.replies[:0]
	for i := range call.commands {
		c := &call.commands[i]
		if s.late {
			break
		}
		for _, orphan := range c.Orphans {
			s.releaseOrphan(s.holder(call, c.Key, orphan))
		}
		for _, part := range c.Parts {
			for _, orphan := range part.Orphans {
				s.releaseOrphan(s.holder(call, part.Key, orphan))
			}
		}
	}
	for i := range call.commands {
		c := &call.commands[i]
		c.Tenure = s.w.bug.tenure(s.w, c)
		call.replies = append(call.replies, s.one(s.holder(call, c.Key, c.Tenure), c))
	}
	s.fall()
	s.leaveQueues(call.replies)
}

func (s *simServer) holder(call *simCall, key string, tenure uint64) simHolder {
	return holderOf(call.life, s.w.nameOf(key), simReads(call.verb), tenure)
}

// checkDistinct verifies what the script of an acquire relies on, because it takes all keys together if all are
// free.
func (s *simServer) checkDistinct(call *simCall) {
	if call.verb != actor.SendAcquire || len(call.commands) < 2 {
		return
	}
	clear(s.distinct)
	for i := range call.commands {
		key := call.commands[i].Key
		if s.distinct[key] {
			s.w.fail("%s is taken twice in one call", key)
		}
		s.distinct[key] = true
	}
}

// refusal returns the error for a call as a whole, if it gets one.
func (s *simServer) refusal(call *simCall) string {
	now := s.w.now
	if now < s.forcedErrorUntil {
		return s.forcedError
	}
	if !call.whole && !s.cached[call.verb] {
		return "NOSCRIPT No matching script. Please use EVAL."
	}
	if now < s.forbiddenUntil {
		for i := range call.commands {
			if s.bars(&call.commands[i]) {
				return "NOPERM No permissions to access a key"
			}
		}
	}
	return ""
}

func (s *simServer) bars(c *actor.Command) bool {
	barred := s.w.plan.names[s.forbiddenName]
	return c.Key == barred || slices.ContainsFunc(c.Parts, func(part actor.PartKey) bool { return part.Key == barred })
}

// one runs the part of a script that is about one key.
func (s *simServer) one(holder simHolder, c *actor.Command) actor.Reply {
	name := holder.name()
	switch c.Verb {
	case actor.SendAcquire:
		return s.acquire(name, holder, wire.Milliseconds(c.Lease))
	case actor.SendRenew:
		return s.renew(name, holder, c)
	case actor.SendRelease:
		return s.release(name, holder)
	case actor.SendForce, actor.SendFairForce:
		return s.force(name)
	case actor.SendFencedAcquire:
		return s.fencedAcquire(name, holder, wire.Milliseconds(c.Lease))
	case actor.SendFencedRenew:
		return s.fencedRenew(name, holder, c)
	case actor.SendFairAcquire:
		return s.fairAcquire(name, holder, c)
	case actor.SendFairRelease:
		return s.fairRelease(name, holder, c)
	case actor.SendState:
		return s.state(name)
	case actor.SendMultiAcquire:
		return s.multiAcquire(int(holder.life), c)
	default:
		return s.readWrite(name, holder, c)
	}
}

// writable returns the error that a write gets, if any. Hungry writes need memory.
func (s *simServer) writable(hungry bool) error {
	switch {
	case s.w.now < s.writesRejectedUntil:
		return errors.New(s.writeError)
	case hungry && s.w.now < s.full && !s.wrote:
		return errors.New("OOM command not allowed when used memory > 'maxmemory'.")
	}
	s.wrote = true
	return nil
}

var errSimType = errors.New("WRONGTYPE Operation against a key holding the wrong kind of value")

// The four ways in which a key changes. Everything else uses them, so that the books are right.

func (s *simServer) create(name int, holder simHolder, lease int64) {
	s.note(name)
	t := s.w.model.created(holder, s.w.now)
	s.keys[name] = simKey{exists: true, holder: holder, count: 1, expires: s.clock() + lease, tenure: t}
	s.w.model.prolonged(&s.keys[name])
}

func (s *simServer) expire(name int, lease int64) {
	s.note(name)
	k := &s.keys[name]
	before := k.expires
	k.expires = s.clock() + lease
	if before == simForever && len(k.readers) > 0 { // the TTL was taken away, and with it what all readers need
		k.each(func(_ simHolder, t *simTenure) { t.keyTaken, t.keyTakenAt = true, s.w.now })
	}
	s.w.model.prolonged(k)
}

// remove deletes a key by a release of its own holder.
func (s *simServer) remove(name int) {
	s.note(name)
	s.w.model.released(s.keys[name].tenure, s.w.now)
	s.keys[name] = simKey{}
}

// takeKey replaces a key by something that its holder does not know of.
func (s *simServer) takeKey(name int, left simKey) {
	k := s.key(name)
	s.note(name)
	s.w.model.replaced(k, &left, s.w.now)
	if k.exists {
		s.w.unheard(name, k.expires)
	}
	*k = left
}

// restart starts a new process with some data. The script cache is empty, and connections are gone.
func (s *simServer) restart(data simData) {
	s.cached = [len(wire.Specs)]bool{}
	s.writes = s.writes[:0]
	for name := range s.keys {
		s.w.model.replaced(s.key(name), &data.keys[name], s.w.now)
		if k := s.keys[name]; k.exists && k.expires > data.keys[name].expires {
			s.w.unheard(name, k.expires)
		}
		if s.keys[name] = data.keys[name]; s.tokens[name] > data.tokens[name] {
			s.tokens[name] = data.tokens[name]
			s.w.names[name].token = 0 // the counter is lost
		}
		if len(s.queues[name]) > len(data.queues[name]) {
			s.w.unheard(name, s.clock()+(2*s.w.plan.longest).Milliseconds())
		}
		s.queues[name], s.strayPlaces[name], s.queueEnds[name] = restored(data.queues[name]), data.strayPlaces[name], data.queueEnds[name]
		s.keys[name].each(func(_ simHolder, t *simTenure) { t.recounted = true }) // a lost count is unknown to all
		s.w.touch(name)
		s.w.names[name].changed = s.w.now
	}
	for _, e := range s.w.engines {
		e.conn.breakConn(0)
		e.pubsub.onProcessGone()
	}
}

// simWrite is a key as it was before a write.
type simWrite struct {
	at     time.Duration
	name   int
	before simKey
	token  uint64
	queue  []simQueuePlace
	end    simQueueEnd
}

// simWritesMost is how many writes a replica can lag behind at most.
const simWritesMost = 512

// note runs before every write.
func (s *simServer) note(name int) {
	s.w.touch(name)
	s.w.names[name].changed = s.w.now
	if len(s.writes) == simWritesMost {
		s.writes = append(s.writes[:0], s.writes[simWritesMost/2:]...)
	}
	s.writes = append(s.writes, simWrite{s.w.now, name, s.keys[name], s.tokens[name], s.queues[name], s.queueEnds[name]})
	s.w.memory.writes = s.writes
}

// before returns the data of a replica that knows of no write after a moment.
func (s *simServer) before(moment time.Duration) simData {
	data := s.copy()
	for i := len(s.writes) - 1; i >= 0 && s.writes[i].at > moment; i-- {
		w := &s.writes[i]
		data.keys[w.name], data.tokens[w.name], data.queues[w.name], data.queueEnds[w.name] = w.before, w.token, w.queue, w.end
	}
	return data
}

func (s *simServer) save() {
	data := s.copy()
	s.saved = &data
}
