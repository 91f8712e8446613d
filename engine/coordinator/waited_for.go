package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// waits is what a lockSet records of a lock with requests in its queue. It is a plain value; the zero value is that of
// a lock without any, and of a lock that is in no lockSet.
type waits struct {
	any     bool // requests are in its queue
	awaited bool // they wait for a lock that this engine does not hold
}

func waitsAt(l *actor.Lock) waits {
	if !l.Kind().PerRequest() || !l.IsWaitedFor() {
		return waits{}
	}
	return waits{any: true, awaited: l.Awaited()}
}

// stepOnly steps a lock without applying the effects of that. Each step goes through it, but for those of timers: a
// request joins or leaves a queue only in a step, of its lock or of the one to which it moves. So a lockSet knows how
// many of its locks are waited for, and finds the oldest, without looking at all of them.
func (c *Coordinator) stepOnly(now time.Duration, l *actor.Lock, m *actor.Message) {
	before := waitsAt(l)
	if m.Event == actor.Transferred {
		from := m.Request.Lock()
		fromBefore := waitsAt(from)
		l.Step(now, m, c.Fx)
		c.noteWaits(from, fromBefore)
	} else {
		l.Step(now, m, c.Fx)
	}
	c.noteWaits(l, before)
}

// noteWaits records in the lockSet of a lock what a step changed.
func (c *Coordinator) noteWaits(l *actor.Lock, before waits) {
	after := waitsAt(l)
	if after == before {
		return
	}
	set := c.LockSets[l.Key()]
	switch {
	case after.any && !before.any:
		set.waitedFor++
	case before.any && !after.any:
		set.waitedFor--
	}
	if after.awaited && !before.awaited {
		set.locks.noteAwaited(l)
	}
}

// firstAwaited returns the oldest lock that is awaited, or nil.
func (s *lockSet) firstAwaited() *actor.Lock {
	if s == nil || s.waitedFor == 0 {
		return nil
	}
	return s.locks.firstAwaited()
}
