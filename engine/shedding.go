package engine

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// limits says to whom a request was one too many. The errors are made once: very many may be refused.
type limits struct{ engine, lock error }

func limitsOf(config *actor.Config) limits {
	return limits{
		engine: fmt.Errorf("%d in this engine (Options.MaxWaiting)", config.MaxWaiting),
		lock:   fmt.Errorf("%d for this lock in this engine (Options.MaxWaitingPerLock)", config.MaxWaitingPerLock),
	}
}

// sheds refuses a request as it comes, before it is queued anywhere, if as many locks are asked for as may be. A caller that
// would re-enter is let in: it does not wait for others, and cannot let go of the lock before it has its answer.
func (c *coordinator) sheds(now time.Duration, r *actor.Request) bool {
	most := int64(c.fx.Config.MaxWaiting)
	if r.Tag != actor.Acquire || r.LetIn || most == 0 || c.fx.Wanted <= most || c.closed || c.fx.Draining || c.has(now, r) {
		return false
	}
	c.fx.Shed(now, r, c.limits.engine)
	return true
}

// crowded reports whether as many wait for a name as may, so that one more is refused. Of a read/write lock those who read and those
// who write are counted apart, as they wait in different queues.
func (c *coordinator) crowded(now time.Duration, l *actor.Lock, r *actor.Request) bool {
	most := c.fx.Config.MaxWaitingPerLock
	if r.Tag != actor.Acquire || r.LetIn || most == 0 {
		return false
	}
	full := false
	if r.Kind.Claims() {
		full = c.groups[r.Key].crowded(most)
	} else {
		full = l != nil && l.Queued() >= most
	}
	return full && !c.has(now, r)
}

// crowded reports whether so many claims wait. Nothing is counted while there are fewer than that in all.
func (g *group) crowded(most int) bool {
	switch {
	case g == nil || g.claims.len() < most:
		return false
	case g.claims.few():
		return len(g.those(func(l *actor.Lock) bool { return l.Queued() > 0 })) >= most
	}
	return g.claims.len()-g.many().held.len() >= most
}

// has reports whether the owner of a request holds what it asks for, or some of it.
func (c *coordinator) has(now time.Duration, r *actor.Request) bool {
	switch {
	case r.Joint != nil:
		return c.reenters(now, r.Joint)
	case r.Owner == 0:
		return false
	case c.countOf(now, r) > 0:
		return true
	}
	l := c.locks.of(r.Key) // who writes may read
	return r.Kind == actor.Read && l != nil && l.Kind() == actor.Write && l.CountOf(r.Owner, now) > 0
}
