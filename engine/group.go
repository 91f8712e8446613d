package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// group is the claims on one name: the actors of a kind of lock of which each first grant is a tenure of
// its own. A request that re-enters goes to the claim of its owner, every other one begins a claim. A nil
// group has no claims. Owned by the coordinator.
type group struct {
	claims claims
	owners owners
	known  *known // nil while there are few claims, which are looked through
	aside  aside  // of readers

	readFirst time.Duration // until when a writer who comes lets those go first who wait to read

	undoneAt time.Duration // when those who wait to read were told last that too few replicas have what one of them was granted
}

// claim finds or makes the claim that a new request is for. It decides the request, and returns nil, if that
// one does not wait and another of this engine does: nobody is overtaken, also when the server does not know
// of that one yet.
func (c *coordinator) claim(now time.Duration, r *actor.Request) *actor.Lock {
	g := c.groups[r.Key]
	if l := g.claimOf(r, now); l != nil {
		return l
	}
	if r.Tag == actor.Acquire && r.Once {
		if before := g.first((*actor.Lock).Pending); before != nil {
			before.TurnAway(now, r, c.fx)
			return nil
		}
	}
	return c.newClaim(r)
}

func (c *coordinator) newClaim(r *actor.Request) *actor.Lock {
	g := c.groups[r.Key]
	if g == nil {
		g = &group{}
		c.groups[r.Key] = g
	}
	l := c.begin(r.Key, r.Kind)
	if before := g.claims.youngest(); before != nil {
		l.Follow(before, r, c.fx)
	}
	g.claims.add(l)
	g.owners.add(l, r.Owner)
	if !g.claims.few() {
		g.many() // from the first on that are many, or it would have to look at very many at once
	}
	return l
}

// claimOf is the claim that understands a request already: of the owner who re-enters, or that is held and
// is to be forced away. nil if it needs one of its own.
func (g *group) claimOf(r *actor.Request, now time.Duration) *actor.Lock {
	if r.Tag == actor.Force {
		return g.firstGranted(func(l *actor.Lock) bool { return l.Kind() == r.Kind && l.Believed(now) })
	}
	return g.holding(r.Owner, r.Kind, now)
}

// holding is the claim of that kind in which an owner has a hold.
func (g *group) holding(owner uint64, kind actor.LockKind, now time.Duration) *actor.Lock {
	if owner == 0 || g == nil {
		return nil
	}
	is := func(l *actor.Lock) bool { return l.Kind() == kind && l.CountOf(owner, now) > 0 }
	if g.claims.few() {
		return g.first(is)
	}
	if its := g.many().holders.claims[owner]; its != nil {
		return its.first(is)
	}
	return nil
}

// of is a copy of the claims that an owner may hold.
func (g *group) of(owner uint64) []*actor.Lock {
	if g == nil || g.claims.few() {
		return g.all()
	}
	if its := g.many().holders.claims[owner]; its != nil {
		return its.all()
	}
	return nil
}

// clashing is a claim with which that kind of lock cannot be in use under one name.
func (g *group) clashing(kind actor.LockKind) *actor.Lock {
	if g == nil || g.claims.youngest().Kind().Suits(kind) {
		return nil // the youngest was let in, so no other is in use
	}
	return g.first(func(l *actor.Lock) bool { return !l.Kind().Suits(kind) && l.Busy() })
}

// all is a copy of the claims: whoever goes through it may end them.
func (g *group) all() []*actor.Lock {
	if g == nil {
		return nil
	}
	return g.claims.all()
}

// believed is a copy of those that are held at that moment.
func (g *group) believed(now time.Duration) []*actor.Lock {
	if g == nil || g.claims.few() {
		return g.those(func(l *actor.Lock) bool { return l.Believed(now) })
	}
	return g.many().believed(now)
}

// granted is a copy of those that are held, maybe not believed in any more, and some that were. None is looked at where they are very many.
func (g *group) granted() []*actor.Lock {
	if g == nil || g.claims.few() {
		return g.those((*actor.Lock).Granted)
	}
	return g.many().held.all()
}

// firstGranted is one of those that is so; nil if none is.
func (g *group) firstGranted(is func(*actor.Lock) bool) *actor.Lock {
	if g == nil || g.claims.few() {
		return g.first(is)
	}
	return g.many().held.first(is)
}

// those is a copy of some.
func (g *group) those(are func(*actor.Lock) bool) []*actor.Lock {
	if g == nil {
		return nil
	}
	return g.claims.those(are)
}

func (g *group) first(is func(*actor.Lock) bool) *actor.Lock {
	if g == nil {
		return nil
	}
	return g.claims.first(is)
}

