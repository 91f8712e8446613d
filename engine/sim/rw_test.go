package sim

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/wire"
)

// simReader is a reader of a key. It is never changed, only replaced.
type simReader struct {
	holder simHolder
	tenure *simTenure
	leases []int64 // when the lease of each hold ends, in ms
}

func (r *simReader) longest() int64 { return slices.Max(r.leases) }

// reader returns the index of a reader, -1 if it is none of them.
func (k *simKey) reader(h simHolder) int {
	return slices.IndexFunc(k.readers, func(r simReader) bool { return r.holder == h })
}

// fields returns how many fields the hash has. One is the mode.
func (k *simKey) fields() int {
	fields := 1 + len(k.readers)
	if k.tenure != nil {
		fields++
	}
	return fields
}

// readWrite runs the part of a script that is about one key.
func (s *simServer) readWrite(name int, holder simHolder, c *actor.Command) actor.Reply {
	switch k := s.key(name); {
	case c.Verb == actor.SendReadAcquire:
		return s.readAcquire(name, holder, c)
	case c.Verb == actor.SendWriteAcquire:
		return s.writeAcquire(name, holder, c)
	case k.foreign():
		return refusedBy(errSimType)
	}
	switch c.Verb {
	case actor.SendReadRenew:
		return s.readRenew(name, holder, c)
	case actor.SendReadRelease:
		return s.leaveRead(name, holder)
	case actor.SendReadForce:
		return s.forceMode(name, false)
	case actor.SendReadState:
		return s.readers(name)
	case actor.SendWriteRenew:
		return s.writeRenew(name, holder, c)
	case actor.SendWriteRelease:
		return s.leaveWrite(name, holder)
	case actor.SendWriteForce:
		return s.forceMode(name, true)
	case actor.SendWriteState:
		return s.writer(name)
	}
	return refusedBy(errors.New("ERR unknown script"))
}

func (s *simServer) readAcquire(name int, holder simHolder, c *actor.Command) actor.Reply {
	k, lease := s.key(name), wire.Milliseconds(c.Lease)
	if k.foreign() {
		return refusedBy(errSimType)
	}
	if at := k.reader(holder); at >= 0 {
		return s.readAgain(name, at, lease)
	}
	beside := c.Reader != nil && c.Reader.Writer != 0 && k.holder == holderOf(int(holder.life), name, false, c.Reader.Writer)
	if k.tenure != nil && !beside && s.w.bug != bugReadsBeside {
		return actor.Reply{Status: actor.HeldByOther, TTL: wire.DecodeTTL(s.left(k)), Writer: s.w.holderName(k.holder)}
	}
	if err := s.writable(true); err != nil {
		return refusedBy(err)
	}
	s.enter(name, holder, lease)
	return done()
}

// enter is the sixth way in which data of the server changes.
func (s *simServer) enter(name int, holder simHolder, lease int64) {
	s.note(name)
	k := &s.keys[name]
	k.exists = true
	r := simReader{holder, s.w.model.created(holder, s.w.now), []int64{s.clock() + lease}}
	r.tenure.ranLate, r.tenure.longest = max(r.tenure.ranLate, s.clock()-s.wall), max(r.tenure.longest, lease)
	k.readers = append(slices.Clip(k.readers), r)
	s.raise(name, lease)
}

// raise is PEXPIRE unless the TTL is at least that long already.
func (s *simServer) raise(name int, lease int64) {
	if k := &s.keys[name]; s.left(k) < lease {
		s.expire(name, lease)
	} else {
		s.w.model.prolonged(k)
	}
}

// stamps replaces the leases of a reader's holds.
func (s *simServer) stamps(name, at int, leases []int64) {
	s.note(name)
	k := &s.keys[name]
	k.readers = slices.Clone(k.readers)
	k.readers[at].leases = leases
	t := k.readers[at].tenure
	t.ranLate, t.longest = max(t.ranLate, s.clock()-s.wall), max(t.longest, slices.Max(leases)-s.clock())
	s.w.model.prolonged(k)
}

