package lockwheel

import (
	"sync/atomic"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

// releaseAll releases locks of one engine without waiting for the replies. It releases them in slices, each after the
// replies to the one before, so that other releases run in between. Missing locks are nil.
func releaseAll(holds []*Hold) {
	l := &releaseRun{}
	for _, h := range holds {
		if h != nil {
			l.remaining = append(l.remaining, h)
		}
	}
	l.next(sliceSize)
}

// releaseRun is a list of locks to be released. It belongs to the goroutine that creates it, and then to the loop.
type releaseRun struct {
	remaining []*Hold
	calls     []engine.Call
	pending   atomic.Int32 // results still to come
}

// next posts at most that many releases.
func (l *releaseRun) next(most int) {
	some := l.remaining[:min(len(l.remaining), most)]
	if len(some) == 0 {
		return
	}
	l.remaining = l.remaining[len(some):]
	l.calls = make([]engine.Call, len(some))
	l.pending.Store(int32(len(some)))
	told := l.onResult
	for i, h := range some {
		l.calls[i].Request = actor.Request{Op: actor.Unlock, Name: h.name, Hold: &h.grant, OnDone: told}
	}
	some[0].engine.loop.PostAll(l.calls)
}

// onResult runs on the loop for each result. If the server did not reply, it posts all remaining releases at once.
func (l *releaseRun) onResult() {
	if l.pending.Add(-1) > 0 {
		return
	}
	if anyNoReply(l.calls) {
		l.next(len(l.remaining))
	} else {
		l.next(sliceSize)
	}
}

// anyNoReply reports whether a call of a range failed because there was no reply.
func anyNoReply(calls []engine.Call) bool {
	for i := range calls {
		if calls[i].Err == ErrUnavailable {
			return true
		}
	}
	return false
}
