package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// writerPreferenceMin and writerPreferenceMax are the shortest and the longest time for which new readers let a writer
// of their engine go first. The time is bounded because readers of other engines may keep that writer out.
const writerPreferenceMin, writerPreferenceMax = time.Second, time.Minute

// writerPreference prevents a continuous stream of local readers from starving a local writer. New readers wait until
// the writer has the lock or has left, or until a deadline. The deadline always ends the wait, because a current reader
// may be waiting for one of them. Then they all read, and the next readers wait for twice as long. The zero value means
// that no reader lets a writer go first. Owned by the coordinator.
type writerPreference struct {
	until  time.Duration // the deadline
	length time.Duration // of the wait that until ends; 0: there was none since the last writer was done
}

// next returns until when a new reader waits.
func (p *writerPreference) next(now time.Duration) time.Duration {
	if now >= p.until {
		p.length = actor.NextBackoff(p.length, writerPreferenceMin, writerPreferenceMax)
		p.until = now + p.length
	}
	return p.until
}

// lockForReader returns the lock for a read request, and creates it if there is none. writer may be nil. It rejects a
// request that does not wait if the writer waits, and returns nil.
func (c *Coordinator) lockForReader(now time.Duration, writer *actor.Lock, r *actor.Request) *actor.Lock {
	set := c.LockSets[r.Key]
	if r.Op == actor.Force {
		return c.lockForForcedRead(now, writer, r)
	}
	if l := set.heldBy(r.Owner, actor.Read, now); l != nil {
		return l
	}
	ownsWriter := writer != nil && writer.HoldCount(r.Owner, now) > 0
	mustYield := !ownsWriter && writer != nil && writer.Kind() == actor.Write && writer.Awaited()
	if mustYield && r.Once {
		writer.RejectTry(now, r, c.Fx)
		return nil
	}
	l := c.newReader(writer, r)
	switch {
	case ownsWriter:
		l.ReadUnderWriter(writer, c.numberFree(writer))
	case mustYield:
		l.YieldUntil(c.LockSets[r.Key].writerPref.next(now))
	}
	return l
}

// newReader creates a reader's lock. From then on the write is not handed off within this engine.
func (c *Coordinator) newReader(writer *actor.Lock, r *actor.Request) *actor.Lock {
	if writer != nil && writer.Kind() == actor.Write {
		writer.SetLocalReaders(true)
	}
	return c.addLock(r)
}

// lockForForcedRead returns the lock that forces the readers out. Beside a writer of this engine no reader can be
// forced out. In that case it returns a new lock, so that no hold of this engine ends. A writer does not count once the
// leases of all its holds have ended, though its timer may be late: its release can be executed before the force.
func (c *Coordinator) lockForForcedRead(now time.Duration, writer *actor.Lock, r *actor.Request) *actor.Lock {
	if writer == nil || writer.HoldCount(writer.Owner(), now) == 0 {
		if l := c.LockSets[r.Key].findFor(r, now); l != nil {
			return l
		}
	}
	return c.newReader(writer, r)
}

// evictReaders ends the reads of this engine at once, before a force is sent. The force may target one of the readers.
// It may also target the writer, which ends the reads beside it.
func (c *Coordinator) evictReaders(now time.Duration, key string) {
	for _, l := range c.LockSets[key].heldAt(now) {
		if l.Kind() == actor.Read {
			c.step(now, l, &actor.Message{Event: actor.Evicted})
		}
	}
}

// onReaderGone updates the writer after a reader's lock was removed.
func (c *Coordinator) onReaderGone(l *actor.Lock) {
	writer := c.Locks.Get(l.Key())
	if l.Kind() != actor.Read || writer == nil || writer.Kind() != actor.Write {
		return
	}
	if number := writer.Tenure(); number != 0 && l.UsesNumber(number) {
		writer.BurnNumber()
	}
	writer.SetLocalReaders(c.LockSets[l.Key()] != nil)
}

