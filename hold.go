package lockwheel

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

// Hold is one lock held once, or several as one ([Multi]): what a Lock returned. It is to be unlocked once, and must not be
// copied: a copy is not the hold, and is not told of its end (go vet finds copies). Safe for concurrent use. The zero Hold is one that
// has ended: its errors say so and match ErrNotHeld.
type Hold struct {
	grant  actor.Hold
	engine *Engine
	name   string
	parent context.Context // of the Lock that returned it; of several locks their group, and there is no engine
}

var errZeroHold = fmt.Errorf("lockwheel: a zero Hold, which no Lock returned: %w", ErrNotHeld)

// zero reports whether no Lock returned the hold.
func (h *Hold) zero() bool { return h.parent == nil }

// Name is the lock's name, without the engine's prefix.
func (h *Hold) Name() string { return h.name }

// ID is the holder's id on the wire, as Redisson writes it: the engine's UUID, a colon, a number. Holds that
// were handed on inside the engine, without a release, share it.
func (h *Hold) ID() string {
	if h.zero() {
		return ""
	}
	if g := h.group(); g != nil {
		return g.first.ID()
	}
	return h.engine.config.ID + ":" + strconv.FormatUint(h.grant.Tenure, 10)
}

// Token is the fencing token of a hold of [Engine.FencedMutex], greater than that of any owner before; 0
// for other locks. An owner's holds have the same.
func (h *Hold) Token() uint64 {
	if f, ok := h.parent.(*fencing); ok {
		return f.token
	}
	return 0
}

// fencing is the parent of a hold with a token, so that other holds do without the room for one.
type fencing struct {
	context.Context
	token uint64
}

// fence gives the hold the token of its grant.
func (h *Hold) fence(token uint64) {
	if token != 0 {
		h.parent = &fencing{h.parent, token}
	}
}

// Deadline is until when the lock is known to be held. A renewal moves it on. Of several locks it is the
// earliest, of a quorum until when a majority is; zero when they are not held any more. That of one lock stays
// as it was when its hold ends before: whether it is held is what Err says.
func (h *Hold) Deadline() time.Time {
	if h.zero() {
		return time.Time{}
	}
	if g := h.group(); g != nil {
		return g.deadline()
	}
	return h.engine.loop.Time(h.grant.Until())
}

// Err is nil while the lock is held, by the clock and by all that is known; it does not block. After that it
// matches ErrLost, ErrNotHeld if it was unlocked, or ErrClosed if the engine was closed. A process that was
// paused beyond the lease sees the loss at once.
func (h *Hold) Err() error {
	if h.zero() {
		return errZeroHold
	}
	if g := h.group(); g != nil {
		return g.err()
	}
	if s := h.grant.Signal(); s != nil && s.Err != nil {
		return h.fail(s.Err, s.Cause)
	}
	if h.overdue() {
		return h.fail(ErrLost, errOverdue)
	}
	return nil
}

// hasEnded reports whether a hold of one lock has ended, without making an error of it.
func (h *Hold) hasEnded() bool {
	s := h.grant.Signal()
	return s != nil && s.Err != nil || h.overdue()
}

// Done is closed when the lock is lost or unlocked, or the engine closed; Err then says which, and Context
// has ended. [Observer] is told after that.
func (h *Hold) Done() <-chan struct{} {
	if h.zero() {
		return ended.Done()
	}
	for {
		seen := h.grant.Signal()
		if seen != nil {
			return seen.Done
		}
		h.grant.Ask(nil, &actor.Signal{Done: make(chan struct{})})
	}
}

// Context is a child of Lock's context that ends with the hold: with cause ErrLost when the lock is
// lost, ErrNotHeld on Unlock, ErrClosed on Close. It carries the owner of this lock: whoever locks the
// same name with it, in any goroutine, re-enters. Hand WithoutOwner(ctx) to work that must not. Under a context of another
// make than package context's, with a Done of its own, Go starts a goroutine for it until it has ended.
func (h *Hold) Context() context.Context {
	if h.zero() {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errZeroHold)
		return ctx
	}
	for {
		seen := h.grant.Signal()
		if seen != nil && seen.Value != nil {
			return seen.Value.(context.Context)
		}
		ctx := newHoldContext(h)
		wanted := &actor.Signal{Value: ctx}
		switch {
		case seen == nil:
			wanted.Done = make(chan struct{})
		case seen.Err != nil:
			ctx.drop(h.fail(seen.Err, seen.Cause))
			return ctx
		default:
			wanted.Done = seen.Done
		}
		if h.grant.Ask(seen, wanted) {
			return ctx
		}
		ctx.drop(nil)
	}
}

// Unlock ends the hold: at once for everybody in this process, and with the last hold of its owner the
// lock is released in Redis, or passed on to the next caller in this engine. The release is sent whatever
// ctx says, and again until it is answered or the lease is over; ctx, and Options.Timeout, bound only the
// wait for the answer; that the hold's own context ends is no end of the wait.
//
// It returns nil when the lock was held until now, and is released or passed on; it is passed on without a look at the server, so a loss of
// which nobody has heard yet is then the next caller's. ErrLost: it was lost before, also because its key has become something else. A [ServerError]: the server refuses the release for good;
// while the lease lasts it is sent again now and then, in case the right to it is given back. ErrUnavailable: no answer
// yet, or none before the lease ended; nothing renews the lock any more, and while the lease lasts a second call waits for the same
// release. ErrNotHeld: it was unlocked before, and that was answered, or the lease is over since. ErrClosed: the engine was closed before.
func (h *Hold) Unlock(ctx context.Context) error {
	if ctx == nil || h.engine == nil {
		return h.unlockRare(ctx)
	}
	left := h.grant.Asked() && h.leave()
	return h.change(ctx, actor.Unlock, 0, left)
}

