package actor

import (
	"errors"
	"time"
)

// ErrOvertaken is the result of a request for several locks that has waited for its OvertakenAfter. It means that at
// the request's turn in one queue another of the locks had a holder. The request holds nothing. Its caller should take
// the locks one after the other.
var ErrOvertaken = errors.New("lockwheel: another of several locks was taken before")

const (
	// minMultiWait is how long a caller waits for all of its locks at once before it keeps parts.
	minMultiWait = 25 * time.Millisecond
	// minPartsTime is the minimum time of keeping parts: as long as a few others need to come and go.
	minPartsTime = 250 * time.Millisecond
	// minSinglePartTime is the minimum time for which a part that was waited for alone is kept for the others.
	minSinglePartTime = 50 * time.Millisecond
	// maxPartsTime is the maximum time of keeping parts, for callers that can wait without any.
	maxPartsTime = 10 * time.Second
)

// PartKeeper determines how long a caller that wants several locks keeps some of them while it waits for the rest. It
// is used by callers that were overtaken again and again. The zero PartKeeper is that of a caller that has kept none
// yet. It belongs to the goroutine of that caller.
//
// All such callers take their locks in the same order, so they never wait for each other in a circle. They can do so
// with an owner that has one of the locks already and waits for one that is kept. So the kept locks are given back
// after a time T (PartsTime). Then the caller waits for at least T (WaitTime) without keeping any.
//
// T is half of the time that the caller has waited so far. So T grows with each attempt, and the caller gets through
// once T is longer than the other holders need. Except for the shortest T, it never holds up others for longer than it
// has waited itself.
//
// If another owner always has one of the locks and waits for another one, that order alone never succeeds. So after T,
// the caller waits for the missing lock alone. It keeps that one for a shorter time (SinglePartTime) while it tries to
// get the others.
type PartKeeper struct{ lastTime time.Duration }

// WaitTime returns how long to wait for all locks at once before some are kept again.
func (k *PartKeeper) WaitTime() time.Duration { return max(minMultiWait, k.lastTime) }

// PartsTime returns how long to keep some of the locks now, after having waited that long. bound limits the time for
// callers that can also wait without any and get their turn in a queue then.
func (k *PartKeeper) PartsTime(waited time.Duration, bound bool) time.Duration {
	k.lastTime = max(minPartsTime, waited/2)
	if bound {
		k.lastTime = min(k.lastTime, maxPartsTime)
	}
	return k.lastTime
}

// SinglePartTime returns how long to keep a lock that was waited for alone, after some were kept in vain.
func (k *PartKeeper) SinglePartTime() time.Duration { return max(minSinglePartTime, k.lastTime/4) }

// rejectOvertaken gives a request for several locks its result if it has waited for its OvertakenAfter, and for as long
// as its caller would then take: a round trip for each lock. It reports whether it did. Far from the server a few
// others already take longer than OvertakenAfter. If each caller that waits for these took its locks one after the
// other, all would have to wait for as many round trips as there are locks, and so would do the same.
func (r *Request) rejectOvertaken(now time.Duration, fx *Effects) bool {
	m := r.Multi
	if r.Completed() || m.OvertakenAfter == 0 || now-r.receivedAt < max(m.OvertakenAfter, time.Duration(len(m.Parts))*fx.RoundTrip) {
		return false
	}
	fx.Complete(now, r, ErrOvertaken, nil)
	fx.Stats.Failed -= r.lockCount() // its caller continues, one lock after the other
	return true
}
