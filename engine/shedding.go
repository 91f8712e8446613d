package engine

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// limits holds the errors for requests beyond the limits on waiters. They are created once, because very many requests
// may be rejected.
type limits struct{ engine, lock error }

func limitsOf(config *actor.Config) limits {
	return limits{
		engine: fmt.Errorf("%d in this engine (Options.MaxWaiting)", config.MaxWaiting),
		lock:   fmt.Errorf("%d for this lock in this engine (Options.MaxWaitingPerLock)", config.MaxWaitingPerLock),
	}
}

// sheds rejects a request on arrival, before it is queued, if Config.MaxWaiting is reached. A request that re-enters is
// admitted: it does not wait for others, and its owner cannot release the lock before it gets its result.
func (c *coordinator) sheds(now time.Duration, r *actor.Request) bool {
	most := int64(c.fx.Config.MaxWaiting)
	if r.Tag != actor.Acquire || r.LetIn || most == 0 || c.fx.Wanted <= most || c.closed || c.fx.Draining || c.has(now, r) {
		return false
	}
	c.fx.Shed(now, r, c.limits.engine)
	return true
}

// crowded reports whether Config.MaxWaitingPerLock is reached for a name, so that the request must be rejected. Readers
// and writers of a read/write lock are counted separately, because they wait in different queues.
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

// crowded reports whether at least most locks of the group wait. It counts nothing while the group has fewer locks than
// that.
func (g *group) crowded(most int) bool {
	switch {
	case g == nil || g.claims.len() < most:
		return false
	case g.claims.few():
		return len(g.those(func(l *actor.Lock) bool { return l.Queued() > 0 })) >= most
	}
	return g.claims.len()-g.many().held.len() >= most
}

// has reports whether the owner of a request holds what it requests, or one of several locks.
func (c *coordinator) has(now time.Duration, r *actor.Request) bool {
	switch {
	case r.Joint != nil:
		return c.reenters(now, r.Joint)
	case r.Owner == 0:
		return false
	case c.countOf(now, r) > 0:
		return true
	}
	l := c.locks.of(r.Key) // a writer may read
	return r.Kind == actor.Read && l != nil && l.Kind() == actor.Write && l.CountOf(r.Owner, now) > 0
}
