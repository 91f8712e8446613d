package engine

import (
	"strconv"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// A master that follows another one may have a tenure again that this engine released. Of a read/write lock it can be one half
// that keeps this engine from the other. Nobody has it, so it is released as what it is.

// otherHalf looks whether a read/write lock is refused for a tenure of this engine in its other half that nobody has, and has
// that released: then the lock is asked for again at once. A tenure that is asked for, held, or being released is somebody's.
func (c *coordinator) otherHalf(now time.Duration, command *actor.Command, reply *actor.Reply) {
	l := command.Lock
	if command.Tenure != l.Tenure() || command.Verb != l.UnderWay() {
		return // it tells how the lock was when another tenure was asked for
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

// endsWriter has the tenure of a writer released if nobody has it, and reports whether that is so.
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

// endsReader does so with the tenure of a reader. Until it is released it has a claim.
func (c *coordinator) endsReader(now time.Duration, key string, tenure uint64, ttl time.Duration) bool {
	g := c.groups[key]
	l := g.having(tenure)
	switch {
	case l != nil:
		return !l.Knows(tenure) && c.ends(now, l, tenure, ttl)
	case g.spoils(tenure):
		return false // a reader asks for it, or will
	}
	if g == nil {
		g = &group{}
		c.groups[key] = g
	}
	l = c.begin(key, actor.Read)
	g.claims.add(l)
	return c.ends(now, l, tenure, ttl)
}

// spoils reports whether a claim may ask with a number that it does not have yet: that of its owner's writer. Of very many
// claims only who asked as an owner can do that.
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

// ends has a lock release a tenure that nobody has, now, and reports whether the server may let it.
func (c *coordinator) ends(now time.Duration, l *actor.Lock, tenure uint64, ttl time.Duration) bool {
	if !l.Haunted(tenure) {
		l.Haunt(now, tenure, ttl, c.fx)
	} else if !l.Doomed(tenure) {
		return false
	}
	c.step(now, l, &actor.Message{Kind: actor.Found})
	return true
}
