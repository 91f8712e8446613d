package actor

import (
	"fmt"
	"time"
)

// replicated reports whether as many replicas have a grant as the engine wants.
func (reply *Reply) replicated(fx *Effects) bool { return reply.Replicas >= fx.Config.Replicas }

// undo gives back what the server granted and too few replicas have. Whoever asked for it is refused once it is undone; the
// next in the queue asks anew.
func (l *Lock) undo(reply *Reply, fx *Effects) {
	if r := l.queue.first(); r != nil {
		l.queue.remove(r)
		r.undone, r.Cause = true, tooFew(reply, fx)
		l.releases.push(r)
	}
	l.end()
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
	if r.undone {
		err, cause = ErrNotReplicated, joined(r.Cause, cause)
	}
	fx.Decide(now, r, err, cause)
}
