package sim

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// simExternalClient is a client of another kind, such as Redisson, close to the server. It takes locks, holds them for
// a while, prolongs or forgets them, and listens while it waits.
type simExternalClient struct {
	w      *simWorld
	life   int // negative
	tenure uint64
	name   int
	reads  bool
	holds  bool
	waits  bool
}

func newSimExternalClient(w *simWorld, number int) *simExternalClient {
	o := &simExternalClient{w: w, life: -1 - number}
	o.thinkTime()
	return o
}

func (o *simExternalClient) thinkTime() {
	o.w.after(o.w.spread(100*time.Microsecond, 2*o.w.plan.think), func() {
		if o.w.draining {
			o.leave()
			return
		}
		o.thinkTime()
		if o.w.may("outsider", "wish") {
			o.act()
		}
	})
}

func (o *simExternalClient) act() {
	switch w := o.w; {
	case w.now < w.server.frozen || w.now < w.server.down || w.now < w.server.forcedErrorUntil:
	case o.holds && w.chance(0.6):
		o.unlock()
	case o.holds && w.chance(0.2):
		o.holds = false // its process died: the lock stays until its lease ends
	case o.holds && w.names[o.name].kind == actor.Write:
		before := w.server.key(o.name).expires
		o.asks(actor.SendReadRenew, actor.SendWriteRenew)
		if k := w.server.key(o.name); k.exists && k.expires < before {
			w.unheard(o.name, before) // a writer's shorter TTL sends no message either
		}
	case o.holds:
		if k := w.server.key(o.name); k.holder == o.holder() {
			w.unheard(o.name, k.expires) // a shorter TTL, as of a re-entry, sends no message
			w.server.expire(o.name, w.plan.fixedLease(w).Milliseconds())
		}
	case o.waits && w.chance(0.1):
		o.giveUp()
	case o.waits && w.chance(0.05):
		o.waits = false // its process died while it waited
	default:
		if !o.waits {
			o.name = w.name()
			o.tenure++
			o.reads = w.names[o.name].kind == actor.Write && w.chance(0.5)
		}
		o.try()
	}
}

func (o *simExternalClient) holder() simHolder { return holderOf(o.life, o.name, o.reads, o.tenure) }

func (o *simExternalClient) try() {
	w := o.w
	if o.holds {
		return
	}
	o.waits = true
	lease := w.plan.fixedLease(w)
	switch free := !w.server.key(o.name).exists; {
	case w.names[o.name].kind == actor.Write:
		o.holds = o.asks(actor.SendReadAcquire, actor.SendWriteAcquire)
	case o.queues():
		w.server.wall, w.server.wrote = w.server.clock(), false
		w.server.latest, w.server.late, w.server.expires, w.server.outside = 0, false, 0, true
		c := actor.Command{Lease: lease, Wait: simFairWait}
		o.holds = w.server.fairAcquire(o.name, o.holder(), &c).Status == actor.OK
		w.server.outside = false
	case free:
		w.server.create(o.name, o.holder(), lease.Milliseconds())
		o.holds = true
	}
	if !o.holds {
		return
	}
	o.waits = false
	w.tracef("outsider %d takes %s", -o.life, w.plan.names[o.name])
}

func (o *simExternalClient) unlock() {
	o.holds = false
	if o.w.names[o.name].kind == actor.Write {
		o.asks(actor.SendReadRelease, actor.SendWriteRelease)
		return
	}
	if o.w.server.key(o.name).holder != o.holder() {
		return
	}
	o.w.tracef("outsider %d releases %s", -o.life, o.w.plan.names[o.name])
	o.w.server.remove(o.name)
	o.w.server.wall, o.w.server.outside = o.w.server.clock(), true
	o.w.server.publish(o.name)
	o.w.server.outside = false
}

// asks sends the reader's or the writer's command for a read/write lock, and reports whether the server did it.
func (o *simExternalClient) asks(read, write actor.Verb) bool {
	w, verb := o.w, write
	if o.reads {
		verb = read
	}
	w.server.wrote = false
	reply := w.server.one(o.holder(), &actor.Command{Verb: verb, Lease: w.plan.fixedLease(w)})
	w.tracef("outsider %d: %s of %s: %s", -o.life, simVerbs[verb], w.plan.names[o.name], simStatuses[reply.Status])
	return reply.Status == actor.OK
}

// giveUp removes it from the queue if there is one.
func (o *simExternalClient) giveUp() {
	if o.waits && o.queues() {
		o.w.server.wall = o.w.server.clock()
		o.w.server.leave(o.name, o.holder(), simFairWait.Milliseconds())
	}
	o.waits = false
}

func (o *simExternalClient) queues() bool { return o.w.names[o.name].kind == actor.Fair }

// published wakes an outsider that waits.
func (o *simExternalClient) published(channel string) {
	if o.waits && o.hears(channel) {
		o.w.after(o.w.latency(), func() {
			if o.waits && !o.w.draining {
				o.try()
			}
		})
	}
}

func (o *simExternalClient) hears(channel string) bool {
	if o.queues() {
		return channel == o.w.names[o.name].channel+":"+o.w.holderName(o.holder())
	}
	return channel == o.w.names[o.name].channel
}

// leave ends the outsider at the end of a history.
func (o *simExternalClient) leave() {
	o.giveUp()
	if o.holds {
		o.unlock()
	}
}
