package engine

import (
	"sync"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// Call is a request together with its message to the loop and the channel on which the caller waits. The caller owns it
// until Post, then the loop until the result. Engine.NewCall, NewMulti, NewAsync and NewCallback make one that
// announces its result as they say; the result of the zero Call is not announced. A Call needs an Op before Post, see
// [actor.Request].
type Call struct {
	msg coordinator.LoopMessage // placed before the request, which the loop reaches through it
	actor.Request
}

// newCallPool returns the pool of an engine's calls. Engines do not share calls. An engine in a bubble of
// testing/synctest must not wait on a channel that was made outside of it, nor leave one there.
func newCallPool() *sync.Pool {
	return &sync.Pool{New: func() any {
		return &Call{Request: actor.Request{Ready: make(chan struct{}, 1)}}
	}}
}

// NewCall returns a call from the engine's pool. The caller fills it in and posts it to this engine at most once.
func (e *Engine) NewCall() *Call { return e.calls.Get().(*Call) }

// NewMulti returns a call for several locks. Its caller blocks, and its result is announced as that of a call of
// Engine.NewCall. It must not be freed, because such a request is never used again.
func NewMulti() *Call { return &Call{Request: actor.Request{Ready: make(chan struct{}, 1)}} }

// NewAsync returns a call that announces its result by closing Ready. It calls OnDone instead if the caller sets it and
// posts the call with PostAsync. It must not be freed.
func NewAsync() *Call {
	return &Call{Request: actor.Request{Ready: make(chan struct{}), Async: true}}
}

// NewCallback returns a call that announces its result by calling onDone, on the loop: onDone must not block. If onDone
// is nil, the result is not announced. The call must not be freed.
func NewCallback(onDone func()) *Call { return &Call{Request: actor.Request{OnDone: onDone}} }

// Free returns a call of NewCall to the pool. The caller must have received its result and must not have canceled it.
func (e *Engine) Free(c *Call) {
	c.Reset()
	c.msg = coordinator.LoopMessage{}
	e.calls.Put(c)
}
