package engine

import "time"

// simOutsider is a client of another kind, Redisson say, close to the server: it takes locks, holds them
// for a while, prolongs them or forgets them, and listens while it waits.
type simOutsider struct {
	w      *simWorld
	life   int // negative
	tenure uint64
	name   int
	holds  bool
	waits  bool
}

func newSimOutsider(w *simWorld, number int) *simOutsider {
	o := &simOutsider{w: w, life: -1 - number}
	o.think()
	return o
}

func (o *simOutsider) think() {
	o.w.after(o.w.spread(100*time.Microsecond, 2*o.w.plan.think), func() {
		if o.w.tired {
			o.leave()
			return
		}
		o.think()
		if o.w.may("outsider", "wish") {
			o.act()
		}
	})
}

func (o *simOutsider) act() {
	switch w := o.w; {
	case w.now < w.server.frozen || w.now < w.server.down || w.now < w.server.moody:
	case o.holds && w.chance(0.6):
		o.unlock()
	case o.holds && w.chance(0.2):
		o.holds = false // its process died: the lock is left to its lease
	case o.holds:
		if k := w.server.key(o.name); k.holder == o.holder() {
			w.server.expire(o.name, w.plan.fixedLease(w).Milliseconds())
		}
	case o.waits && w.chance(0.1):
		o.waits = false
	default:
		o.name = w.name()
		o.try()
	}
}

func (o *simOutsider) holder() simHolder { return simHolder{o.life, o.tenure} }

func (o *simOutsider) try() {
	w := o.w
	if o.holds || w.server.key(o.name).exists {
		o.waits = !o.holds
		return
	}
	o.tenure++
	o.holds, o.waits = true, false
	w.server.create(o.name, o.holder(), w.plan.fixedLease(w).Milliseconds())
	w.tracef("outsider %d takes %s", -o.life, w.plan.names[o.name])
}

func (o *simOutsider) unlock() {
	o.holds = false
	if o.w.server.key(o.name).holder != o.holder() {
		return
	}
	o.w.tracef("outsider %d releases %s", -o.life, o.w.plan.names[o.name])
	o.w.server.remove(o.name)
	o.w.server.publish(o.name)
}

// published wakes an outsider that waits.
func (o *simOutsider) published(channel string) {
	if o.waits && o.w.names[o.name].channel == channel {
		o.w.after(o.w.latency(), func() {
			if o.waits && !o.w.tired {
				o.try()
			}
		})
	}
}

// leave is for the end.
func (o *simOutsider) leave() {
	o.waits = false
	if o.holds {
		o.unlock()
	}
}