// onReadLeaseLowered notifies the writer of this engine that its reads may need a shorter TTL, and until when the
// present TTL lasts. Only the writer knows what is needed then: the scripts of readers do not change the TTL of a lock
// with a writer.
func (c *Coordinator) onReadLeaseLowered(now time.Duration, key string, until time.Duration) {
	if l := c.Locks.Get(key); l != nil && l.Kind() == actor.Write {
		l.OnTTLRaised(now, until, c.Fx)
		c.step(now, l, &actor.Message{Event: actor.Recheck})
	}
}

// wouldUpgrade reports whether an owner that reads requests the write: it would wait for itself.
func (c *Coordinator) wouldUpgrade(now time.Duration, writer *actor.Lock, r *actor.Request) bool {
	if r.Op != actor.Acquire || writer != nil && writer.HoldCount(r.Owner, now) > 0 {
		return false
	}
	return c.LockSets[r.Key].heldBy(r.Owner, actor.Read, now) != nil
}

// resumeReaders wakes the readers that let a writer go first, because no writer waits any longer.
func (c *Coordinator) resumeReaders(now time.Duration, key string) {
	set := c.LockSets[key]
	if set == nil || set.writerPref.length == 0 {
		return
	}
	set.writerPref = writerPreference{}
	c.fanOut(now, recipients{event: actor.WriterGone, key: key}, set.All())
}

// notifyWaitingReaders wakes the waiting readers after a writer of this engine has released, whether or not they
// listen. Their acquires are sent before that of the next writer, which starts a little later, unless the writer's key
// was gone.
func (c *Coordinator) notifyWaitingReaders(now time.Duration, key string) {
	if set := c.LockSets[key]; set.firstAwaited() != nil {
		set.readersFirstUntil = now + c.Fx.YieldTime()
		c.fanOut(now, recipients{event: actor.Notified, key: key, waiting: true}, set.All())
	}
}

// letReadersPass delays a writer that directly follows another one of this engine, so that the acquires of the waiting
// readers are sent first.
func (c *Coordinator) letReadersPass(now time.Duration, l *actor.Lock) {
	if set := c.LockSets[l.Key()]; set != nil && now < set.readersFirstUntil && !l.Busy() {
		l.YieldUntil(set.readersFirstUntil)
	}
}

// notifyLocally notifies other locks of this engine of what its own command did to a read/write lock, where no message
// will. Some locks listen only while they wait, and a server may reject messages.
func (c *Coordinator) notifyLocally(now time.Duration, command *actor.Command, reply *actor.Reply) {
	if reply.Status != actor.OK {
		return
	}
	switch command.Verb {
	case actor.SendReadForce, actor.SendWriteForce:
	case actor.SendReadRelease, actor.SendWriteRelease:
		if !reply.Unpublished {
			if command.Verb == actor.SendWriteRelease {
				c.notifyWaitingReaders(now, command.Key)
			}
			return
		}
	default:
		return
	}
	c.fanOut(now, recipients{event: actor.Notified, key: command.Key}, c.LockSets[command.Key].All())
	if l := c.Locks.Get(command.Key); l != nil {
		c.step(now, l, &actor.Message{Event: actor.Notified})
	}
}

// notifyOtherHalf wakes those of this engine that wait for the other half of a read/write lock, after a command has
// found that the half is gone from Redis, without a message: its key was deleted or has expired. Of very many readers
// each may find that out, so only the writer hears of each.
func (c *Coordinator) notifyOtherHalf(now time.Duration, command *actor.Command) {
	switch command.Verb {
	case actor.SendReadRenew, actor.SendReadRelease:
		c.notifyWaitingWriter(now, command.Key)
	case actor.SendWriteRenew, actor.SendWriteRelease:
		c.notifyWaitingReaders(now, command.Key)
	case actor.SendReadForce, actor.SendWriteForce:
		c.notifyWaitingReaders(now, command.Key)
		c.notifyWaitingWriter(now, command.Key)
	}
}

func (c *Coordinator) notifyWaitingWriter(now time.Duration, key string) {
	if l := c.Locks.Get(key); l != nil && l.Awaited() {
		c.step(now, l, &actor.Message{Event: actor.Notified})
	}
}
