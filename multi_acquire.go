package lockwheel

import (
	"errors"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
	"github.com/lockwheel/lockwheel/engine/slot"
)

const (
	// minLossPause and maxLossPause are the first and the longest pause before all locks are requested again after one of
	// them was lost.
	minLossPause, maxLossPause = 10 * time.Millisecond, 250 * time.Millisecond
)

// lockSequential acquires the locks sequentially, in the order of their names, so that callers of overlapping Multis do
// not deadlock.
//
// The owner of one of the locks may wait for another that lockSequential holds. So lockSequential holds locks only for
// a bounded time. Then it releases them and waits for the missing one alone. The caller's own lease begins when all
// locks are held.
func (m Multi) lockSequential(e multiRequest) (*Hold, error) {
	var keeping actor.PartKeeper
	for begun := time.Now(); ; {
		hold, again, err := m.trySequential(e, &keeping, keeping.PartsTime(time.Since(begun), false))
		if again {
			continue
		}
		if !isLoss(err) {
			return hold, err
		}
		if err := m.pauseAfterLoss(&e, err); err != nil {
			return nil, err
		}
	}
}

// trySequential acquires the locks sequentially within the given time. If that fails, it waits for the missing lock
// alone, holding none, and then acquires the others within a short time. again reports that it failed and is to be
// repeated.
func (m Multi) trySequential(e multiRequest, keeping *actor.PartKeeper, within time.Duration) (hold *Hold, again bool, err error) {
	holds, at, err := m.acquireEach(e, -1, nil, within)
	if m.shouldRetry(e, err) {
		var first *Hold
		if first, err = m.locks[at].lock(e.ctx, []Option{e.waitOption(time.Time{})}, acquireMode{within: e.timeLeft(), note: e.note}); err != nil {
			return nil, false, m.withoutLost(err, nil)
		}
		if holds, _, err = m.acquireEach(e, at, first, keeping.SinglePartTime()); m.shouldRetry(e, err) {
			return nil, true, nil
		}
	}
	if err != nil {
		return nil, false, err
	}
	hold, err = m.holdOf(e, holds)
	return hold, false, err
}

// acquireEach acquires the locks sequentially, except one that is held already. If a lock cannot be acquired in time,
// it releases all of them and returns the index of that lock as at. A caller that tries once has no time limit.
func (m Multi) acquireEach(e multiRequest, has int, had *Hold, within time.Duration) (holds []*Hold, at int, err error) {
	until := time.Now().Add(within)
	holds = make([]*Hold, len(m.locks))
	if has >= 0 {
		holds[has] = had
	}
	all := false
	defer func(taken []*Hold) { // also if a context panics
		if !all {
			releaseAll(taken)
		}
	}(holds)
	inSlices := m.needsSlices() && m.canLockAtomic()
	for first := 0; first < len(m.locks); {
		last := m.sliceEnd(first, has, inSlices)
		if at, err := m.acquireSlice(e, first, last, until, holds); err != nil {
			return nil, at, m.withoutLost(err, nil)
		}
		first = last
	}
	all = true
	return holds, 0, nil
}

// holdOf returns one hold for locks that were acquired sequentially.
func (m Multi) holdOf(e multiRequest, holds []*Hold) (*Hold, error) {
	all := multiHoldOf(e.ctx, m, holds, true)
	if e.lease != 0 {
		extended := false
		defer func() { // also if a context panics
			if !extended {
				all.unlock(canceledCtx)
			}
		}()
		extend := func() error { return all.extend(e.ctx, e.lease, e.deadline) }
		err := extend()
		for errors.Is(err, ErrUnavailable) && !e.expired() { // the caller waits through an outage, as for one lock
			err = extend()
		}
		if extended = err == nil; !extended {
			if errors.Is(err, ErrUnavailable) {
				err = m.fail(ErrUnavailable, err)
			}
			return nil, err
		}
	}
	return all.checked()
}

