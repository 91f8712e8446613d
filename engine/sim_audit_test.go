package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// What must be so after each turn of an engine.

// audit checks an engine after each of its turns: who must have a verdict has one, and the gauges are
// what can be counted.
func (e *simEngine) audit(now time.Duration) {
	w := e.w
	if e.c.closed {
		return
	}
	held, waiting := int64(0), int64(0)
	for _, h := range e.holds {
		if h.active {
			held++
			h.suspect = h.suspect && (e.doubts || h.tenure.confirmed < e.doubted)
			h.bounded(now)
			h.learns()
			h.lasts()
		}
	}
	for _, a := range e.asks {
		if a.Tag == actor.Acquire {
			waiting++
		}
		e.punctual(a, now)
	}
	if e.c.fx.Draining && waiting > 0 {
		w.fail("%s shuts down, and %d still wait for a lock", e.name, waiting)
	}
	if s := e.c.stats(); s.Held != held || s.Waiting != waiting {
		w.fail("%s counts %d held and %d waiting, but it is %d and %d", e.name, s.Held, s.Waiting, held, waiting)
	}
}

// behind reports whether timers are due that the turn did not come to: it wants another one at once.
func (e *simEngine) behind(now time.Duration) bool {
	at, ok := e.c.next()
	return ok && at <= now
}

// punctual checks that a request has its verdict when its time is over or its caller left.
func (e *simEngine) punctual(a *simAsk, now time.Duration) {
	if a.due == 0 {
		a.due = now + a.limit(e)
		e.waitsForItself(a)
	}
	const slack = 2 * tick
	if a.left {
		e.w.fail("%s has no verdict for %s of %s, who gave up", e.name, a, a.caller)
	} else if now > a.due+slack && !e.behind(now) {
		e.w.fail("%s has no verdict for %s of %s, %v after it was due", e.name, a, a.caller, now-a.due)
	}
}

// limit is how long a request may take.
func (a *simAsk) limit(e *simEngine) time.Duration {
	switch {
	case a.Tag == AskCount || a.Tag == AskClose:
		return 0
	case a.Tag == AskShutdown || a.Tag == actor.Acquire && !a.Once && a.Wait == 0:
		return 1 << 60
	case a.Wait > 0:
		return a.Wait
	}
	return e.config.Timeout
}