func (s *simServer) readAgain(name, at int, lease int64) actor.Reply {
	k := &s.keys[name]
	if s.left(k) < lease {
		if err := s.writable(false); err != nil {
			return refusedBy(err)
		}
		s.expire(name, lease)
	}
	leases := k.readers[at].leases
	if left := leases[0] - s.clock(); left >= lease {
		return done()
	}
	if err := s.writable(true); err != nil {
		return refusedBy(err)
	}
	leases = slices.Clone(leases)
	leases[0] = s.clock() + lease
	s.stamps(name, at, leases)
	return done()
}

func (s *simServer) readRenew(name int, holder simHolder, c *actor.Command) actor.Reply {
	k := s.key(name)
	at := k.reader(holder)
	if at < 0 {
		return actor.Reply{Status: actor.NotFound}
	}
	r := k.readers[at]
	var leases []int64
	for _, lease := range wire.HoldLeases(c) {
		leases = append(leases, wire.Milliseconds(lease))
	}
	lease := leases[0]
	if c.Reader != nil && c.Reader.MayShorten && s.upholds(k, &r, lease) && !slices.Contains(s.falling, name) {
		s.falling = append(s.falling, name)
	}
	if s.left(k) < lease {
		if err := s.writable(false); err != nil {
			return refusedBy(err)
		}
		s.expire(name, lease)
	}
	if err := s.writable(r.leases[0] < s.clock()); err != nil { // a key that ended is created anew
		return refusedBy(err)
	}
	r.tenure.recounted = r.tenure.recounted || s.w.model.late && len(leases) != len(r.leases)
	for i := range leases {
		leases[i] += s.clock()
	}
	s.stamps(name, at, leases)
	return done()
}

// How far the server's clock may advance during a call, and how many fields are always looked at.
const (
	simApart        = 50
	simMostLookedAt = 8
)

// upholds reports whether a reader that wants less than the TTL may be the reason for that TTL.
func (s *simServer) upholds(k *simKey, r *simReader, lease int64) bool {
	ttl := s.left(k)
	return ttl > lease && (k.fields() <= simMostLookedAt || s.covers(r, ttl))
}

func (s *simServer) covers(r *simReader, ttl int64) bool {
	return max(r.longest()-s.clock(), 0)+2*simApart >= ttl
}

// fall is the end of a call: it lowers the TTLs that readers wanted to fall.
func (s *simServer) fall() {
	for _, name := range s.falling {
		if k := s.key(name); k.exists && k.tenure == nil && s.fit(name) {
			s.publish(name)
		}
	}
	s.falling = s.falling[:0]
}

// fit lets a TTL fall to what readers need. It reports whether to notify waiters: the key went because no reader is
// alive, or its TTL fell by more than a tenth. Waiters learn of a smaller fall when they wake.
func (s *simServer) fit(name int) (told bool) {
	k := &s.keys[name]
	ttl, need := s.left(k), s.readersNeed(k)
	if s.w.bug == bugFallsTooFar {
		need /= 2
	}
	enough := ttl
	if ttl < 0 {
		enough = math.MaxInt64
	}
	switch {
	case need == 0:
		s.note(name)
		for i := range k.readers {
			if t := k.readers[i].tenure; !t.keyTaken {
				t.horizon = s.w.now
			}
		}
		s.w.model.expired(k)
		*k = simKey{}
		return true
	case need+simApart < enough:
		before := k.expires
		if s.expire(name, need); ttl < 0 || 10*need < 9*ttl {
			s.w.cover(coverTTLFell)
			return s.w.bug != bugFallsSilently
		}
		s.w.unheard(name, before)
	}
	return false
}

func (s *simServer) leaveRead(name int, holder simHolder) actor.Reply {
	k := s.key(name)
	at := k.reader(holder)
	switch {
	case k.foreign():
		return refusedBy(errSimType)
	case at < 0:
		return actor.Reply{Status: actor.NotFound}
	}
	if err := s.writable(false); err != nil {
		return refusedBy(err)
	}
	s.note(name)
	r, fields := k.readers[at], k.fields()
	s.w.model.released(r.tenure, s.w.now)
	if fields <= 2 {
		*k = simKey{}
		return s.publishDone(name)
	}
	k.readers = slices.Delete(slices.Clone(k.readers), at, at+1)
	upheld := fields > simMostLookedAt && !s.covers(&r, s.left(k))
	if k.tenure == nil && !upheld && s.fit(name) {
		return s.publishDone(name)
	}
	return done()
}