// shouldRetry reports whether the caller keeps waiting after that error: the time limit of one try has ended, but not
// the caller's wait. ErrNotReplicated ends the wait, as it does for one lock: each call waits for replicas only once.
func (m Multi) shouldRetry(e multiRequest, err error) bool {
	tried := errors.Is(err, ErrNotAcquired) || errors.Is(err, ErrUnavailable)
	return tried && !e.expired()
}

// expired reports whether the caller's wait has ended.
func (e *multiRequest) expired() bool {
	return e.once || e.ctx.Err() != nil || !e.deadline.IsZero() && time.Until(e.deadline) < minDuration
}

// isLoss reports whether an error is that of a lock which was lost. Another error that matches ErrLost has it from the
// caller's context, which then is that of a hold the caller had. So is a hold of the caller that has reached MaxHold:
// it was not lost, and to request all again does not help.
func isLoss(err error) bool {
	failed, ok := err.(*lockError)
	return ok && failed.err == ErrLost && !actor.IsMaxHold(failed.cause)
}

// isMaxHold reports whether a re-entry was rejected because the caller's hold has reached Options.MaxHold. One with a
// lease of its own is not.
func isMaxHold(err error) bool {
	failed, ok := err.(*lockError)
	return ok && actor.IsMaxHold(failed.cause)
}

// withoutLost turns the loss of a lock that its caller never held into ErrUnavailable. ended is why the caller's wait
// ended, or nil.
func (m Multi) withoutLost(err, ended error) error {
	if !isLoss(err) {
		return err
	}
	why := &lostPartError{text: "a part was lost before all were had: " + textWithin(err, m.name), ended: ended}
	if ended != nil && !strings.HasSuffix(why.text, textWithin(ended, m.name)) {
		why.text += ": " + textWithin(ended, m.name)
	}
	return m.fail(ErrUnavailable, why)
}

// lostPartError describes a lock that was lost before all were acquired. It does not match ErrLost for that lock,
// because the caller held nothing. It matches why the caller's wait ended. It is immutable.
type lostPartError struct {
	text  string
	ended error // or nil
}

func (e *lostPartError) Error() string { return e.text }

func (e *lostPartError) Unwrap() error { return e.ended }

// pauseAfterLoss pauses after a lock was lost before all were acquired, longer each time. It returns an error if the
// wait has ended.
func (m Multi) pauseAfterLoss(e *multiRequest, lost error) error {
	e.backoff = actor.NextBackoff(e.backoff, minLossPause, maxLossPause)
	if !e.once && (e.deadline.IsZero() || time.Until(e.deadline) > e.backoff) {
		timer := time.NewTimer(e.backoff)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-e.done:
		}
	}
	return m.withoutLost(lost, m.locks[0].engine.contexts.endCause(e.ctx))
}

// errNotAllRequested is for a wait that ended when some of the locks had not been requested yet.
var errNotAllRequested = errors.New("the wait ended before all were asked for")

// waitEnded reports whether the time of a [Wait] has elapsed. The end of the context ends a call anyway.
func (e *multiRequest) waitEnded() bool {
	return !e.deadline.IsZero() && time.Until(e.deadline) <= 0
}

// timeLeft returns how long a call that tries once may take before the caller's [Wait] ends; 0: no such limit.
func (e *multiRequest) timeLeft() time.Duration {
	if e.deadline.IsZero() {
		return 0
	}
	return max(time.Until(e.deadline), minDuration)
}

// waitOption returns how long the call may wait for one lock, if all must be acquired by the given time; zero: no such
// limit.
func (e *multiRequest) waitOption(until time.Time) Option {
	if e.once {
		return Wait(0)
	}
	if until.IsZero() || !e.deadline.IsZero() && e.deadline.Before(until) {
		until = e.deadline
	}
	if until.IsZero() {
		return Option{}
	}
	if left := time.Until(until); left >= minDuration {
		return Wait(left)
	}
	return Wait(0)
}

