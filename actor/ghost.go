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
	flying bool
	twice  bool // an acquire of it may still run: release it once more later
}

// haunt puts a tenure on the list of those to be released until the server confirms it.
func (l *Lock) haunt(tenure uint64) {
	x := l.withRare()
	if tenure == 0 || x.haunted(tenure) {
		return
	}
	// A release under way is the ghost's from now on.
	g := ghost{tenure: tenure, twice: x.acquiring}
	if tenure == l.tenure {
		g.flying, g.wait = l.flight == l.protocol().release, x.wait
	}
	x.ghosts = append(x.ghosts, g)
}

func (x *rare) haunted(tenure uint64) bool {
	return slices.ContainsFunc(x.ghosts, func(g ghost) bool { return g.tenure == tenure })
}

// names lists the ghosts for an acquire, which releases them first; nil when there are none.
func (x *rare) names() (tenures []uint64) {
	for _, g := range x.ghosts {
		tenures = append(tenures, g.tenure)
	}
	return tenures
}

// hurry has ghosts released that were to wait.
func (l *Lock) hurry(now time.Duration) {
	if l.rare == nil {
		return
	}
	for i := range l.rare.ghosts {
		l.rare.ghosts[i].at = min(l.rare.ghosts[i].at, now)
	}
}

func (l *Lock) releaseGhosts(now time.Duration, fx *Effects) {
	ghosts := l.rare.ghosts
	for i := range ghosts {
		if g := &ghosts[i]; !g.flying && now >= g.at {
			g.flying = true
			l.emit(fx, Command{Verb: l.protocol().release, Tenure: g.tenure, Wait: g.wait})
		}
	}
}

// ghostAnswered takes in what became of a command of a tenure that is not the lock's any more.
func (l *Lock) ghostAnswered(now time.Duration, c *Command, reply *Reply, fx *Effects) {
	if c.Verb != l.protocol().release || l.rare == nil {
		return
	}
	x := l.rare
	i := slices.IndexFunc(x.ghosts, func(g ghost) bool { return g.tenure == c.Tenure })
	if i < 0 {
		return
	}
	g := &x.ghosts[i]
	g.flying = false
	switch {
	case reply.Status == Unanswered && !reply.Garbled:
		g.at = now
	case reply.Garbled || reply.Status == Refused && reply.passes():
		g.at = now + fx.jitter(backoffMost)
	case g.twice && reply.Status != Refused:
		g.twice, g.at = false, now+fx.Config.Timeout
	default:
		x.ghosts = slices.Delete(x.ghosts, i, i+1)
	}
}
