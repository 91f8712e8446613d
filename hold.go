package lockwheel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

// Hold is one lock held once, or several locks held as one ([Multi]). A Lock method returns it, and the caller must
// unlock it once. It is safe for concurrent use. It must not be copied (go vet finds copies): a copy is not notified
// when the hold ends, its Unlock can leave the lock held, and that of the original can panic then. The zero Hold has
// ended: its errors say so and match ErrNotHeld.
type Hold struct {
	grant  actor.Hold
	engine *Engine
	name   string
	parent context.Context // of the Lock that returned it; for several locks it is their group, and engine is nil
}

var (
	errZeroHold      = fmt.Errorf("lockwheel: a zero Hold, which no Lock returned: %w", ErrNotHeld)
	errZeroUnlocking = fmt.Errorf("lockwheel: a zero Unlocking, which no UnlockAsync returned: %w", ErrNotHeld)
)

// zero reports whether the hold is the zero Hold, which no Lock returned.
func (h *Hold) zero() bool { return h.parent == nil }

// Name returns the lock's name, without the engine's prefix. Of several locks it is their names, joined with commas.
func (h *Hold) Name() string { return h.name }

// ID returns the holder's id on the wire, as Redisson writes it: the engine's UUID, a colon, a number. Holds that the
// engine handed off without a release share the id. Of several locks it is the id of one of them. The zero Hold has
// none.
func (h *Hold) ID() string {
	if h.zero() {
		return ""
	}
	if r := h.found(); r != nil {
		return r.ID()
	}
	if g := h.multi(); g != nil {
		return g.firstHold.ID()
	}
	return h.engine.config.ID + ":" + strconv.FormatUint(h.grant.Tenure, 10)
}

// Token returns the fencing token of a hold of [Engine.FencedMutex], which is greater than that of any earlier owner.
// It returns 0 for other locks. All holds of one owner have the same token.
func (h *Hold) Token() uint64 {
	if r := h.found(); r != nil {
		return r.Token()
	}
	if f, ok := h.parent.(*tokenContext); ok {
		return f.token
	}
	return 0
}

// tokenContext is the parent of a hold with a token. Holds without a token need no field for it. It is immutable.
type tokenContext struct {
	context.Context
	token uint64
}

// setToken sets the token of the grant, unless it is 0.
func (h *Hold) setToken(token uint64) {
	if token != 0 {
		h.parent = &tokenContext{h.parent, token}
	}
}

// Deadline returns the time until which the lock is known to be held. A renewal moves it. For several locks it is the
// earliest deadline, for a quorum the time until which a majority is held. It is zero once the hold has ended, or once
// too few locks are held; it is in the past if Err finds the loss by the clock.
//
// The Deadline of a single lock stays unchanged when its hold ends early. Use Err to check whether the lock is held.
func (h *Hold) Deadline() time.Time {
	if h.zero() {
		return time.Time{}
	}
	if r := h.found(); r != nil {
		return r.Deadline()
	}
	if g := h.multi(); g != nil {
		return g.deadline()
	}
	return h.engine.loop.Time(h.grant.Until())
}

// Err returns nil while the lock is held. It reads the clock and does not block, so a process that was paused beyond
// the lease sees the loss immediately.
//
// After the end of the hold, Err matches ErrLost, ErrNotHeld if the hold was unlocked, or ErrClosed if the engine was
// closed.
func (h *Hold) Err() error {
	if h.zero() {
		return errZeroHold
	}
	if r := h.found(); r != nil {
		return r.Err()
	}
	if g := h.multi(); g != nil {
		return g.err()
	}
	if s := h.grant.Signal(); s != nil && s.Err != nil {
		return h.fail(s.Err, s.Cause)
	}
	if h.expired() {
		return h.fail(ErrLost, h.expiryCause())
	}
	return nil
}

// expiryCause returns the cause of a loss that the hold finds by the clock. The engine gives the same one later.
func (h *Hold) expiryCause() error { return cmp.Or(h.grant.ExpiryCause(), errLeaseExpired) }

