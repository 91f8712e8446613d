package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// asideFirst is how long new readers let a writer of their engine come first, at first. They do it for at most
// asideMost at a time: readers of other engines may be what keeps it out.
const asideFirst, asideMost = time.Second, time.Minute

// aside is how a stream of readers does not keep a writer of the same engine out for ever: those who come
// while it waits stand aside, until it has the lock or left, or for a time that is over in any case, because
// somebody who reads may wait for them. Then they all read, and the next ones stand aside for twice as long.
type aside struct {
	until  time.Duration
	length time.Duration
}

// next is until when a reader who comes now stands aside.
func (a *aside) next(now time.Duration) time.Duration {
	if now >= a.until {
		a.length = min(max(2*a.length, asideFirst), asideMost)
		a.until = now + a.length
	}
	return a.until
}

// reader finds or makes the claim of somebody who wants to read. It decides the request, and returns nil,
// if that one does not wait and the writer, which may be nil, does.
func (c *coordinator) reader(now time.Duration, writer *actor.Lock, r *actor.Request) *actor.Lock {
	g := c.groups[r.Key]
	if r.Tag == actor.Force {
		return c.forcedReader(now, writer, r)
	}
	if l := g.holding(r.Owner, actor.Read, now); l != nil {
		return l
	}
	owns := writer != nil && writer.CountOf(r.Owner, now) > 0
	stands := !owns && writer != nil && writer.Kind() == actor.Write && writer.Pending()
	if stands && r.Once {
		c.fx.Decide(now, r, actor.ErrNotAcquired, nil)
		return nil
	}
	l := c.newReader(writer, r)
	switch {
	case owns:
		l.Beside(writer, c.numberFree(writer))
	case stands:
		l.StandAside(c.groups[r.Key].aside.next(now))
	}
	return l
}

// newReader makes a claim. From then on the writer is not handed on within this engine.
func (c *coordinator) newReader(writer *actor.Lock, r *actor.Request) *actor.Lock {
	if writer != nil && writer.Kind() == actor.Write {
		writer.Share(true)
	}
	return c.newClaim(r)
}

// forcedReader is the claim that takes the lock away from those who read. Beside a writer of this engine
// nobody is forced away, so none of its own is told that it was.
func (c *coordinator) forcedReader(now time.Duration, writer *actor.Lock, r *actor.Request) *actor.Lock {
	if writer == nil || !writer.Believed(now) {
		if l := c.groups[r.Key].claimOf(r, now); l != nil {
			return l
		}
	}
	return c.newReader(writer, r)
}

// evictReaders ends at once what this engine reads of a lock that is to be forced away from it: from its writer, with whom those
// reads end, or from one of the readers.
func (c *coordinator) evictReaders(now time.Duration, key string) {
	for _, l := range c.groups[key].believed(now) {
		if l.Kind() == actor.Read {
			c.step(now, l, &actor.Message{Kind: actor.Ousted})
		}
	}
}

// readerLeft takes in that a claim was forgotten.
func (c *coordinator) readerLeft(l *actor.Lock) {
	writer := c.locks.of(l.Key())
	if l.Kind() != actor.Read || writer == nil || writer.Kind() != actor.Write {
		return
	}
	if number := writer.Tenure(); number != 0 && l.Spoils(number) {
		writer.Spoil()
	}
	writer.Share(c.groups[l.Key()] != nil)
}

// readLess tells a writer of this engine that what it reads may need less than it did, while the TTL is as long as before, and
// until when. Only the writer knows what is needed then: the scripts of readers leave a TTL beside one alone.
func (c *coordinator) readLess(now time.Duration, key string, until time.Duration) {
	if l := c.locks.of(key); l != nil && l.Kind() == actor.Write {
		l.Raised(now, until, c.fx)
		c.step(now, l, &actor.Message{Kind: actor.Nudged})
	}
}

// upgrades reports whether a reader wants to become the writer, for which it would wait for itself.
func (c *coordinator) upgrades(now time.Duration, writer *actor.Lock, r *actor.Request) bool {
	if r.Tag != actor.Acquire || writer != nil && writer.CountOf(r.Owner, now) > 0 {
		return false
	}
	return c.groups[r.Key].holding(r.Owner, actor.Read, now) != nil
}

// callReaders tells those who stood aside that no writer waits any more.
func (c *coordinator) callReaders(now time.Duration, key string) {
	g := c.groups[key]
	if g == nil || g.aside.length == 0 {
		return
	}
	g.aside = aside{}
	c.spread(now, audience{kind: actor.Called, key: key}, g.all())
}

// callWaiting tells those who wait to read that a writer of this engine has gone, whether or not they listen. They are asked
// for before its next writer, who comes a little later.
func (c *coordinator) callWaiting(now time.Duration, key string) {
	if g := c.groups[key]; g.first((*actor.Lock).Pending) != nil {
		g.readFirst = now + c.fx.Back()
		c.spread(now, audience{kind: actor.Heard, key: key, waiting: true}, g.all())
	}
}

// letReadersPass makes a writer who comes right behind another one of this engine wait until those were asked for who waited
// to read.
func (c *coordinator) letReadersPass(now time.Duration, l *actor.Lock) {
	if g := c.groups[l.Key()]; g != nil && now < g.readFirst && !l.Busy() {
		l.StandAside(g.readFirst)
	}
}

// rumour tells the others of this engine what its own command did to a read/write lock and no message will
// tell them: some listen only when they wait, and a server may refuse messages.
func (c *coordinator) rumour(now time.Duration, command *actor.Command, reply *actor.Reply) {
	if reply.Status != actor.Done {
		return
	}
	switch command.Verb {
	case actor.SendReadForce, actor.SendWriteForce:
	case actor.SendReadRelease, actor.SendWriteRelease:
		if !reply.Muted {
			if command.Verb == actor.SendWriteRelease {
				c.callWaiting(now, command.Key)
			}
			return
		}
	default:
		return
	}
	c.spread(now, audience{kind: actor.Heard, key: command.Key}, c.groups[command.Key].all())
	if l := c.locks.of(command.Key); l != nil {
		c.step(now, l, &actor.Message{Kind: actor.Heard})
	}
}
