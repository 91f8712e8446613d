package actor

import (
	"fmt"
	"time"
)

// replicated reports whether as many replicas have a grant as the engine wants.
func (reply *Reply) replicated(fx *Effects) bool { return reply.Replicas >= fx.Config.Replicas }

// rollBack releases a grant that too few replicas have. The first request of the queue gets its result after the
// release. All others would fail the same way, one after the other, each after waiting for replicas: they are rejected
// now.
func (l *Lock) rollBack(now time.Duration, reply *Reply, fx *Effects) {
	cause := replicaShortfall(reply, fx)
	if r := l.queue.first(); r != nil && r.Multi == nil {
		l.queue.remove(r)
		r.rolledBack, r.Cause = true, cause
		l.releases.push(r)
		if at := now + fx.Config.CallTimeout; !r.timer.Scheduled() || fx.OtherTimers.Due(&r.timer) > at {
			fx.SetDeadline(r, at)
		}
	}
	l.rejectUnreplicated(now, rejectedPart{cause: cause}, fx)
	l.startRelease(fx)
	l.flags |= rollingBack
	fx.RolledBack = cause
}

// onUnreplicated handles that another Lock of the key was granted, and its grant undone because too few replicas had
// it. Readers' grants do not depend on each other, so a reader with a command that has left waits for its own reply.
// Requests posted since then are not affected.
func (l *Lock) onUnreplicated(now time.Duration, m *Message, fx *Effects) {
	answers := l.protocol().shared && l.inFlight != None && l.flags&dispatched != 0
	if l.Awaited() && !answers {
		l.rejectUnreplicated(now, rejectedPart{cause: m.Cause, bounded: true, until: m.Sent}, fx)
	}
}

// rejectUnreplicated rejects the requests for this lock alone. Requests for several locks are granted without replicas.
func (l *Lock) rejectUnreplicated(now time.Duration, why rejectedPart, fx *Effects) {
	if l.ext != nil {
		l.ext.knownHeld = false // the reason to wait for another holder is gone
	}
	why.err, why.singleOnly = ErrNotReplicated, true
	l.rejectAll(now, why, fx)
}

// replicaShortfall returns an error that says how many replicas have the grant, or why that is not known.
func replicaShortfall(reply *Reply, fx *Effects) error {
	if reply.Err != nil {
		return reply.Err
	}
	return fmt.Errorf("%d of %d in time", reply.Replicas, fx.Config.Replicas)
}

// completeRelease gives its result to a request that waited for a release. That is an unlock, or a request with a grant
// that was undone because too few replicas had it.
func (fx *Effects) completeRelease(now time.Duration, r *Request, err, cause error) {
	switch {
	case r.rolledBack && r.Op == Acquire:
		err, cause = ErrNotReplicated, joinCauses(r.Cause, cause)
	case r.rolledBack && err == ErrLost:
		err, cause = nil, nil // no caller has had what was granted
	}
	fx.Complete(now, r, err, cause)
}