// hasEnded reports whether a hold of one lock has ended. It creates no error.
func (h *Hold) hasEnded() bool {
	if r := h.found(); r != nil {
		return r.hasEnded()
	}
	s := h.grant.Signal()
	return s != nil && s.Err != nil || h.expired()
}

// Done returns a channel that is closed when the lock is lost or unlocked, or when the engine is closed. Err then
// says which, and Context has ended. [Observer] is notified after that.
func (h *Hold) Done() <-chan struct{} {
	if h.zero() {
		return canceledCtx.Done()
	}
	if r := h.found(); r != nil {
		return r.Done()
	}
	for {
		seen := h.grant.Signal()
		if seen != nil && seen.Done != nil {
			return seen.Done
		}
		h.grant.Install(seen, &actor.HoldSignal{Done: make(chan struct{})})
	}
}

// handle is what a Lock returns with Options.FindLeaks in the place of the hold itself. No engine refers to it: only
// the caller does, so once the caller has lost it the garbage collector finds it (Hold.leak). A handle has no engine
// and no grant. Its methods are those of the hold that it stands for, see found. handleOf makes one; it is immutable.
type handle struct {
	Hold
	of foundHold
}

// foundHold is the parent of a handle: it has the hold that the handle stands for, and is the context with which that
// was locked. handleOf makes one; it is immutable.
type foundHold struct {
	context.Context
	hold *Hold
}

// found returns the hold that h stands for if h is a handle, and nil if h is the hold itself.
func (h *Hold) found() *Hold {
	if h.engine != nil {
		return nil
	}
	if f, is := h.parent.(*foundHold); is {
		return f.hold
	}
	return nil
}

// handleOf returns what the caller of a Lock gets for a hold: with Options.FindLeaks a handle of it, otherwise the hold
// itself.
func (e *Engine) handleOf(h *Hold) *Hold {
	if !e.options.FindLeaks {
		return h
	}
	x := &handle{of: foundHold{h.parent, h}}
	x.name, x.parent = h.name, &x.of
	runtime.AddCleanup(x, (*Hold).leak, h)
	return &x.Hold
}

// leak tells the engine that no caller can reach the handle of the hold any more, so that no caller can unlock it. It
// runs on a goroutine of the garbage collector, and does not block. Nearly every hold has ended then.
func (h *Hold) leak() {
	if g := h.multi(); g != nil {
		g.leak()
		return
	}
	if s := h.grant.Signal(); (s == nil || s.Err == nil) && h.grant.Until() != 0 {
		h.engine.loop.Leaked(&h.grant)
	}
}

// Context returns a child of Lock's context that ends with the hold. Its cause is ErrLost after a loss, ErrNotHeld
// after Unlock, and ErrClosed after Close.
//
// The context carries the owner of this lock: a call that locks the same name with it, in any goroutine, re-enters.
// Pass WithoutOwner(ctx) to work that must not re-enter.
//
// If Lock's context is not from package context and has its own Done, Go starts a goroutine for it until it has
// ended.
func (h *Hold) Context() context.Context {
	if h.zero() {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errZeroHold)
		return ctx
	}
	if r := h.found(); r != nil {
		return &holdContext{Context: r.Context(), hold: h}
	}
	for {
		seen := h.grant.Signal()
		if seen != nil && seen.Context != nil {
			return seen.Context.(context.Context)
		}
		ctx := newHoldContext(h)
		wanted := &actor.HoldSignal{Context: ctx}
		switch {
		case seen != nil && seen.Err != nil:
			ctx.discard(h.fail(seen.Err, seen.Cause))
			return ctx
		case seen == nil || seen.Done == nil:
			wanted.Done = make(chan struct{})
		default:
			wanted.Done = seen.Done
		}
		if h.grant.Install(seen, wanted) {
			return ctx
		}
		ctx.discard(nil)
	}
}

