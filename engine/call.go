package engine

import (
	"sync"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// Call is a request together with its message to the loop and the channel on which the caller waits. The caller owns it
// until Post, then the loop until the result.
type Call struct {
	msg coordinator.LoopMessage // placed before the request, which the loop reaches through it
	actor.Request
}

var calls = sync.Pool{New: func() any {
	return &Call{Request: actor.Request{Ready: make(chan struct{}, 1)}}
}}

// NewCall returns a call from a pool. The caller fills it in and posts it at most once.
func NewCall() *Call { return calls.Get().(*Call) }

// NewAsync returns a call that announces its result by closing Ready, or by calling OnDone if the caller sets it and
// posts the call with PostAsync. It must not be freed.
func NewAsync() *Call {
	return &Call{Request: actor.Request{Ready: make(chan struct{}), Async: true}}
}

// NewCallback returns a call that announces its result by calling told, on the loop: told must not block. If told is nil,
// the result is not announced. The call must not be freed.
func NewCallback(told func()) *Call { return &Call{Request: actor.Request{OnDone: told}} }

// Free returns a call of NewCall to the pool. The caller must have received its result and must not have cancelled it.
func (c *Call) Free() {
	c.Reset()
	c.msg = coordinator.LoopMessage{}
	calls.Put(c)
}
