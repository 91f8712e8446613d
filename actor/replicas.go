package actor

import (
	"fmt"
	"time"
)

// replicated reports whether as many replicas have a grant as the engine wants.
func (reply *Reply) replicated(fx *Effects) bool { return reply.Replicas >= fx.Config.Replicas }

// undo releases a grant that too few replicas have. The first request of the queue gets its result after the release.
// All others would fail the same way, one after the other, each after waiting for replicas: they are rejected now.
func (l *Lock) undo(now time.Duration, reply *Reply, fx *Effects) {
	cause := tooFew(reply, fx)
	if r := l.queue.first(); r != nil && r.Joint == nil {
		l.queue.remove(r)
		r.undone, r.Cause = true, cause
		l.releases.push(r)
		if at := now + fx.Config.Timeout; !r.timer.Scheduled() || fx.Wheel.Due(&r.timer) > at {
			fx.Limit(r, at)
		}
	}
	l.refuseUnreplicated(now, refused{cause: cause}, fx)
	l.end(fx)
	l.wants |= undoing
	fx.Undone = cause
}

// unreplicated handles that another Lock of the key was granted, and its grant undone because too few replicas had it.
// Readers' grants do not depend on each other, so a reader with a command that has left waits for its own reply.
// Requests posted since then are not affected.
func (l *Lock) unreplicated(now time.Duration, m *Message, fx *Effects) {
	answers := l.protocol().shared && l.flight != None && l.wants&departed != 0
	if l.Pending() && !answers {
		l.refuseUnreplicated(now, refused{cause: m.Cause, bounded: true, until: m.Sent}, fx)
	}
}

// refuseUnreplicated rejects the requests for this lock alone. Requests for several locks are granted without replicas.
func (l *Lock) refuseUnreplicated(now time.Duration, why refused, fx *Effects) {
	if l.rare != nil {
		l.rare.answered = false // the reason to wait for another holder is gone
	}
	why.err, why.alone = ErrNotReplicated, true
	l.refuseAll(now, why, fx)
}

// tooFew returns an error that says how many replicas have the grant, or why that is not known.
func tooFew(reply *Reply, fx *Effects) error {
	if reply.Err != nil {
		return reply.Err
	}
	return fmt.Errorf("%d of %d in time", reply.Replicas, fx.Config.Replicas)
}

// answerRelease gives its result to a request that waited for a release. That is an unlock, or a request with a grant
// that was undone because too few replicas had it.
func (fx *Effects) answerRelease(now time.Duration, r *Request, err, cause error) {
	switch {
	case r.undone && r.Tag == Acquire:
		err, cause = ErrNotReplicated, joined(r.Cause, cause)
	case r.undone && err == ErrLost:
		err, cause = nil, nil // no caller has had what was granted
	}
	fx.Decide(now, r, err, cause)
}
