package sim

import (
	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/wire"
)

func (s *simServer) acquire(name int, holder simHolder, lease int64) actor.Reply {
	k := s.key(name)
	if !k.exists {
		if err := s.writable(true); err != nil {
			return refusedBy(err)
		}
		s.create(name, holder, lease)
		return done()
	}
	if k.foreign() {
		return refusedBy(errSimType)
	}
	if k.holder == holder {
		if k.expires != simForever && k.expires-s.clock() >= lease {
			return done()
		}
		if err := s.writable(false); err != nil {
			return refusedBy(err)
		}
		s.expire(name, lease)
		return done()
	}
	return s.taken(k)
}

// taken returns the reply for a key that another holder has.
func (s *simServer) taken(k *simKey) actor.Reply {
	reply := actor.Reply{Status: actor.HeldByOther, TTL: wire.DecodeTTL(s.left(k))}
	if k.expires != simForever && k.tenure != nil {
		reply.Holder = s.w.holderName(k.holder)
	}
	return reply
}

// left is PTTL.
func (s *simServer) left(k *simKey) int64 {
	switch {
	case !k.exists:
		return -2
	case k.expires == simForever:
		return -1
	}
	return k.expires - s.clock()
}

// fencedAcquire increments the counter before it takes a free lock, and otherwise returns the number from then.
func (s *simServer) fencedAcquire(name int, holder simHolder, lease int64) actor.Reply {
	if !s.key(name).exists {
		if err := s.count(name); err != nil {
			return refusedBy(err)
		}
	}
	reply := s.acquire(name, holder, lease)
	if reply.Status != actor.OK {
		return reply
	}
	if s.tokens[name] == 0 {
		if err := s.count(name); err != nil {
			return refusedBy(err)
		}
	}
	reply.Token = s.tokens[name]
	return reply
}

// fencedRenew increments the counter once for each token that it is to continue from.
func (s *simServer) fencedRenew(name int, holder simHolder, c *actor.Command) actor.Reply {
	reply := s.renew(name, holder, c)
	if reply.Status != actor.OK {
		return reply
	}
	if s.tokens[name] == 0 || s.tokens[name] == c.Token {
		if err := s.count(name); err != nil {
			return refusedBy(err)
		}
	}
	reply.Token = s.tokens[name]
	return reply
}

// count is INCR.
func (s *simServer) count(name int) error {
	err := s.writable(true)
	if err == nil {
		s.note(name)
		s.tokens[name]++
	}
	return err
}

func (s *simServer) releaseOrphan(orphan simHolder) {
	name := orphan.name()
	k := s.key(name)
	switch {
	case orphan.reads():
		s.leaveRead(name, orphan)
	case s.w.names[name].kind == actor.Write:
		s.leaveWrite(name, orphan)
	case s.writable(false) == nil && k.holder == orphan:
		s.remove(name)
		s.publish(name)
	}
}

func (s *simServer) renew(name int, holder simHolder, c *actor.Command) actor.Reply {
	k := s.key(name)
	switch {
	case !k.exists:
		return actor.Reply{Status: actor.NotFound}
	case k.foreign():
		return refusedBy(errSimType)
	case k.holder != holder:
		return actor.Reply{Status: actor.NotFound}
	}
	if lease := wire.Milliseconds(c.Lease); lease != 0 {
		if err := s.writable(false); err != nil {
			return refusedBy(err)
		}
		before := s.left(k)
		s.expire(name, lease)
		// The script also notifies of a fall by more than a tenth that was not asked for. No engine may rely on that.
		if c.MayShorten && (before < 0 || before > lease) {
			s.publish(name)
			s.w.cover(coverTTLFell)
		}
	}
	if !wire.HasExtras(c) {
		return done()
	}
	reply := actor.Reply{Status: actor.OK, Listeners: -1}
	if c.Count != 0 {
		if reply.CountNotStored = s.writable(true) != nil; !reply.CountNotStored {
			s.note(name)
			k.count = int(c.Count)
			k.tenure.recounted = k.tenure.recounted || s.w.model.late
		}
	}
	if c.CountListeners {
		reply.Listeners = s.listeners(name)
	}
	return reply
}

