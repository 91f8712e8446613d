package actor

import (
	"slices"
	"time"
)

// ghost is an orphan: a tenure that may be in Redis, or may come back, and that has no holder to renew or release it.
// Orphans result from commands without a reply that no caller waits for any more.
type ghost struct {
	tenure uint64
	wait   time.Duration // its wait in the fair queue
	at     time.Duration // when to release it, unless the release is in flight
	until  time.Duration // when nothing of it is left in Redis, released or not
	flying bool          // its release is queued or in flight
	twice  bool          // an acquire of it may still run: release it once more later

	departed bool // its release has left

	pause time.Duration // pause before the next release; 0: the server did not permanently reject the last one
}

// haunt adds a tenure to the orphans. An orphan is released again and again until the server confirms that, or until it
// has expired by itself. It expires after its lease, after a watched lease, or when its queue place is dead, whichever
// is last.
//
// A command of it that runs even later, on a server that stood still for so long, leaves one lease that is not
// released. Without that bound, every call that is given up during an outage would cost memory until the server is
// back.
func (l *Lock) haunt(now time.Duration, tenure uint64, lease time.Duration, fx *Effects) {
	x := l.withRare()
	if tenure == 0 || x.haunted(tenure) {
		return
	}
	g := ghost{tenure: tenure, twice: x.acquiring}
	if tenure == l.tenure {
		// A release in flight belongs to the orphan from now on.
		g.flying, g.wait = l.flight == l.protocol().release, x.placed().wait
		g.departed = g.flying && l.wants&departed != 0
	}
	g.until = now + max(lease, fx.Config.Lease, g.wait)
	if l.protocol().queues && x.acquiring {
		g.until += fx.Config.Late() // an acquire may take that long to reach the server
	}
	t := x.withTroubles()
	t.ghosts = append(t.ghosts, g)
	l.numbered(tenure, fx)
}

// reach returns the longest lease that a command of the tenure may have set.
func (l *Lock) reach() time.Duration {
	if l.rare == nil {
		return max(l.until-l.confirmed, 0)
	}
	return l.rare.lease().longest
}

// ghostOf returns the orphan that a release command is for; nil if there is none or it needs no release any more. The
// check of the key is needed because a Lock may have finished since and be reused for another key.
func (l *Lock) ghostOf(c *Command) *ghost {
	if l.rare == nil || c.Verb != l.protocol().release || c.Key != l.key {
		return nil
	}
	ghosts := l.rare.ghosts()
	if i := slices.IndexFunc(ghosts, func(g ghost) bool { return g.tenure == c.Tenure }); i >= 0 {
		return &ghosts[i]
	}
	return nil
}

// putOff postpones the next release of an orphan after a permanent rejection, because the permission may be restored.
// The pauses grow until the release is sent about as often as a lock is renewed. Tries continue as long as something of
// the orphan can be left.
func (g *ghost) putOff(now time.Duration, fx *Effects) {
	g.pause = max(backoffMost, min(2*g.pause, fx.Config.Renew/2))
	g.at = now + fx.jitter(g.pause)
}

func (x *rare) haunted(tenure uint64) bool {
	return slices.ContainsFunc(x.ghosts(), func(g ghost) bool { return g.tenure == tenure })
}

// names returns the orphans, for an acquire that releases them first; nil when there are none.
func (x *rare) names() (tenures []uint64) {
	for _, g := range x.ghosts() {
		tenures = append(tenures, g.tenure)
	}
	return tenures
}

// hurry makes orphans due for release now.
func (l *Lock) hurry(now time.Duration) {
	if l.rare == nil {
		return
	}
	for i, ghosts := 0, l.rare.ghosts(); i < len(ghosts); i++ {
		ghosts[i].at = min(ghosts[i].at, now)
	}
}

// exorcise drops expired orphans, but not those with a release that has left.
func (l *Lock) exorcise(now time.Duration, fx *Effects) {
	t := l.rare.troubles
	if t == nil || len(t.ghosts) == 0 {
		return
	}
	t.ghosts = slices.DeleteFunc(t.ghosts, func(g ghost) bool {
		over := now >= g.until && !g.departed
		if over && g.flying {
			l.takeBack(l.protocol().release, fx)
		}
		return over
	})
}

// namesGhost reports whether a rejection names a tenure of this engine without a holder, which is released before or
// with the next try.
func (l *Lock) namesGhost(now time.Duration, reply *Reply, fx *Effects) bool {
	tenure, own := fx.Own(reply.Holder)
	switch {
	case reply.Holder == "":
		return reply.Doomed // what has the other half
	case !own || reply.Known && !reply.Doomed || l.rare.haunted(tenure):
		return false
	case !reply.Known:
		// No Lock of this engine knows that tenure: an acquire without a reply took it. The next try releases it.
		l.haunt(now, tenure, reply.TTL, fx)
	}
	return true
}

// Haunt makes a tenure an orphan of this Lock. It was found in Redis, and no Lock of this engine knows it. A released
// tenure can come back if a replica that did not have the release becomes the master.
func (l *Lock) Haunt(now time.Duration, tenure uint64, lease time.Duration, fx *Effects) {
	l.haunt(now, tenure, lease, fx)
}

// Doomed reports whether the tenure is an orphan of the lock and the server did not reject its release permanently.
func (l *Lock) Doomed(tenure uint64) bool {
	return l.rare != nil && slices.ContainsFunc(l.rare.ghosts(), func(g ghost) bool { return g.tenure == tenure && g.pause == 0 })
}

func (l *Lock) releaseGhosts(now time.Duration, fx *Effects) {
	ghosts := l.rare.ghosts()
	for i := range ghosts {
		if g := &ghosts[i]; !g.flying && now >= g.at {
			g.flying = true
			l.emit(fx, Command{Verb: l.protocol().release, Tenure: g.tenure, Wait: g.wait})
		}
	}
}

// outlasts returns after what time an orphan is released a second time. For a kind that queues, no acquire can run any
// more by then. For other kinds, an acquire that runs even later expires with its lease.
func (l *Lock) outlasts(fx *Effects) time.Duration {
	if l.protocol().queues {
		return fx.Config.Late() + tick(fx.Config.Lease)
	}
	return fx.Config.Timeout
}

// ghostAnswered handles the result of a command of a tenure that is not the lock's current one.
func (l *Lock) ghostAnswered(now time.Duration, c *Command, reply *Reply, fx *Effects) {
	if c.Verb != l.protocol().release || l.rare == nil || l.rare.troubles == nil {
		return
	}
	t := l.rare.troubles
	i := slices.IndexFunc(t.ghosts, func(g ghost) bool { return g.tenure == c.Tenure })
	if i < 0 {
		return
	}
	g := &t.ghosts[i]
	g.flying, g.departed = false, false
	switch {
	case reply.Status == Unanswered && !reply.Garbled:
		g.at = now
	case reply.Garbled || reply.Status == Refused && reply.passes():
		g.at = now + fx.jitter(backoffMost)
	case reply.Status == Refused && !reply.replaced():
		g.putOff(now, fx)
	case g.twice && reply.Status != Refused:
		g.twice, g.at = false, now+l.outlasts(fx)
		g.until = max(g.until, g.at+fx.Config.Timeout) // the server replies again, so the second release gets its chance
	default:
		t.ghosts = slices.Delete(t.ghosts, i, i+1)
	}
}
