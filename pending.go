package lockwheel

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"github.com/lockwheel/lockwheel/engine"
)

var (
	errUndecided = errors.New("not decided yet: wait for Done")
	errTaken     = errors.New("the hold was taken before")

	errZeroPending = errors.New("lockwheel: a zero Pending: make one with Mutex.LockAsync")
)

// Pending is a lock that is waited for without a goroutine. Safe for concurrent use. The zero Pending is
// decided, with an error.
type Pending struct {
	call *engine.Call // nil when the request was refused before it was sent; its Ready is closed at the verdict, by decided
	hold *Hold        // knows engine, name and context of the wait
	err  error        // why it was not sent

	fate    atomic.Uint32
	watched atomic.Bool // until then, LockAsync itself looks whether there is anything left to watch for
	with    *watch      // of the context; set before watched
	seat    *seat       // there
}

// What came first: the refusal, the taker or the one who gave up.
const (
	undecided uint32 = iota
	refused
	taken
	givenUp
)

// LockAsync asks for the lock and returns at once: it does not block, and the wait costs no goroutine; but with
// a ctx of another make than package context's, which has a Done of its own, Go starts one for all that share it. It
// is otherwise as Lock. The caller takes the hold from the Pending once its Done is closed; a grant that
// is not taken when ctx ends is given back. Where very much is asked for at once, callers that block in Lock come before it. Soon after it is refused, taken or cancelled nothing of it is left in ctx.
func (m Mutex) LockAsync(ctx context.Context, opts ...Option) *Pending {
	call, hold, err := m.request(ctx, opts, wish{async: true})
	if err != nil {
		return &Pending{err: err}
	}
	p := &Pending{call: call, hold: hold}
	call.Told = p.decided
	if !m.engine.loop.Post(call) {
		return &Pending{err: m.fail(ErrClosed, nil)}
	}
	p.watch()
	return p
}

// watch has the request given up when its context ends. If the context panics, so does LockAsync, and nobody has the Pending: it is given
// up at once.
func (p *Pending) watch() {
	begun := false
	defer func() {
		if !begun {
			p.giveUp(context.Canceled)
		}
	}()
	p.with, p.seat = p.hold.engine.contexts.watches.begin(p)
	begun = true
	p.watched.Store(true)
	if p.fate.Load() == refused {
		p.unwatch()
	}
}

// unwatch leaves nothing in the context.
func (p *Pending) unwatch() {
	if p.with != nil && p.with.leave(p.seat) {
		p.tidy()
	}
}

// tidy may run code of the context. A panic of that ends nothing else.
func (p *Pending) tidy() {
	defer func() {
		if recover() != nil {
			p.hold.engine.contexts.leaving.panics.Add(1)
		}
	}()
	p.with.tidy()
}

// decided is called on the loop at the verdict. After a refusal nothing is left in ctx, which may live for ever: the last who waits with
// it leaves it beside the loop, as that runs the context's own code. A grant goes on being watched until it is taken.
func (p *Pending) decided() {
	if p.call.Err != nil && p.fate.CompareAndSwap(undecided, refused) && p.watched.Load() && p.with != nil && p.with.leave(p.seat) {
		p.hold.engine.contexts.leaving.put(p.tidy)
	}
	close(p.call.Ready)
}

// Done is closed when the request is decided: Hold then returns its outcome without blocking.
func (p *Pending) Done() <-chan struct{} {
	if p.call == nil {
		return ended.Done()
	}
	return p.call.Ready
}

// Hold takes the outcome: the hold, or the error that Lock would have returned. A hold can be taken
// once: a second call gets an error, and so does one before Done is closed. A hold of which the engine was closed after the grant is
// returned without an error; its Err says so. It does not block, unless code of a ctx of another make
// than package context's does.
func (p *Pending) Hold() (*Hold, error) {
	if p.call == nil {
		return nil, cmp.Or(p.err, errZeroPending)
	}
	select {
	case <-p.call.Ready:
	default:
		return nil, p.hold.fail(errUndecided, nil)
	}
	p.unwatch()
	if p.call.Err != nil {
		return nil, p.hold.fail(p.call.Err, p.call.Cause)
	}
	if p.fate.CompareAndSwap(undecided, taken) {
		p.hold.fence(p.call.Token)
		return p.hold.checked()
	}
	if p.fate.Load() == taken {
		return nil, p.hold.fail(errTaken, nil)
	}
	return nil, p.hold.fail(ErrNotAcquired, p.cause())
}

// Cancel gives up: Done is closed soon, and a grant that was not taken is given back. After the hold was
// taken, it does nothing. It does not block, unless code of a ctx of another make than package context's does.
func (p *Pending) Cancel() {
	p.giveUp(context.Canceled)
	p.unwatch()
}

func (p *Pending) giveUp(cause error) {
	if p.call != nil && p.fate.CompareAndSwap(undecided, givenUp) {
		p.hold.engine.loop.Cancel(p.call, cause)
	}
}

// cause is why a grant was given back.
func (p *Pending) cause() error {
	return p.hold.engine.contexts.cause(p.hold.parent)
}
