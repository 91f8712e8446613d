package actor

import (
	"fmt"
	"time"
)

// replicated reports whether as many replicas have a grant as the engine wants.
func (reply *Reply) replicated(fx *Effects) bool { return reply.Replicas >= fx.Config.Replicas }

// undo gives back what the server granted and too few replicas have. The first of the queue is told once it is undone. All
// others would meet the same, one after the other, and each for as long as replicas are waited for: they are told now.
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

// unreplicated takes in that another Lock of that name was granted, and given back for want of replicas. Of readers, whose
// grants do not depend on each other, one gets an answer of its own if its question has left. Who came since then has not met it.
func (l *Lock) unreplicated(now time.Duration, m *Message, fx *Effects) {
	answers := l.protocol().shared && l.flight != None && l.wants&departed != 0
	if l.Pending() && !answers {
		l.refuseUnreplicated(now, refused{cause: m.Cause, bounded: true, until: m.Sent}, fx)
	}
}

// refuseUnreplicated refuses those who wait for this lock alone. Who waits for several is granted them without replicas.
func (l *Lock) refuseUnreplicated(now time.Duration, why refused, fx *Effects) {
	if l.rare != nil {
		l.rare.answered = false // what waited for another holder has gone
	}
	why.err, why.alone = ErrNotReplicated, true
	l.refuseAll(now, why, fx)
}

// tooFew says how many replicas have the grant, or why that is not known.
func tooFew(reply *Reply, fx *Effects) error {
	if reply.Err != nil {
		return reply.Err
	}
	return fmt.Errorf("%d of %d in time", reply.Replicas, fx.Config.Replicas)
}

// answerRelease tells somebody who waits for a release what became of it: whoever unlocked, or whoever was not granted a lock that
// too few replicas have.
func (fx *Effects) answerRelease(now time.Duration, r *Request, err, cause error) {
	switch {
	case r.undone && r.Tag == Acquire:
		err, cause = ErrNotReplicated, joined(r.Cause, cause)
	case r.undone && err == ErrLost:
		err, cause = nil, nil // no caller has had what is given back
	}
	fx.Decide(now, r, err, cause)
}
