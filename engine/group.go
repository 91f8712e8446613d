package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// group holds the locks of one name, for kinds with one lock per request, where each first grant is a tenure of its
// own. A request that re-enters goes to the lock of its owner. Every other request gets a new lock. A nil group is
// empty. Owned by the coordinator.
type group struct {
	claims claims
	owners owners
	known  *known // indexes; nil while there are few locks, which are searched linearly
	aside  aside  // for readers

	readFirst time.Duration // until then, a new writer lets waiting readers go first

	undoneAt time.Duration // when the waiting readers were last notified that too few replicas have a grant
}

// claim returns the lock for a new request, and creates it if there is none. It returns nil after rejecting a request
// that does not wait while another request of this engine does. So no request overtakes a local waiter, even if the
// server does not know of that waiter yet.
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
		g.many() // built as soon as there are many, so that no single step has to build it for very many
	}
	return l
}

// claimOf returns an existing lock for the request: its owner's, for re-entry, or a held one, for a force. It returns
// nil if the request needs a new lock.
func (g *group) claimOf(r *actor.Request, now time.Duration) *actor.Lock {
	if r.Tag == actor.Force {
		return g.firstGranted(func(l *actor.Lock) bool { return l.Kind() == r.Kind && l.Believed(now) })
	}
	return g.holding(r.Owner, r.Kind, now)
}

// holding returns the lock of that kind in which an owner has a hold, or nil.
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

// of returns a copy of the locks that an owner may hold.
func (g *group) of(owner uint64) []*actor.Lock {
	if g == nil || g.claims.few() {
		return g.all()
	}
	if its := g.many().holders.claims[owner]; its != nil {
		return its.all()
	}
	return nil
}

// clashing returns a lock that excludes that kind from the name, or nil.
func (g *group) clashing(kind actor.LockKind) *actor.Lock {
	if g == nil || g.claims.youngest().Kind().Suits(kind) {
		return nil // the youngest was admitted, so no lock of another kind is in use
	}
	return g.first(func(l *actor.Lock) bool { return !l.Kind().Suits(kind) && l.Busy() })
}

// all returns a copy of the locks, because the caller may end them while it iterates.
func (g *group) all() []*actor.Lock {
	if g == nil {
		return nil
	}
	return g.claims.all()
}

// believed returns a copy of the locks that are validly held at that moment.
func (g *group) believed(now time.Duration) []*actor.Lock {
	if g == nil || g.claims.few() {
		return g.those(func(l *actor.Lock) bool { return l.Believed(now) })
	}
	return g.many().believed(now)
}

// granted returns a copy of the held locks. Their validity may have ended, and among very many locks some may have been
// held only before. It does not examine the locks if there are very many.
func (g *group) granted() []*actor.Lock {
	if g == nil || g.claims.few() {
		return g.those((*actor.Lock).Granted)
	}
	return g.many().held.all()
}

// firstGranted returns a granted lock that satisfies is, or nil.
func (g *group) firstGranted(is func(*actor.Lock) bool) *actor.Lock {
	if g == nil || g.claims.few() {
		return g.first(is)
	}
	return g.many().held.first(is)
}

// those returns a copy of the locks that satisfy are.
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

// tellHolder sets reply.Known if a lock of this engine has the tenure that a reply names as the holder. If that tenure
// is an orphan, it is in the way: tellHolder has it released at once and also sets reply.Doomed.
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

// having returns the lock with that tenure, or else the lock that is to release it as an orphan. It returns nil if
// there is none.
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

// tellPlace sets reply.Preceded if another waiter of this engine is ahead of the command's waiter in the fair queue.
// Waiters queue in the order of their tenures. The exception is a waiter that lost its acquire: then both poll as the
// head.
func (c *coordinator) tellPlace(now time.Duration, command *actor.Command, reply *actor.Reply) {
	if reply.Holder != "" || !command.Lock.Kind().Queues() {
		return
	}
	foremost := c.groups[command.Key].foremost()
	if reply.Preceded = foremost != nil && foremost.Tenure() < command.Tenure; reply.Preceded {
		c.step(now, foremost, &actor.Message{Kind: actor.Foremost, Reply: reply})
	}
}

// tellClaims applies what a reply means for other locks of the name, before the command's lock is stepped. It
// determines who the holder is, and which locks can no longer be held.
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

// displace ends the holds of this engine that a grant excludes. For a read/write lock these can be the writer or all
// readers.
func (c *coordinator) displace(now time.Duration, granted *actor.Command) {
	ruledOut := func(l *actor.Lock) bool {
		return l != granted.Lock && l.Believed(now) && granted.Displaces(l)
	}
	if l := c.locks.of(granted.Key); l != nil && ruledOut(l) {
		c.step(now, l, &actor.Message{Kind: actor.Displaced})
	}
	if granted.Lock.Kind().Shared() {
		return // readers exclude no readers, and there may be very many
	}
	for _, l := range c.groups[granted.Key].believed(now) {
		if ruledOut(l) {
			c.step(now, l, &actor.Message{Kind: actor.Displaced})
		}
	}
}

// forced notifies the held locks of the name that the lock was forced away from its holders. A lock may have been
// granted after that, so each one checks with the server.
func (c *coordinator) forced(now time.Duration, command *actor.Command) {
	if held := c.groups[command.Key].granted(); len(held) > 0 {
		c.spread(now, audience{kind: actor.Heard, key: command.Key}, held)
	}
}

// leaveGroup removes a finished lock from its group.
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

// callForemost notifies the head of the local waiters after a lock was removed.
func (c *coordinator) callForemost(now time.Duration, key string) {
	if next := c.groups[key].foremost(); next != nil {
		c.step(now, next, &actor.Message{Kind: actor.Foremost})
	}
}

// foremost returns the oldest lock that waits in the fair queue, or nil.
func (g *group) foremost() *actor.Lock {
	if g == nil {
		return nil
	}
	return g.claims.foremost()
}

// placed notes that a lock may wait in the fair queue from now on.
func (g *group) placed(l *actor.Lock) {
	if g != nil {
		g.claims.placed(l)
	}
}