func (s *simServer) release(name int, holder simHolder) actor.Reply {
	reply := s.drop(name, holder)
	if reply.Status == actor.OK && s.w.bug != bugKeepsReleased {
		reply.Unpublished = !s.publish(name)
	}
	return reply
}

// drop is a release that publishes nothing.
func (s *simServer) drop(name int, holder simHolder) actor.Reply {
	k := s.key(name)
	if err := s.writable(false); err != nil {
		return refusedBy(err)
	}
	switch {
	case k.foreign():
		return refusedBy(errSimType)
	case !k.exists || k.holder != holder:
		return actor.Reply{Status: actor.NotFound}
	case s.w.bug == bugKeepsReleased:
		return done()
	}
	s.remove(name)
	return done()
}

func (s *simServer) force(name int) actor.Reply {
	k := s.key(name)
	switch {
	case !k.exists:
		return actor.Reply{Status: actor.NotFound}
	case k.foreign():
		return refusedBy(errSimType)
	}
	if err := s.writable(false); err != nil {
		return refusedBy(err)
	}
	s.note(name)
	s.tellHolder(name, k.holder)
	s.w.model.replaced(k, &simKey{}, s.w.now)
	*k = simKey{}
	if !s.publish(name) {
		return actor.Reply{Status: actor.OK, Unpublished: true}
	}
	return done()
}

// tellHolder tells the engine of a holder that its lock was taken away, now and then.
func (s *simServer) tellHolder(name int, holder simHolder) {
	for _, e := range s.w.engines {
		if e.life == int(holder.life) && s.w.chance(0.8) {
			s.w.cover(coverHolderTold)
			s.w.after(s.w.latency(), func() { e.isTold(name) })
		}
	}
}

// onlyHints reports whether there are messages, and each says that a lock was forced.
func onlyHints(m *coordinator.LoopMessage) bool {
	for at := m; at != nil; at = at.Next {
		if _, ok := at.Value.(coordinator.LockForced); !ok {
			return false
		}
	}
	return m != nil
}

// isTold delivers a message on the engine's own channel.
func (e *simEngine) isTold(name int) {
	e.tracef("◀ told that %s was forced", e.w.plan.names[name])
	e.post(&coordinator.LoopMessage{Value: coordinator.LockForced{Key: e.w.plan.names[name]}})
}

func (s *simServer) state(name int) actor.Reply {
	k := s.key(name)
	switch {
	case !k.exists:
		return actor.Reply{Status: actor.OK, TTL: -2}
	case k.foreign():
		return refusedBy(errSimType)
	}
	return actor.Reply{Status: actor.OK, TTL: wire.DecodeTTL(s.left(k)), Holder: s.w.holderName(k.holder), Count: k.count}
}

func done() actor.Reply { return actor.Reply{Status: actor.OK, Listeners: -1} }

func refusedBy(err error) actor.Reply { return actor.Reply{Status: actor.Rejected, Err: err} }

// publish notifies all listeners on a name's channel, and reports whether the server allowed it.
func (s *simServer) publish(name int) bool {
	channel, err := s.channelFor(name)
	if channel == "" && err == nil {
		return true
	}
	if s.w.now < s.publishForbiddenUntil || err != nil {
		s.w.unheardFor(s.w.names[name].channel)
		s.w.cover(coverUnpublished)
		return false
	}
	s.publishTo(channel)
	if s.w.names[name].kind == actor.Fair {
		s.publishFurther(name)
	}
	return true
}

// publishTo brings a message to the listeners.
func (s *simServer) publishTo(channel string) {
	if s.w.now < s.publishForbiddenUntil {
		return
	}
	for _, e := range s.w.engines {
		e.pubsub.published(channel)
	}
	for _, o := range s.w.externalClients {
		o.published(channel)
	}
}

// listeners is NUMSUB of a name's channel.
func (s *simServer) listeners(name int) (count int) {
	channel := s.w.names[name].channel
	for _, e := range s.w.engines {
		count += e.pubsub.listenerCount(channel)
	}
	for _, o := range s.w.externalClients {
		if o.waits && s.w.names[o.name].channel == channel {
			count++
		}
	}
	return count
}
