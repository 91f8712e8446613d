package lockwheel

import (
	"errors"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

// together reports whether one script can acquire all locks: they are plain, on one server or in one slot of a
// cluster, and need no replicas.
func (m Multi) together() bool {
	first := m.locks[0]
	for _, l := range m.locks {
		if l.kind != actor.Plain || l.engine.options.Replicas.Min > 0 || first.engine.cluster && !engine.OneSlot(first.key(), l.key()) {
			return false
		}
	}
	return true
}

// jointly acquires all locks with one command. While it waits without holding any, callers that want only one lock
// can overtake it. Then it acquires the locks sequentially and holds them for a while.
func (m Multi) jointly(e errand) (*Hold, error) {
	var keeping actor.Keeping
	for begun := time.Now(); ; {
		hold, err := m.atOnce(e, keeping.Patience())
		switch {
		case errors.Is(err, engine.ErrReenters):
			return m.inTurn(e)
		case errors.Is(err, actor.ErrOvertaken):
			var again bool
			if hold, again, err = m.kept(e, &keeping, keeping.For(time.Since(begun), true)); again {
				continue
			}
		}
		if !errors.Is(err, ErrLost) {
			return hold, err
		}
		if err := m.afterLoss(&e, err); err != nil {
			return nil, err
		}
	}
}

// atOnce requests all locks together, and holds none while it waits.
func (m Multi) atOnce(e errand, patience time.Duration) (*Hold, error) {
	holds, _, err := m.granted(e, patience)
	if err != nil {
		return nil, err
	}
	return gather(e.ctx, m, holds).checked()
}

// granted requests all locks together. at is the index of the lock that an error concerns.
func (m Multi) granted(e errand, patience time.Duration) (holds []*Hold, at int, err error) {
	on := m.locks[0].engine
	joint := &actor.Joint{Parts: make([]actor.Part, len(m.locks)), Patience: patience}
	parts := make([]Hold, len(m.locks))
	holds = make([]*Hold, len(m.locks))
	for i, l := range m.locks {
		parts[i] = Hold{engine: on, name: l.name, parent: e.ctx}
		holds[i] = &parts[i]
		joint.Parts[i] = actor.Part{Name: l.name, Key: l.key(), Owner: ownerOf(e.ctx, on, l.name), Hold: &parts[i].grant}
	}
	call := engine.NewAsync()
	call.Tag, call.Name, call.Key, call.Joint = actor.Acquire, m.name, joint.Parts[0].Key, joint
	call.Lease, call.Once = e.lease, e.once
	if !e.until.IsZero() {
		call.Wait = max(time.Until(e.until), shortest)
	}
	if !on.loop.Post(call) {
		return nil, 0, m.fail(ErrClosed, nil)
	}
	cause := on.await(e.ctx, e.done, call)
	err, why := call.Err, call.Cause
	switch {
	case err == engine.ErrReenters:
		return nil, 0, err
	case cause != nil && (err == nil || err == actor.ErrOvertaken):
		return nil, joint.At, m.fail(ErrNotAcquired, cause) // the wait ended: the loop releases the locks
	case err == actor.ErrOvertaken:
		return nil, joint.At, err
	case err == ErrUnavailable || err == ErrClosed:
		return nil, joint.At, m.fail(err, why)
	case err != nil:
		return nil, joint.At, m.locks[joint.At].fail(err, why)
	}
	return holds, 0, nil
}
