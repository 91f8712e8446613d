package engine

import (
	"math"
	"sync/atomic"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// AsyncBacklog is the number of asynchronous requests beyond Config.MaxWaiting that may have no result. They are those
// that the loop has not looked at yet, and those with a result that their callers have not received. Requests with an
// owner may re-enter a lock, so as many of them are admitted in addition.
const AsyncBacklog = coordinator.MaxResultsPerTurn

// asyncLimit bounds the requests that no goroutine waits for. A caller that waits has one request at a time. A caller
// that does not could post faster than the loop takes the requests out of the mailbox. The zero value has no limit. Its
// counts are safe for concurrent use: callers admit requests, the loop finishes them; max and cause are immutable.
type asyncLimit struct {
	max   int64 // 0: no limit
	cause error // of a rejection

	pending  atomic.Int64  // requests that were posted and have callers without the result
	cancels  atomic.Int64  // their cancellations that the loop has taken and not handled, at the end of its last turn
	rejected atomic.Uint64 // requests that were not admitted
	unlocks  atomic.Uint64 // asynchronous unlocks so far, which are never rejected
}

func newAsyncLimit(config *actor.Config) *asyncLimit {
	if config.MaxWaiting == 0 {
		return &asyncLimit{}
	}
	most := min(int64(config.MaxWaiting), math.MaxInt64-2*AsyncBacklog) // what is added must not overflow
	return &asyncLimit{max: most + AsyncBacklog, cause: coordinator.TooManyWaiting(config)}
}

// admit counts a request that is about to be posted, or rejects it. A request that is canceled counts until its result
// is out. Many requests can get their results before their cancellations are handled, so those are limited, too.
func (a *asyncLimit) admit(r *actor.Request) bool {
	limit := a.max
	if r.Owner != 0 {
		limit += AsyncBacklog
	}
	if a.pending.Add(1) <= limit && a.cancels.Load() <= limit || a.max == 0 {
		return true
	}
	a.pending.Add(-1)
	a.rejected.Add(1)
	return false
}

// finish says that the callers of some requests have received their results, and how many cancellations are left. It
// is for the loop.
func (a *asyncLimit) finish(requests, cancelsLeft int) {
	if requests > 0 {
		a.pending.Add(-int64(requests))
	}
	if left := int64(cancelsLeft); left != a.cancels.Load() {
		a.cancels.Store(left)
	}
}

// addTo adds the rejected requests to a snapshot. They did not wait.
func (a *asyncLimit) addTo(s coordinator.Stats) coordinator.Stats {
	rejected := a.rejected.Load()
	s.Failed += rejected
	s.Shed += rejected
	s.AcquireWaits.Counts[0] += rejected
	return s
}
