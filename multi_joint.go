package lockwheel

import (
	"errors"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

// canLockAtomic reports whether one script can acquire all locks: they are plain, on one server or in one slot of a
// cluster, and need no replicas.
func (m Multi) canLockAtomic() bool {
	first := m.locks[0]
	for _, l := range m.locks {
		if l.kind != actor.Plain || l.engine.options.Replicas.Min > 0 || first.engine.cluster && !engine.OneSlot(first.key(), l.key()) {
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
		case errors.Is(err, engine.ErrReentry):
			return m.lockSequential(e)
		case errors.Is(err, actor.ErrOvertaken):
			var again bool
			if hold, again, err = m.trySequential(e, &keeping, keeping.PartsTime(time.Since(begun), true)); again {
				continue
			}
		}
		if !errors.Is(err, ErrLost) {
			return hold, err
		}
		if err := m.pauseAfterLoss(&e, err); err != nil {
			return nil, err
		}
	}
}

// tryAtomic requests all locks together, and holds none while it waits.
func (m Multi) tryAtomic(e multiRequest, patience time.Duration) (*Hold, error) {
	holds, _, err := m.acquireAtomic(e, patience)
	if err != nil {
		return nil, err
	}
	return multiHoldOf(e.ctx, m, holds).checked()
}

// acquireAtomic requests all locks together. at is the index of the lock that an error concerns.
func (m Multi) acquireAtomic(e multiRequest, patience time.Duration) (holds []*Hold, at int, err error) {
	on := m.locks[0].engine
	joint := &actor.MultiRequest{Parts: make([]actor.Part, len(m.locks)), OvertakenAfter: patience}
	parts := make([]Hold, len(m.locks))
	holds = make([]*Hold, len(m.locks))
	for i, l := range m.locks {
		parts[i] = Hold{engine: on, name: l.name, parent: e.ctx}
		holds[i] = &parts[i]
		joint.Parts[i] = actor.Part{Name: l.name, Key: l.key(), Owner: ownerFromContext(e.ctx, on, l.name), Hold: &parts[i].grant}
	}
	call := engine.NewAsync()
	call.Op, call.Name, call.Key, call.Multi = actor.Acquire, m.name, joint.Parts[0].Key, joint
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
	case err == engine.ErrReentry:
		return nil, 0, err
	case cause != nil && (err == nil || err == actor.ErrOvertaken):
		return nil, joint.FailedPart, m.fail(ErrNotAcquired, cause) // the wait ended: the loop releases the locks
	case err == actor.ErrOvertaken:
		return nil, joint.FailedPart, err
	case err == ErrUnavailable || err == ErrClosed:
		return nil, joint.FailedPart, m.fail(err, why)
	case err != nil:
		return nil, joint.FailedPart, m.locks[joint.FailedPart].fail(err, why)
	}
	return holds, 0, nil
}