// canLockAtomic reports whether one script can acquire all locks. They must be plain, on one server or in one slot of a
// cluster, and need no replicas.
func (m Multi) canLockAtomic() bool {
	first := m.locks[0]
	for _, l := range m.locks {
		if l.kind != actor.Plain || l.engine.options.Replicas.Min > 0 || first.engine.cluster.Load() && !slot.OneSlot(first.key(), l.key()) {
			return false
		}
	}
	return true
}

// lockAtomic acquires all locks with one command. While it waits without holding any, callers that want only one lock
// can overtake it. Then it acquires the locks sequentially and holds them for a while.
func (m Multi) lockAtomic(e multiRequest) (*Hold, error) {
	var keeping actor.PartKeeper
	for begun := time.Now(); ; {
		hold, err := m.tryAtomic(e, keeping.WaitTime())
		switch {
		case errors.Is(err, actor.ErrReentry):
			return m.lockSequential(e)
		case errors.Is(err, actor.ErrOvertaken):
			var again bool
			if hold, again, err = m.trySequential(e, &keeping, keeping.PartsTime(time.Since(begun), true)); again {
				continue
			}
		}
		if !isLoss(err) {
			return hold, err
		}
		if err := m.pauseAfterLoss(&e, err); err != nil {
			return nil, err
		}
	}
}

// tryAtomic requests all locks together, and holds none while it waits. If it has waited for overtakenAfter and another
// caller has one of the locks at its turn, it returns actor.ErrOvertaken.
func (m Multi) tryAtomic(e multiRequest, overtakenAfter time.Duration) (*Hold, error) {
	holds, _, err := m.acquireAtomic(e, overtakenAfter)
	if err != nil {
		return nil, err
	}
	return multiHoldOf(e.ctx, m, holds, e.lease == 0).checked()
}

// acquireAtomic requests all locks together. at is the index of the lock that an error concerns.
func (m Multi) acquireAtomic(e multiRequest, overtakenAfter time.Duration) (holds []*Hold, at int, err error) {
	on := m.locks[0].engine
	multi := &actor.MultiRequest{Parts: make([]actor.Part, len(m.locks)), OvertakenAfter: overtakenAfter}
	parts := make([]Hold, len(m.locks))
	holds = make([]*Hold, len(m.locks))
	for i, l := range m.locks {
		parts[i] = Hold{engine: on, name: l.name, parent: e.ctx}
		parts[i].setNote(e.note)
		holds[i] = &parts[i]
		multi.Parts[i] = actor.Part{Name: l.name, Key: l.key(), Owner: ownerFromContext(e.ctx, on, l.name), Hold: &parts[i].grant}
	}
	call := engine.NewMulti()
	call.Op, call.Name, call.Key, call.Multi = actor.Acquire, m.name, multi.Parts[0].Key, multi
	call.Lease, call.Once = e.lease, e.once
	if !e.deadline.IsZero() {
		call.Wait = max(time.Until(e.deadline), minDuration)
	}
	if !on.loop.Post(call) {
		return nil, 0, m.fail(ErrClosed, nil)
	}
	cause := on.await(e.ctx, e.done, call)
	err, why := call.Err, call.Cause
	switch {
	case err == actor.ErrReentry:
		return nil, 0, err
	case cause != nil && (err == nil || err == actor.ErrOvertaken):
		return nil, multi.FailedPart, m.fail(ErrNotAcquired, cause) // the wait ended: the loop releases the locks
	case err == actor.ErrOvertaken:
		return nil, multi.FailedPart, err
	case err == ErrUnavailable || err == ErrClosed:
		return nil, multi.FailedPart, m.fail(err, why)
	case err != nil && multi.FailedPart == actor.AllParts:
		return nil, 0, m.fail(err, why)
	case err != nil:
		return nil, multi.FailedPart, m.locks[multi.FailedPart].fail(err, why)
	}
	return holds, 0, nil
}
