package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// lateCancel is a cancellation that waits in its lane behind more of them than a turn handles. It is immutable. The
// zero value has no request, and is never stored.
type lateCancel struct {
	request *actor.Request
	cause   error
}

// noteLateCancel notes a cancellation that is about to be appended to its lane, if this turn will not come to it. Those
// of a context that has ended are not noted: very many come together, and no caller knows when.
func (c *Coordinator) noteLateCancel(what CancelRequest) {
	in, r := &c.intake, what.Request
	if in.lanes[cancellations].work < in.laneBudget || r.Op != actor.Acquire || r.Multi != nil {
		return
	}
	if in.lateCancels == nil {
		in.lateCancels = make(map[string][]lateCancel)
	}
	in.lateCancels[r.Key] = append(in.lateCancels[r.Key], lateCancel{r, what.Cause})
	in.mostLateCancels.note(len(in.lateCancels))
}

// forgetLateCancel removes the cancellation of a request, if it was not handled earlier than its lane came to it.
func (in *intake) forgetLateCancel(r *actor.Request) {
	switch list := in.lateCancels[r.Key]; {
	case len(list) == 0 || list[0].request != r:
	case len(list) == 1:
		in.forgetLateCancels(r.Key)
	default:
		list[0] = lateCancel{}
		in.lateCancels[r.Key] = list[1:]
	}
}

// forgetLateCancels removes those of a name.
func (in *intake) forgetLateCancels(key string) {
	if delete(in.lateCancels, key); in.mostLateCancels.outgrown(len(in.lateCancels)) {
		in.lateCancels = nil
	}
}

// catchUpCancels handles the cancellations for the names of a request before it. A caller that has canceled a call
// makes the next one at once: its own request must not be in its way. If they are too many for this turn, the request
// does not wait for them.
func (c *Coordinator) catchUpCancels(now time.Duration, m *LoopMessage) {
	r, ok := m.Value.(*actor.Request)
	switch {
	case !ok:
	case r.Multi == nil:
		c.catchUpCancelsOf(now, nameOf(m))
	default:
		for i := range r.Multi.Parts {
			c.catchUpCancelsOf(now, r.Multi.Parts[i].Key)
		}
	}
}

func (c *Coordinator) catchUpCancelsOf(now time.Duration, key string) {
	in := &c.intake
	list := in.lateCancels[key]
	if n := len(list); n == 0 || n > max(in.laneBudget/caughtUpShare, 1) || n > in.caughtUpLeft {
		return
	}
	in.forgetLateCancels(key)
	in.caughtUpLeft -= len(list)
	for _, late := range list {
		c.handleCancel(now, late.request, late.cause) // its message in the lane has no effect then
	}
}