// publishDone publishes that a command was done.
func (s *simServer) publishDone(name int) actor.Reply {
	reply := done()
	reply.Unpublished = !s.publish(name)
	return reply
}

func (s *simServer) writeAcquire(name int, holder simHolder, c *actor.Command) actor.Reply {
	reply := s.acquire(name, holder, wire.Milliseconds(c.Lease))
	if reply.Status == actor.OK {
		s.w.names[name].written = s.w.now
	}
	if k := s.key(name); reply.Status == actor.HeldByOther && k.tenure == nil && k.expires != simForever {
		reply.Readers = k.readersOf(holder.life)
	}
	return reply
}

// readersOf returns the numbers of an engine's readers, as the reply to that engine's write request lists them.
// There are never so many that some are not looked at.
func (k *simKey) readersOf(life int32) string {
	var numbers []string
	for i := range k.readers {
		if h := k.readers[i].holder; h.life == life {
			numbers = append(numbers, strconv.FormatUint(h.tenure, 10))
		}
	}
	return strings.Join(numbers, " ")
}

// writeRenew does not lower the TTL below what the writer reads.
func (s *simServer) writeRenew(name int, holder simHolder, c *actor.Command) actor.Reply {
	k, lease := s.key(name), wire.Milliseconds(c.Lease)
	ttl := s.left(k)
	if k.holder != holder || len(k.readers) == 0 || lease == 0 || ttl >= 0 && ttl < lease {
		return s.renew(name, holder, c)
	}
	together := *c
	switch need := s.readersNeed(k); {
	case ttl >= 0 && (need+simApart >= ttl || s.w.bug == bugReadsUphold):
		together.Lease = 0
	default:
		lease = max(lease, need)
		together.Lease = time.Duration(lease) * time.Millisecond
		together.MayShorten = c.MayShorten || ttl < 0 || 10*lease < 9*ttl
	}
	return s.renew(name, holder, &together)
}

// readersNeed returns the longest lease that readers have left.
func (s *simServer) readersNeed(k *simKey) (need int64) {
	for i := range k.readers {
		if left := k.readers[i].longest() - s.clock(); left >= 0 {
			need = max(need, left, 1) // the last millisecond is not over
		}
	}
	return need
}

func (s *simServer) leaveWrite(name int, holder simHolder) actor.Reply {
	k := s.key(name)
	if k.foreign() {
		return refusedBy(errSimType)
	}
	if err := s.writable(false); err != nil {
		return refusedBy(err)
	}
	if k.holder != holder {
		return actor.Reply{Status: actor.NotFound}
	}
	s.note(name)
	s.w.names[name].written = s.w.now
	s.w.model.released(k.tenure, s.w.now)
	k.holder, k.tenure, k.count = simHolder{}, nil, 0
	if len(k.readers) == 0 {
		*k = simKey{}
	} else {
		s.fit(name)
	}
	return s.publishDone(name)
}

// forceMode takes a lock away from its readers, or from the writer and what it reads.
func (s *simServer) forceMode(name int, writes bool) actor.Reply {
	k := s.key(name)
	if !k.exists || (k.tenure != nil) != writes {
		return actor.Reply{Status: actor.NotFound}
	}
	if err := s.writable(false); err != nil {
		return refusedBy(err)
	}
	s.note(name)
	s.w.model.replaced(k, &simKey{}, s.w.now)
	*k = simKey{}
	return s.publishDone(name)
}

// readers returns the lock's state as readers see it.
func (s *simServer) readers(name int) actor.Reply {
	k := s.key(name)
	if len(k.readers) == 0 {
		return wire.NotHeld()
	}
	reply := actor.Reply{Status: actor.OK, TTL: wire.DecodeTTL(s.left(k)), Count: len(k.readers)}
	if len(k.readers) == 1 {
		reply.Holder = s.w.holderName(k.readers[0].holder)
	}
	return reply
}

// writer returns the lock's state as the writer sees it.
func (s *simServer) writer(name int) actor.Reply {
	k := s.key(name)
	if k.tenure == nil {
		return wire.NotHeld()
	}
	return actor.Reply{Status: actor.OK, TTL: wire.DecodeTTL(s.left(k)), Holder: s.w.holderName(k.holder), Count: k.count}
}
