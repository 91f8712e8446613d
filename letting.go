package lockwheel

import (
	"sync/atomic"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

// letGo gives back what was taken, locks of one engine, without waiting for the answers: the next ones when some are answered,
// so that others who release come in between. Missing ones are nil.
func letGo(holds []*Hold) {
	l := &letting{}
	for _, h := range holds {
		if h != nil {
			l.left = append(l.left, h)
		}
	}
	l.next(sliceMost)
}

// letting is what is still to be given back. It belongs to whoever begins it, and then to the loop.
type letting struct {
	left  []*Hold
	calls []engine.Call
	open  atomic.Int32 // verdicts to come
}

// next posts so many at most.
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

// told is called on the loop for each verdict. Where there was no answer, the others are not to wait for it.
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

// unanswered reports whether any of some calls with a verdict had no answer.
func unanswered(calls []engine.Call) bool {
	for i := range calls {
		if calls[i].Err == ErrUnavailable {
			return true
		}
	}
	return false
}
