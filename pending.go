package lockwheel

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
	"github.com/lockwheel/lockwheel/internal/ctxwatch"
)

var (
	errPending      = errors.New("not decided yet: wait for Done")
	errAlreadyTaken = errors.New("the hold was taken before")

	errZeroPending = errors.New("lockwheel: a zero Pending: make one with Mutex.LockAsync")
)

// Pending is a request of LockAsync that waits without a goroutine. It is safe for concurrent use. The zero Pending
// is complete, with an error.
type Pending struct {
	call *engine.Call // nil if the request was rejected before it was sent; the loop closes its Ready when the result is known
	hold *Hold        // has the engine, the name and the context of the wait
	err  error        // why the request was not sent
	// handle is what the caller gets of the hold. A grant that no caller can take any more is a leak, too.
	handle *Hold

	state        atomic.Uint32
	watched      atomic.Bool              // until it is true, LockAsync itself removes what is no longer to be watched
	contextWatch *ctxwatch.Watch[Pending] // of the context; set before watched
	entry        *ctxwatch.Entry[Pending] // its place in that watch
}

// The states of a Pending. Only the first change from statePending takes effect.
const (
	statePending uint32 = iota
	stateFailed
	stateTaken
	stateCanceled
)

// LockAsync requests the lock and returns without blocking. It behaves like Lock otherwise. The caller takes the hold
// from the Pending once its Done is closed. A grant that is not taken when ctx ends is released.
//
// The wait needs no goroutine. If ctx is not from package context and has its own Done, Go starts one goroutine for
// all calls that share it. Soon after the request is rejected, taken or canceled, ctx has no reference to it any
// more.
//
// Under heavy load, callers that block in Lock are served first. If calls of LockAsync come faster than the engine
// takes them, further ones are rejected with ErrTooManyWaiters ([Options].MaxWaiting), and Done is closed at once.
func (m Mutex) LockAsync(ctx context.Context, opts ...Option) *Pending {
	call, hold, err := m.request(ctx, opts, acquireMode{async: true})
	if err != nil {
		return &Pending{err: err}
	}
	p := &Pending{call: call, hold: hold, handle: m.engine.handleOf(hold)}
	call.OnDone = p.onResult
	if err, why := m.engine.loop.PostAsync(call); err != nil {
		return m.notPosted(err, why)
	}
	p.watch()
	return p
}

// notPosted returns a Pending for a request that the loop has not received. Its observer learns of it as of any other
// that is rejected because too many callers wait.
func (m Mutex) notPosted(err, why error) *Pending {
	p := &Pending{err: m.fail(err, why)}
	if err == ErrTooManyWaiters {
		m.engine.listeners.rejected(m.name, 0, p.err)
	}
	return p
}

// watch cancels the request when its context ends. If the context panics, LockAsync panics too, and its caller gets
// no Pending. watch then cancels the request immediately.
func (p *Pending) watch() {
	begun := false
	defer func() {
		if !begun {
			p.cancel(context.Canceled)
		}
	}()
	p.contextWatch, p.entry = p.hold.engine.contexts.watches.Watch(p.hold.parent, p)
	begun = true
	p.watched.Store(true)
	if p.state.Load() == stateFailed {
		p.unwatch()
	}
}

// unwatch removes the request from its context.
func (p *Pending) unwatch() {
	if p.contextWatch != nil && p.contextWatch.Leave(p.entry) {
		p.cleanUp()
	}
}

// cleanUp may run code of the context. It recovers from a panic there.
func (p *Pending) cleanUp() {
	defer func() {
		if recover() != nil {
			p.hold.engine.contexts.detaching.Panics.Add(1)
		}
	}()
	p.contextWatch.CleanUp()
}

// onResult runs on the loop when the result is known. After a rejection it removes the request from ctx, which may
// live for ever. The removal of the last request runs beside the loop, because it calls code of the context. A grant
// stays watched until it is taken.
func (p *Pending) onResult() {
	if p.call.Err != nil && p.state.CompareAndSwap(statePending, stateFailed) && p.watched.Load() && p.contextWatch != nil && p.contextWatch.Leave(p.entry) {
		p.hold.engine.contexts.detaching.Submit(p.cleanUp)
	}
	close(p.call.Ready)
}

// Done returns a channel that is closed when the result is known. Hold then returns it without blocking.
func (p *Pending) Done() <-chan struct{} {
	if p.call == nil {
		return canceledCtx.Done()
	}
	return p.call.Ready
}

// Hold returns the hold, or the error that Lock would have returned. A hold can be taken once: a second call gets an
// error, and so does a call before Done is closed. If the engine was closed after the grant, Hold returns the hold
// without an error, and its Err reports the end.
//
// It does not block, with two exceptions: ctx is not from package context and its code blocks; or the lease of the
// grant is over by then, and Hold waits for a turn of the engine's loop.
func (p *Pending) Hold() (*Hold, error) {
	if p.call == nil {
		return nil, cmp.Or(p.err, errZeroPending)
	}
	select {
	case <-p.call.Ready:
	default:
		return nil, p.hold.fail(errPending, nil)
	}
	p.unwatch()
	if p.call.Err != nil {
		return nil, p.hold.fail(p.call.Err, p.call.Cause)
	}
	if p.state.CompareAndSwap(statePending, stateTaken) {
		p.hold.setToken(p.call.Token)
		if _, err := p.hold.orLost(); err != nil {
			return nil, err
		}
		return p.handle, nil
	}
	if p.state.Load() == stateTaken {
		return nil, p.hold.fail(errAlreadyTaken, nil)
	}
	return nil, p.hold.fail(ErrNotAcquired, p.cancelCause())
}

// Cancel gives up the request: Done is closed soon, and a grant that was not taken is released. After the hold was
// taken, Cancel does nothing. It does not block, unless ctx is not from package context and its code blocks.
func (p *Pending) Cancel() {
	p.cancel(context.Canceled)
	p.unwatch()
}

func (p *Pending) cancel(cause error) {
	if p.call != nil && p.state.CompareAndSwap(statePending, stateCanceled) {
		p.hold.engine.loop.Cancel(p.call, cause)
	}
}

// canceled takes the request from its wait when its context has ended. It returns nil if it does not wait any more.
func (p *Pending) canceled() *actor.Request {
	if !p.state.CompareAndSwap(statePending, stateCanceled) {
		return nil
	}
	return &p.call.Request
}

// cancelCause returns why a grant was released.
func (p *Pending) cancelCause() error {
	return p.hold.engine.contexts.causeOf(p.hold.parent)
}
