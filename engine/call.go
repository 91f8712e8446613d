package engine

import (
	"sync"

	"github.com/lockwheel/lockwheel/actor"
)

// Call is a request with what it takes to post it and to wait for it.
type Call struct {
	letter mail // before the request: the loop comes to that by it
	actor.Request
}

var calls = sync.Pool{New: func() any {
	return &Call{Request: actor.Request{Ready: make(chan struct{}, 1)}}
}}

// NewCall returns a call to be filled in and posted once.
func NewCall() *Call { return calls.Get().(*Call) }

// NewAsync returns a call whose Ready is closed at the verdict. It is not to be freed.
func NewAsync() *Call {
	return &Call{Request: actor.Request{Ready: make(chan struct{}), Async: true}}
}

// NewTold returns a call for whose verdict told is called, on the loop: it must not block. With nil nobody is
// told. It is not to be freed.
func NewTold(told func()) *Call { return &Call{Request: actor.Request{Told: told}} }

// Free gives back a call whose verdict was taken and that was never cancelled.
func (c *Call) Free() {
	c.Reset()
	c.letter = mail{}
	calls.Put(c)
}