// Unlock ends the hold. The hold ends immediately for all callers in this process. When the last hold of the owner
// ends, the engine releases the lock in Redis or hands it off to the next local caller.
//
// The engine sends the release whatever the state of ctx, and resends it until the server replies or the lease expires.
// ctx and Options.CallTimeout bound only the wait for the reply. The end of the hold's own context does not end this
// wait. With a nil ctx the hold ends all the same, and the wait is bounded by Options.CallTimeout alone. The error then
// says that ctx is nil, and also matches what Unlock would have returned otherwise.
//
// Unlock returns:
//
//   - nil: the lock was held until now, and is released or handed off; or the owner has other holds of it, and this was
//     one of them. The server is not asked for a hand-off, nor for one of several holds, so a loss that the engine has
//     not noticed yet is then reported to the next holder, or to the other holds.
//   - ErrLost: the lock was lost before, for example because its key now has another type.
//   - [ServerError]: the server rejects the release permanently. The engine resends it now and then while the lease
//     lasts, in case the permission is restored.
//   - ErrUnavailable: there was no reply yet, or none before the lease expired. Nothing renews the lock any more.
//     While the lease lasts, a second Unlock waits for the same release.
//   - ErrNotHeld: the hold was unlocked before, and the server has replied or the lease has expired since.
//   - ErrClosed: the engine was closed before.
//
// For a [Quorum] it can match ErrLost and ErrUnavailable at once, if its servers differ.
//
// A hold is unlocked once: of all calls at most one returns nil, for one lock and for several. Concurrent calls wait
// for the same release. When the server replies, one of those that still wait has the result, nil or an error, and the
// others return ErrNotHeld. So a call that ended with ErrUnavailable leaves the result to the next one.
func (h *Hold) Unlock(ctx context.Context) error {
	if ctx == nil || h.engine == nil || h.engine.options.Tracer != nil {
		return h.unlockSlow(ctx)
	}
	return h.unlock(ctx)
}

// unlock is Unlock of one lock.
func (h *Hold) unlock(ctx context.Context) error {
	left := h.grant.HasContext() && h.endByUnlock()
	return h.send(ctx, actor.Unlock, 0, left)
}

// UnlockAsync ends the hold as Unlock does, and returns without waiting for the server. A caller that is done with the
// lock need not wait a round trip for the reply. The hold and its context have ended when UnlockAsync returns. The
// returned value has the result that Unlock would have returned, within Options.CallTimeout; it may be ignored.
//
// For several locks, UnlockAsync starts a goroutine that ends with the result. A [Tracer] does not follow UnlockAsync.
// Of several calls the first has the result of the release; the others say at once how the hold ended, mostly
// ErrNotHeld.
func (h *Hold) UnlockAsync() *Unlocking {
	if h.zero() {
		return &Unlocking{done: closedChan, err: errZeroHold}
	}
	if r := h.found(); r != nil {
		defer runtime.KeepAlive(h)
		return r.UnlockAsync()
	}
	if g := h.multi(); g != nil {
		if g.ended.Load() != nil {
			<-h.Done()
			return &Unlocking{done: closedChan, err: h.Err()}
		}
		r, enough, err := g.beginUnlock()
		if err != nil {
			return &Unlocking{done: closedChan, err: err}
		}
		u := &Unlocking{done: make(chan struct{})}
		go func() {
			defer close(u.done)
			u.err = g.awaitUnlock(context.Background(), r, enough)
		}()
		return u
	}
	if seen := h.grant.Signal(); seen != nil && seen.Err != nil {
		// Nothing is posted, so that calls which repeat themselves do not pile up in the mailbox.
		<-seen.Done // its context may be ending now
		return &Unlocking{done: closedChan, err: h.Err()}
	}
	left := !h.expired()
	h.endByUnlock()
	call := engine.NewAsync()
	call.Op = actor.Unlock
	call.Name, call.Hold = h.name, &h.grant
	if h.engine.loop.PostAsyncUnlock(call) {
		return &Unlocking{hold: h, call: call, done: call.Ready}
	}
	if left {
		return &Unlocking{done: closedChan, err: h.fail(ErrClosed, nil)}
	}
	return &Unlocking{done: closedChan, err: h.endError(ErrClosed)}
}