// leave ends a hold with a context for its users, before its release is sent: on the goroutine of the one who unlocks, so
// that the context has ended when Unlock returns and when the lock is free. It reports whether the hold was unlocked by that.
func (h *Hold) leave() bool {
	err, cause, reason := ErrNotHeld, error(nil), h.fail(ErrNotHeld, nil)
	if h.overdue() {
		err, cause, reason = ErrLost, errOverdue, h.fail(ErrLost, errOverdue)
	}
	if untold := h.grant.End(err, cause, 0); untold != nil {
		h.engine.contexts.end(untold, reason)
		return err == ErrNotHeld
	}
	<-h.grant.Signal().Done // it ended before, and its context ends at this moment
	return false
}

// unlockRare is Unlock for several locks held as one, and for misuse. It is apart so that Unlock of one lock has one
// small frame: whoever waits is woken with a cold stack.
func (h *Hold) unlockRare(ctx context.Context) error {
	if ctx == nil {
		h.Unlock(context.Background())
		return errNilContext(fmt.Sprintf("lock %s", quoted(h.name)))
	}
	if h.zero() {
		return errZeroHold
	}
	return h.group().unlock(ctx)
}

// Extend makes the lease d from now, longer or shorter than before; the lock is no longer watched and
// ends by itself then. Zero makes it watched again; what is negative, below 1 ms or above 10 years is an
// error, and nothing is sent. If another hold of this owner needs a longer lease, the key keeps that one.
//
// It blocks until the server confirms it, ctx ends or Options.Timeout is over. ErrLost: the lock is gone, also one that
// is to be watched again when Options.MaxHold is over. A Quorum to which no majority agreed goes on as before.
// ErrNotHeld: it was unlocked. ErrClosed: the engine was closed. ErrUnavailable: it may or may not have
// happened; the hold goes on as before, and counts on the shorter lease of both until it is unlocked, because what had no answer may
// still come to the server: a later Extend that returns nil has set the lease there, and [Hold.Deadline] stays nearer.
func (h *Hold) Extend(ctx context.Context, d time.Duration) error {
	if ctx == nil {
		return errNilContext(fmt.Sprintf("lock %s", quoted(h.name)))
	}
	if d != 0 {
		if err := within("Extend", d, shortest, longest); err != nil {
			return h.fail(err, nil)
		}
	}
	if h.zero() {
		return errZeroHold
	}
	if ctx.Err() != nil {
		return h.fail(errNotSent, context.Cause(ctx))
	}
	if g := h.group(); g != nil {
		return g.extend(ctx, d)
	}
	return h.change(ctx, actor.Extend, d, false)
}

// change sends a request that concerns this hold. left says that it ended as unlocked for that request. ctx is not looked at before it is
// sent: a method of one of another make may panic, or block, and a lock that nobody has would be renewed for ever.
func (h *Hold) change(ctx context.Context, what actor.Kind, lease time.Duration, left bool) error {
	call := engine.NewCall()
	call.Tag = what
	call.Name, call.Hold, call.Lease = h.name, &h.grant, lease
	switch posted := h.engine.loop.Post(call); {
	case !posted && left:
		return h.fail(ErrClosed, nil)
	case !posted:
		return h.over(ErrClosed)
	}
	cause := h.engine.await(ctx, ctx.Done(), call)
	err := h.outcome(call)
	if cause == nil {
		call.Free()
	}
	return err
}

// outcome is what a request that concerns this hold came to.
func (h *Hold) outcome(call *engine.Call) error {
	switch call.Err {
	case nil:
		return nil
	case ErrNotHeld:
		return h.over(ErrNotHeld)
	case ErrLost:
		if err := h.Err(); errors.Is(err, ErrLost) {
			return err // it says why
		}
	}
	return h.fail(call.Err, call.Cause)
}

// over says how the hold ended, when the loop does not know it any more.
func (h *Hold) over(otherwise error) error {
	if err := h.Err(); err != nil {
		return err
	}
	return h.fail(otherwise, nil)
}

// checked is the hold if it is still held by the clock: a process may have been paused since the grant.
func (h *Hold) checked() (*Hold, error) { return h.checkedAt(h.engine.loop.Now()) }

// checkedAt is checked at a moment. A renewal that is answered at that moment is not to keep a lock that nobody has.
func (h *Hold) checkedAt(now time.Duration) (*Hold, error) {
	if now < h.grant.Until() {
		return h, nil
	}
	h.change(ended, actor.Unlock, 0, false)
	return nil, h.fail(ErrLost, errOverdue)
}

// ended is a context for what is sent without waiting for the answer.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func (h *Hold) overdue() bool { return h.engine.loop.Now() >= h.grant.Until() }

func (h *Hold) fail(err, cause error) error { return &lockError{name: h.name, err: err, cause: cause} }