// tellHolder says of an answer that names a holder whether that is a claim of this engine. A ghost of one is
// released at once: it is in the way.
func (c *coordinator) tellHolder(now time.Duration, command *actor.Command, reply *actor.Reply) {
	tenure, own := c.fx.Own(reply.Holder)
	if !own {
		return
	}
	l := c.groups[command.Key].having(tenure)
	switch {
	case l == nil:
	case l.Knows(tenure):
		reply.Known = true
	default:
		reply.Known, reply.Doomed = true, true
		c.step(now, l, &actor.Message{Kind: actor.Found})
	}
}

// having is the claim with that tenure, or else one that is to release it; nil if there is none.
func (g *group) having(tenure uint64) *actor.Lock {
	switch {
	case g == nil:
		return nil
	case !g.claims.few():
		return g.many().tenures.having(tenure)
	}
	if l := g.first(func(l *actor.Lock) bool { return l.Knows(tenure) }); l != nil {
		return l
	}
	return g.first(func(l *actor.Lock) bool { return l.Haunted(tenure) })
}

// tellPlace says of an answer that somebody else of the queue comes first whether one of this engine does, too.
// Places are in the order of the tenures, but for one whose question was lost: then both ask as the foremost.
func (c *coordinator) tellPlace(now time.Duration, command *actor.Command, reply *actor.Reply) {
	if reply.Holder != "" || !command.Lock.Kind().Queues() {
		return
	}
	foremost := c.groups[command.Key].foremost()
	if reply.Preceded = foremost != nil && foremost.Tenure() < command.Tenure; reply.Preceded {
		c.step(now, foremost, &actor.Message{Kind: actor.Foremost, Reply: reply})
	}
}

// tellClaims tells those who have or want a lock of which there are claims what an answer to one of them means to
// the others, before that one has it: who the holder is, and who cannot be it any more.
func (c *coordinator) tellClaims(now time.Duration, b *batch, command *actor.Command, reply *actor.Reply) {
	switch kind := command.Lock.Kind(); {
	case reply.Status == actor.Taken && kind.Claims():
		c.compareClocks(now, b, reply.Clock)
		c.tellHolder(now, command, reply)
		c.tellPlace(now, command, reply)
	case reply.Status == actor.Done && kind.Granted(command, b.sent, now):
		c.displace(now, command)
	}
}

// displace ends what others of this engine believe in and a grant rules out. Of a read/write lock that can be the
// writer, or all readers.
func (c *coordinator) displace(now time.Duration, granted *actor.Command) {
	ruledOut := func(l *actor.Lock) bool {
		return l != granted.Lock && l.Believed(now) && granted.Displaces(l)
	}
	if l := c.locks.of(granted.Key); l != nil && ruledOut(l) {
		c.step(now, l, &actor.Message{Kind: actor.Displaced})
	}
	if granted.Lock.Kind().Shared() {
		return // with all the claims there can be, which may be very many
	}
	for _, l := range c.groups[granted.Key].believed(now) {
		if ruledOut(l) {
			c.step(now, l, &actor.Message{Kind: actor.Displaced})
		}
	}
}

// forced tells the claims that are held that the lock was forced away from whoever held it then. They may
// have come after that, so they ask.
func (c *coordinator) forced(now time.Duration, command *actor.Command) {
	if held := c.groups[command.Key].granted(); len(held) > 0 {
		c.spread(now, audience{kind: actor.Heard, key: command.Key}, held)
	}
}

// leaveGroup takes a claim with nothing left to do out of its group.
func (c *coordinator) leaveGroup(l *actor.Lock) {
	g := c.groups[l.Key()]
	g.claims.remove(l)
	g.owners.remove(l)
	if g.claims.few() {
		g.known = nil
	}
	if g.known != nil {
		g.known.remove(l)
	}
	if g.claims.len() == 0 {
		delete(c.groups, l.Key())
	}
}

// callForemost tells the one that is foremost in a queue now that a claim is gone.
func (c *coordinator) callForemost(now time.Duration, key string) {
	if next := c.groups[key].foremost(); next != nil {
		c.step(now, next, &actor.Message{Kind: actor.Foremost})
	}
}

// foremost is the oldest that has a place in the queue; nil if none has.
func (g *group) foremost() *actor.Lock {
	if g == nil {
		return nil
	}
	return g.claims.foremost()
}

// placed takes in that a claim may have a place in the queue since.
func (g *group) placed(l *actor.Lock) {
	if g != nil {
		g.claims.placed(l)
	}
}