// Unlocking is an unlock that goes on. All methods are safe for concurrent use and never block. The zero Unlocking has
// ended: its error matches ErrNotHeld.
type Unlocking struct {
	hold *Hold
	call *engine.Call  // nil if err is the result
	done chan struct{} // closed with the result
	err  error
}

// Done returns a channel that is closed when the result is known: when the server has replied, or after
// Options.CallTimeout.
func (u *Unlocking) Done() <-chan struct{} {
	if u.done == nil {
		return closedChan
	}
	return u.done
}

// Err returns the result, which is that of [Hold.Unlock]. Before Done is closed it returns nil.
func (u *Unlocking) Err() error {
	if u.done == nil {
		return errZeroUnlocking
	}
	select {
	case <-u.done:
	default:
		return nil
	}
	if u.call == nil {
		return u.err
	}
	return u.hold.resultError(u.call)
}

// closedChan is the Done of a hold that has ended, and of an unlock that has its result.
var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// endByUnlock ends a hold for its users, before its release is sent. It runs on the goroutine that unlocks, so the
// context has ended before Unlock returns and before the lock is free. The result says whether this call ended a
// context as unlocked; without a context it is false.
func (h *Hold) endByUnlock() bool {
	err, cause, reason := ErrNotHeld, error(nil), h.fail(ErrNotHeld, nil)
	if h.expired() {
		err, cause = ErrLost, h.expiryCause()
		reason = h.fail(err, cause)
	}
	if remaining := h.grant.End(err, cause, 0); remaining != nil {
		h.engine.contexts.end(remaining, reason)
		return err == ErrNotHeld
	}
	<-h.grant.Signal().Done // the hold ended before; its context may be ending now
	return false
}

// unlockSlow is Unlock for several locks held as one, and for misuse. It is separate so that Unlock of one lock has a
// small frame: a waiter wakes with a cold stack. Engine.awaitOrCancel says what was measured.
func (h *Hold) unlockSlow(ctx context.Context) error {
	if ctx == nil {
		unlocked := h.Unlock(context.Background())
		return errors.Join(errNilContext(fmt.Sprintf("lock %s", quoted(h.name))), unlocked)
	}
	if h.zero() {
		return errZeroHold
	}
	if tracer := h.tracer(); tracer != nil {
		return h.traceUnlock(ctx, tracer)
	}
	return h.unlockAny(ctx)
}

// unlockAny is Unlock of any hold, without a trace.
func (h *Hold) unlockAny(ctx context.Context) error {
	if r := h.found(); r != nil {
		defer runtime.KeepAlive(h)
		return r.unlockAny(ctx)
	}
	if g := h.multi(); g != nil {
		return g.unlock(ctx)
	}
	return h.unlock(ctx)
}

// tracer returns the tracer of calls that concern a hold, or nil. For several locks it is that of their Lock.
func (h *Hold) tracer() Tracer {
	if r := h.found(); r != nil {
		return r.tracer()
	}
	if g := h.multi(); g != nil {
		return g.opened().options.Tracer
	}
	return h.engine.options.Tracer
}

// giveBack ends a hold that its caller will not have or unlock any more, and releases it without waiting. The hold and
// its context have ended when giveBack returns.
func (h *Hold) giveBack() {
	if r := h.found(); r != nil {
		defer runtime.KeepAlive(h)
		r.giveBack()
		return
	}
	if g := h.multi(); g != nil {
		g.giveBack(g.hold.fail(ErrNotHeld, nil))
		return
	}
	left := h.endByUnlock()
	h.send(canceledCtx, actor.Unlock, 0, left)
}

