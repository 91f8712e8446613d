package lockwheel

import (
	"sync/atomic"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

// letGo releases locks of one engine without waiting for the replies. It releases them in slices, each after the
// replies to the one before, so that other releases run in between. Missing locks are nil.
func letGo(holds []*Hold) {
	l := &letting{}
	for _, h := range holds {
		if h != nil {
			l.left = append(l.left, h)
		}
	}
	l.next(sliceMost)
}

// letting is a list of locks to be released. It belongs to the goroutine that creates it, and then to the loop.
type letting struct {
	left  []*Hold
	calls []engine.Call
	open  atomic.Int32 // results still to come
}

// next posts at most that many releases.
func (l *letting) next(most int) {
	some := l.left[:min(len(l.left), most)]
	if len(some) == 0 {
		return
	}
	l.left = l.left[len(some):]
	l.calls = make([]engine.Call, len(some))
	l.open.Store(int32(len(some)))
	told := l.told
	for i, h := range some {
		l.calls[i].Request = actor.Request{Tag: actor.Unlock, Name: h.name, Hold: &h.grant, Told: told}
	}
	some[0].engine.loop.PostAll(l.calls)
}

// told runs on the loop for each result. If the server did not reply, it posts all remaining releases at once.
func (l *letting) told() {
	if l.open.Add(-1) > 0 {
		return
	}
	if unanswered(l.calls) {
		l.next(len(l.left))
	} else {
		l.next(sliceMost)
	}
}

// unanswered reports whether a call of a range failed because there was no reply.
func unanswered(calls []engine.Call) bool {
	for i := range calls {
		if calls[i].Err == ErrUnavailable {
			return true
		}
	}
	return false
}
