package lockwheel

import (
	"errors"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

// together reports whether one script can take all locks: those are plain, on one server or in a cluster in one
// slot, and no replicas are asked for them.
func (m Multi) together() bool {
	first := m.locks[0]
	for _, l := range m.locks {
		if l.kind != actor.Plain || l.engine.options.Replicas.Min > 0 || first.engine.cluster && !engine.OneSlot(first.key(), l.key()) {
			return false
		}
	}
	return true
}

// jointly takes all locks with one command. Whoever is overtaken by those who want only one of them, while it waits
// with none, keeps parts for a while: it takes them one after the other.
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

// atOnce asks for all locks together, and waits for them with none.
func (m Multi) atOnce(e errand, patience time.Duration) (*Hold, error) {
	holds, _, err := m.granted(e, patience)
	if err != nil {
		return nil, err
	}
	return gather(e.ctx, m, holds).checked()
}

// granted asks for all locks together; at says which an error is about.
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
		return nil, joint.At, m.fail(ErrNotAcquired, cause) // given up: the loop gives it back
	case err == actor.ErrOvertaken:
		return nil, joint.At, err
	case err == ErrUnavailable || err == ErrClosed:
		return nil, joint.At, m.fail(err, why)
	case err != nil:
		return nil, joint.At, m.locks[joint.At].fail(err, why)
	}
	return holds, 0, nil
}