// Extend sets the lease to d from now, longer or shorter than before. The lock is no longer watched, and its lease
// expires after d. Zero makes the lock watched again. A d that is negative, below 1 ms or above 10 years is an error,
// and nothing is sent. If another hold of this owner needs a longer lease, the key keeps the longer one.
//
// Extend blocks until the server confirms, ctx ends or Options.CallTimeout elapses. It returns:
//
//   - ErrLost: the lock is gone. This includes Extend(ctx, 0) after Options.MaxHold has elapsed.
//   - ErrNotHeld: the hold was unlocked.
//   - ErrClosed: the engine was closed.
//   - ErrUnavailable: the lease may or may not have changed.
//
// After ErrUnavailable the hold continues with the lease that it had. Until a later renewal has set that again, it
// relies on the shorter of the two leases. If there was no reply, it does so until it is unlocked, because the command
// may still reach the server. A later Extend that returns nil has set its lease on the server, but [Hold.Deadline]
// stays at the earlier time. A Quorum without a majority for the extension continues as before. Of a Multi some locks
// may have the new lease then; if it was watched, the engine tries once to have these watched again.
func (h *Hold) Extend(ctx context.Context, d time.Duration) error {
	if ctx == nil {
		return errNilContext(fmt.Sprintf("lock %s", quoted(h.name)))
	}
	if d != 0 {
		if err := checkRange("Extend", d, minDuration, maxDuration); err != nil {
			return cmp.Or(h.found(), h).fail(err, nil) // a handle has no label
		}
	}
	if h.zero() {
		return errZeroHold
	}
	if tracer := h.tracer(); tracer != nil {
		return h.trace(ctx, tracer, "extend", func(ctx context.Context) error { return h.extend(ctx, d) })
	}
	return h.extend(ctx, d)
}

func (h *Hold) extend(ctx context.Context, d time.Duration) error {
	if r := h.found(); r != nil {
		defer runtime.KeepAlive(h)
		return r.extend(ctx, d)
	}
	if ctx.Err() != nil {
		return h.fail(errNotSent, context.Cause(ctx))
	}
	if g := h.multi(); g != nil {
		return g.extend(ctx, d, time.Time{})
	}
	return h.send(ctx, actor.Extend, d, false)
}

// send sends a request that concerns this hold. left says that the request's caller has already ended the hold as
// unlocked. send does not use ctx before the request is sent. A method of a custom context may panic or block, and the
// engine would then renew a lock without a holder for ever.
func (h *Hold) send(ctx context.Context, what actor.Op, lease time.Duration, left bool) error {
	call := h.engine.loop.NewCall()
	call.Op = what
	call.Name, call.Hold, call.Lease = h.name, &h.grant, lease
	switch posted := h.engine.loop.Post(call); {
	case !posted && left:
		return h.fail(ErrClosed, nil)
	case !posted:
		return h.endError(ErrClosed)
	}
	cause := h.engine.await(ctx, ctx.Done(), call)
	err := h.resultError(call)
	if cause == nil {
		h.engine.loop.Free(call)
	}
	return err
}

// resultError returns the error of a request that concerns this hold.
func (h *Hold) resultError(call *engine.Call) error {
	switch call.Err {
	case nil:
		return nil
	case ErrNotHeld:
		return h.endError(ErrNotHeld)
	case ErrLost:
		if err := h.Err(); errors.Is(err, ErrLost) {
			return err // it contains the cause
		}
	}
	return h.fail(call.Err, call.Cause)
}

// endError returns how the hold ended, for a hold that the loop no longer knows.
func (h *Hold) endError(otherwise error) error {
	if err := h.Err(); err != nil {
		return err
	}
	return h.fail(otherwise, nil)
}

// orLost returns the hold if its lease has not expired: the process may have been paused since the grant.
func (h *Hold) orLost() (*Hold, error) { return h.orLostAt(h.engine.loop.Now()) }

// orLostAt is orLost at the given time. It unlocks an expired hold: otherwise a renewal that is confirmed
// concurrently would keep a lock without a holder.
func (h *Hold) orLostAt(now time.Duration) (*Hold, error) {
	if now < h.grant.Until() {
		return h, nil
	}
	h.send(canceledCtx, actor.Unlock, 0, false)
	return nil, h.fail(ErrLost, h.expiryCause())
}

// canceledCtx is a canceled context, for requests that are sent without waiting for the reply.
var canceledCtx = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func (h *Hold) expired() bool { return h.engine.loop.Now() >= h.grant.Until() }

func (h *Hold) fail(err, cause error) error {
	return &lockError{name: h.name, label: h.grant.Label(), err: err, cause: cause}
}
