package engine

import (
	"strconv"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// A master that was a replica may still have a tenure that this engine has released. One half of a read/write lock can
// then block this engine from the other half. Such a tenure has no holder, so it is released as an orphan.

// otherHalf checks whether a read/write lock was rejected because of a tenure of this engine in the other half that has
// no holder. If so, it has the tenure released, and the lock is acquired again at once. A tenure that is being
// acquired, held or released is in use and is left alone.
func (c *coordinator) otherHalf(now time.Duration, command *actor.Command, reply *actor.Reply) {
	l := command.Lock
	if command.Tenure != l.Tenure() || command.Verb != l.UnderWay() {
		return // the reply describes the lock when another tenure was requested
	}
	if tenure, own := c.fx.Own(reply.Writer); own {
		reply.Doomed = c.endsWriter(now, l.Key(), tenure, reply.TTL)
	}
	for text := range strings.FieldsSeq(reply.Readers) {
		tenure, err := strconv.ParseUint(text, 10, 64)
		if err == nil && c.endsReader(now, l.Key(), tenure, reply.TTL) {
			reply.Doomed = true
		}
	}
}

// endsWriter has a writer's tenure released if it has no holder, and reports whether that will happen.
func (c *coordinator) endsWriter(now time.Duration, key string, tenure uint64, ttl time.Duration) bool {
	l, at := c.locks.find(key)
	switch {
	case l == nil:
		l = c.begin(key, actor.Write)
		c.locks.put(at, l)
	case l.Kind() != actor.Write && l.Busy():
		return false
	case l.Kind() != actor.Write:
		l.Become(actor.Write, c.fx)
	}
	return !l.Knows(tenure) && c.ends(now, l, tenure, ttl)
}

// endsReader does the same for a reader's tenure. That tenure has a lock until it is released.
func (c *coordinator) endsReader(now time.Duration, key string, tenure uint64, ttl time.Duration) bool {
	g := c.groups[key]
	l := g.having(tenure)
	switch {
	case l != nil:
		return !l.Knows(tenure) && c.ends(now, l, tenure, ttl)
	case g.spoils(tenure):
		return false // a reader acquires with it, or will
	}
	if g == nil {
		g = &group{}
		c.groups[key] = g
	}
	l = c.begin(key, actor.Read)
	g.claims.add(l)
	return c.ends(now, l, tenure, ttl)
}

// spoils reports whether a lock may acquire with a number that it does not have yet: that of its owner's writer. If
// there are very many locks, it examines only those of requests with an owner.
func (g *group) spoils(number uint64) bool {
	if g == nil || g.claims.few() {
		return g.first(func(l *actor.Lock) bool { return l.Spoils(number) }) != nil
	}
	for l := range g.owners.of {
		if l.Spoils(number) {
			return true
		}
	}
	return false
}

// ends has a lock release an orphan now. It returns false if the server has permanently rejected the release.
func (c *coordinator) ends(now time.Duration, l *actor.Lock, tenure uint64, ttl time.Duration) bool {
	if !l.Haunted(tenure) {
		l.Haunt(now, tenure, ttl, c.fx)
	} else if !l.Doomed(tenure) {
		return false
	}
	c.step(now, l, &actor.Message{Kind: actor.Found})
	return true
}
