package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// asideFirst and asideMost are the shortest and the longest time for which new readers let a writer of their engine go
// first. The time is bounded because readers of other engines may keep that writer out.
const asideFirst, asideMost = time.Second, time.Minute

// aside prevents a continuous stream of local readers from starving a local writer. New readers wait until the writer
// has the lock or has left, or until a deadline. The deadline always ends the wait, because a current reader may be
// waiting for one of them. Then they all read, and the next readers wait for twice as long.
type aside struct {
	until  time.Duration
	length time.Duration
}

// next returns until when a new reader waits.
func (a *aside) next(now time.Duration) time.Duration {
	if now >= a.until {
		a.length = min(max(2*a.length, asideFirst), asideMost)
		a.until = now + a.length
	}
	return a.until
}

// reader returns the lock for a read request, and creates it if there is none. writer may be nil. It rejects a request
// that does not wait if the writer waits, and returns nil.
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

// newReader creates a reader's lock. From then on the write is not handed off within this engine.
func (c *coordinator) newReader(writer *actor.Lock, r *actor.Request) *actor.Lock {
	if writer != nil && writer.Kind() == actor.Write {
		writer.Share(true)
	}
	return c.newClaim(r)
}

// forcedReader returns the lock that forces the readers out. Beside a writer of this engine no reader can be forced
// out. In that case it returns a new lock, so that no hold of this engine ends.
func (c *coordinator) forcedReader(now time.Duration, writer *actor.Lock, r *actor.Request) *actor.Lock {
	if writer == nil || !writer.Believed(now) {
		if l := c.groups[r.Key].claimOf(r, now); l != nil {
			return l
		}
	}
	return c.newReader(writer, r)
}

// evictReaders ends the reads of this engine at once, before a force is sent. The force may target one of the readers.
// It may also target the writer, which ends the reads beside it.
func (c *coordinator) evictReaders(now time.Duration, key string) {
	for _, l := range c.groups[key].believed(now) {
		if l.Kind() == actor.Read {
			c.step(now, l, &actor.Message{Kind: actor.Ousted})
		}
	}
}

// readerLeft updates the writer after a reader's lock was removed.
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

// readLess notifies the writer of this engine that its reads may need a shorter TTL, and until when the present TTL
// lasts. Only the writer knows what is needed then: the scripts of readers do not change the TTL of a lock with a
// writer.
func (c *coordinator) readLess(now time.Duration, key string, until time.Duration) {
	if l := c.locks.of(key); l != nil && l.Kind() == actor.Write {
		l.Raised(now, until, c.fx)
		c.step(now, l, &actor.Message{Kind: actor.Nudged})
	}
}

// upgrades reports whether an owner that reads requests the write: it would wait for itself.
func (c *coordinator) upgrades(now time.Duration, writer *actor.Lock, r *actor.Request) bool {
	if r.Tag != actor.Acquire || writer != nil && writer.CountOf(r.Owner, now) > 0 {
		return false
	}
	return c.groups[r.Key].holding(r.Owner, actor.Read, now) != nil
}

// callReaders wakes the readers that let a writer go first, because no writer waits any longer.
func (c *coordinator) callReaders(now time.Duration, key string) {
	g := c.groups[key]
	if g == nil || g.aside.length == 0 {
		return
	}
	g.aside = aside{}
	c.spread(now, audience{kind: actor.Called, key: key}, g.all())
}

// callWaiting wakes the waiting readers after a writer of this engine has released, whether or not they listen. Their
// acquires are sent before that of the next writer, which starts a little later.
func (c *coordinator) callWaiting(now time.Duration, key string) {
	if g := c.groups[key]; g.first((*actor.Lock).Pending) != nil {
		g.readFirst = now + c.fx.Back()
		c.spread(now, audience{kind: actor.Heard, key: key, waiting: true}, g.all())
	}
}

// letReadersPass delays a writer that directly follows another one of this engine, so that the acquires of the waiting
// readers are sent first.
func (c *coordinator) letReadersPass(now time.Duration, l *actor.Lock) {
	if g := c.groups[l.Key()]; g != nil && now < g.readFirst && !l.Busy() {
		l.StandAside(g.readFirst)
	}
}

// rumour notifies other locks of this engine of what its own command did to a read/write lock, where no message will.
// Some locks listen only while they wait, and a server may reject messages.
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
