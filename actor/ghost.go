package actor

import (
	"slices"
	"time"
)

// ghost is a tenure that may be in Redis, or may come back, with nobody to renew or release it: what is
// left when a command has no answer and nobody waits for it any more.
type ghost struct {
	tenure uint64
	wait   time.Duration // with which it queued
	at     time.Duration // when to release it, unless that is under way
	until  time.Duration // then nothing of it is left in Redis, released or not
	flying bool
	twice  bool // an acquire of it may still run: release it once more later

	departed bool // its release has left

	pause time.Duration // after which it is sent again; 0: the server did not refuse it for good
}

// haunt puts a tenure on the list of those to be released until the server confirms it, or until it is over by
// itself: in Redis it is for as long as lease or a watched one, or as it counts as alive in a queue. A command of it
// that runs later still, at a server that stood still for so long, leaves one lease that nobody releases: if there were
// no end to this, every call that is given up during an outage would cost memory until the server is back.
func (l *Lock) haunt(now time.Duration, tenure uint64, lease time.Duration, fx *Effects) {
	x := l.withRare()
	if tenure == 0 || x.haunted(tenure) {
		return
	}
	g := ghost{tenure: tenure, twice: x.acquiring}
	if tenure == l.tenure {
		// A release under way is the ghost's from now on.
		g.flying, g.wait = l.flight == l.protocol().release, x.placed().wait
		g.departed = g.flying && l.wants&departed != 0
	}
	g.until = now + max(lease, fx.Config.Lease, g.wait)
	if l.protocol().queues && x.acquiring {
		g.until += fx.Config.Late() // so long it may take to come to the server
	}
	t := x.withTroubles()
	t.ghosts = append(t.ghosts, g)
	l.numbered(tenure, fx)
}

// reach is the longest lease that a command of the tenure may have set.
func (l *Lock) reach() time.Duration {
	if l.rare == nil {
		return max(l.until-l.confirmed, 0)
	}
	return l.rare.lease().longest
}

// ghostOf is whose release a command is; nil if it is none, or if there is nothing to release any more. A Lock may have
// finished since, and be another key's.
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

// putOff has a ghost whose release the server refused for good released later: the right to may be given back. It is sent ever
// more rarely, down to as often as a lock is renewed, for as long as anything can be left.
func (g *ghost) putOff(now time.Duration, fx *Effects) {
	g.pause = max(backoffMost, min(2*g.pause, fx.Config.Renew/2))
	g.at = now + fx.jitter(g.pause)
}

func (x *rare) haunted(tenure uint64) bool {
	return slices.ContainsFunc(x.ghosts(), func(g ghost) bool { return g.tenure == tenure })
}

// names lists the ghosts for an acquire, which releases them first; nil when there are none.
func (x *rare) names() (tenures []uint64) {
	for _, g := range x.ghosts() {
		tenures = append(tenures, g.tenure)
	}
	return tenures
}

// hurry has ghosts released that were to wait.
func (l *Lock) hurry(now time.Duration) {
	if l.rare == nil {
		return
	}
	for i, ghosts := 0, l.rare.ghosts(); i < len(ghosts); i++ {
		ghosts[i].at = min(ghosts[i].at, now)
	}
}

// exorcise lets go of ghosts of which nothing can be left. What is with the server is waited for.
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

// namesGhost reports whether a refusal names a tenure of this engine that nobody has, and that is released before or with the
// next try.
func (l *Lock) namesGhost(now time.Duration, reply *Reply, fx *Effects) bool {
	tenure, own := fx.Own(reply.Holder)
	switch {
	case reply.Holder == "":
		return reply.Doomed // what has the other half
	case !own || reply.Known && !reply.Doomed || l.rare.haunted(tenure):
		return false
	case !reply.Known:
		// Nobody here knows that tenure: an acquire without an answer took it. The next try releases it.
		l.haunt(now, tenure, reply.TTL, fx)
	}
	return true
}

// Haunt makes a tenure that was found in Redis, and that no Lock of this engine knows, one that this Lock is to release. The
// server may have it again after it was released: a master that followed another one may not know of that.
func (l *Lock) Haunt(now time.Duration, tenure uint64, lease time.Duration, fx *Effects) {
	l.haunt(now, tenure, lease, fx)
}

// Doomed reports whether the lock is to release a tenure that nobody has, and the server did not refuse that for good.
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

// outlasts is after what time a ghost is released once more. Of a kind that queues no acquire can run any more then; any other
// that comes later still is over with its lease.
func (l *Lock) outlasts(fx *Effects) time.Duration {
	if l.protocol().queues {
		return fx.Config.Late() + tick(fx.Config.Lease)
	}
	return fx.Config.Timeout
}

// ghostAnswered takes in what became of a command of a tenure that is not the lock's any more.
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
		g.until = max(g.until, g.at+fx.Config.Timeout) // the server is there, so the second release has its turn
	default:
		t.ghosts = slices.Delete(t.ghosts, i, i+1)
	}
}
