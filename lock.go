package lockwheel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/slot"
)

// maxNameLen is the maximum length of a name in bytes, including the engine's prefix.
const maxNameLen = 64 << 10

// Mutex is a named distributed lock. It is leased, exclusive (except [RWMutex.RLocker]), and re-entrant for calls
// that pass the holder's context.
//
// A Mutex is a small immutable value, free to create and to copy, and safe for concurrent use. The methods of the
// zero Mutex return an error. Names are arbitrary bytes, like Redis keys; see [Engine.Mutex] for the invalid ones.
type Mutex struct {
	engine *Engine
	name   string
	kind   actor.LockKind
}

// Name returns the lock's name, without the engine's prefix.
func (m Mutex) Name() string { return m.name }

// Lock waits until it holds the lock, or until ctx or a [Wait] ends. It blocks.
//
// On success the caller has a hold that it must unlock once. Without [Lease] the hold is watched: the engine renews
// it until then. ctx bounds the wait and the hold's context, but not the hold itself. To bound only the wait, use
// Wait. If ctx carries a hold of the same engine and name ([Hold.Context]), Lock re-enters immediately, or after a
// round trip if the lease that the lock has is too short, or about to end.
//
// On failure nothing is held. A grant that was under way when ctx ended is released when it comes, which can be after
// Lock has returned. The error matches one of these, and the context's cause if that ended the wait:
//
//   - ErrNotAcquired, ErrUnavailable, ErrNotReplicated, ErrTooManyWaiters, ErrKindMismatch or ErrClosed
//   - ErrUpgrade ([RWMutex.Writer] only)
//   - ErrLost, if the process was paused for longer than the lease of the grant, if the lock was taken away before Lock
//     returned (a [Quorum]), or if the call re-enters without [Lease] after Options.MaxHold
//   - a [ServerError], if the server rejects the command permanently
//   - none of these, if the name, an option or ctx is invalid; nothing is sent
func (m Mutex) Lock(ctx context.Context, opts ...Option) (*Hold, error) {
	if tracer := m.tracer(ctx); tracer != nil {
		return m.lockTraced(ctx, tracer, "lock", opts, acquireMode{})
	}
	return m.forCaller(m.lock(ctx, opts, acquireMode{}))
}

// TryLock acquires the lock if it is free. It waits for other holders only if it is given a [Wait]. It neither queues
// nor overtakes waiting callers. It may overtake LockAsync calls that the engine has not processed yet.
//
// It blocks for one round trip. If the server does not reply, or rejects the command for now (READONLY, OOM,
// NOREPLICAS), it returns ErrUnavailable after Options.CallTimeout. It does so at once if no connection can be made, or
// if callers of this engine wait for the lock and their last try failed. With a [Lease] shorter than the round trip,
// each grant comes too late; it then returns ErrUnavailable after Options.CallTimeout, too. Otherwise it behaves like
// Lock.
//
// It does not ask the server for a fair lock that callers of this engine wait for, nor to read while such callers wait
// to write: it returns ErrNotAcquired at once. The error is ErrUnavailable if their last try failed, or if the lease of
// the last known holder has ended and the engine has handled no reply for 100 ms or four round trips since.
func (m Mutex) TryLock(ctx context.Context, opts ...Option) (*Hold, error) {
	if tracer := m.tracer(ctx); tracer != nil {
		return m.lockTraced(ctx, tracer, "try lock", opts, acquireMode{once: true})
	}
	return m.forCaller(m.lock(ctx, opts, acquireMode{once: true}))
}

// forCaller returns what the caller of a Lock gets: the hold, or its handle (see handleOf).
func (m Mutex) forCaller(hold *Hold, err error) (*Hold, error) {
	if err != nil {
		return nil, err
	}
	return m.engine.handleOf(hold), nil
}

// tracer returns the tracer of a call, or nil.
func (m Mutex) tracer(ctx context.Context) Tracer {
	if m.engine == nil || ctx == nil {
		return nil
	}
	return m.engine.options.Tracer
}

func (m Mutex) lockTraced(ctx context.Context, tracer Tracer, op string, opts []Option, mode acquireMode) (*Hold, error) {
	call := TracedCall{Op: op, Name: m.name, Kind: kindNames[m.kind]}
	mode.trace = &call
	return traceLock(ctx, tracer, &call, func(ctx context.Context) (*Hold, error) {
		return m.forCaller(m.lock(ctx, opts, mode))
	})
}

// Do runs f while it holds the lock, and then unlocks, even if f panics. The context that f receives is the hold's:
// it ends if the lock is lost. ctx does not bound the unlock; Options.CallTimeout does.
//
// If Lock fails, Do returns its error and f does not run. Otherwise Do returns f's error, joined with ErrLost if the
// lock was lost meanwhile, or with [ErrUnlockFailed] and the error of Unlock. Both can match ErrUnavailable: after that
// of Unlock the work is done, and f is not to be run again.
func (m Mutex) Do(ctx context.Context, f func(context.Context) error, opts ...Option) error {
	hold, err := m.Lock(ctx, opts...)
	if err != nil {
		return err
	}
	return hold.do(ctx, f)
}

// ForceUnlock takes the lock away from its holder, in this process or elsewhere, and wakes all waiters. wasLocked
// reports whether the lock was held. A holder in this engine loses the lock immediately; one with a grant on its way
// loses it a round trip after the reply. The engines of other holders receive a message, and lose it a round trip
// later. Those that receive none, such as Redisson's and anonymous ones ([Options].Anonymous), notice at their next
// renewal, or when their lease expires if they set one.
//
// It blocks until the server replies, ctx ends or Options.CallTimeout elapses. The command is sent once. After
// ErrUnavailable it may still take effect later. After this and after a ServerError a holder in this engine has lost
// the lock regardless, and its key is deleted as soon as the server allows it. Nothing is done if ctx had ended before
// the call, for a lock of another kind (ErrKindMismatch), and during and after Shutdown and Close (ErrClosed). If Close
// comes while the command is under way, it may take effect, and the error is ErrClosed, too.
//
// A plain lock's key that is a hash is deleted, also if no lock library wrote it. A key of another type stays, and the
// error says so.
//
// If ctx is the context of the hold that is forced, ForceUnlock itself ends it. The call then waits until the deadline
// of ctx, or until the context with which the hold was locked ends.
func (m Mutex) ForceUnlock(ctx context.Context) (wasLocked bool, err error) {
	if tracer := m.tracer(ctx); tracer != nil {
		traced := TracedCall{Op: "force unlock", Name: m.name, Kind: kindNames[m.kind]}
		ctx = startTrace(ctx, tracer, traced)
		begun := time.Now()
		defer func() {
			traced.Took = time.Since(begun)
			tracer.CallEnd(ctx, traced, nil, err)
		}()
	}
	call, err := m.query(ctx, actor.Force)
	if err != nil {
		return false, err
	}
	return call.WasLocked, nil
}

// State is a snapshot of a lock in Redis, as its key shows it. An engine lets its owners enter a lock again without
// asking the server, and writes their number some time later. So Count can be behind; [Mutex.HoldCount] has this
// engine's own. A hash that no lock library wrote is shown as if it were a lock.
type State struct {
	Locked  bool          // the lock is held
	Foreign bool          // it is the lock of another library, see Options.Foreign; Owner is empty and Count 0 then
	Owner   string        // the holder's id on the wire; empty if free, if several readers hold it, or if the key is no lock of this kind
	Count   int           // how many times the holder has entered the lock, see State; with several readers, their number
	TTL     time.Duration // until the key expires without renewal; 0 if free, negative if it never expires
}

// State reads the lock from the server. It blocks until the reply, the end of ctx, or Options.CallTimeout. It returns
// ErrUnavailable without a reply, ErrClosed after Close, and otherwise the server's own error.
func (m Mutex) State(ctx context.Context) (State, error) {
	call, err := m.query(ctx, coordinator.AskState)
	if err != nil {
		return State{}, err
	}
	reply := call.State
	if reply.TTL == actor.NoKey {
		return State{}, nil
	}
	return State{Locked: true, Foreign: reply.Foreign, Owner: reply.Holder, Count: reply.Count, TTL: reply.TTL}, nil
}

// IsLocked reports whether the lock is held. It behaves like State.
func (m Mutex) IsLocked(ctx context.Context) (bool, error) {
	state, err := m.State(ctx)
	return state.Locked, err
}

// TTL returns how long the lock lives in Redis without renewal: 0 if it is free, negative if it has no expiry.
// Otherwise it behaves like State.
func (m Mutex) TTL(ctx context.Context) (time.Duration, error) {
	state, err := m.State(ctx)
	return state.TTL, err
}

// HoldCount returns the number of holds that the owner in ctx has on this lock, 0 if ctx carries no owner. It does
// not contact the server: it waits for one turn of the loop. If ctx has ended before, it returns ErrUnavailable.
// After Close it returns ErrClosed.
func (m Mutex) HoldCount(ctx context.Context) (int, error) {
	call, err := m.query(ctx, coordinator.AskCount)
	if err != nil {
		return 0, err
	}
	return call.State.Count, nil
}

// Locker returns the lock as a sync.Locker.
//
// Its Lock waits without a limit, also while the engine has too many waiters ([Options].MaxWaiting) or too few
// replicas confirm. It panics if:
//
//   - the engine is closed
//   - the server returns a permanent error
//   - the name is in use as another kind of lock ([ErrKindMismatch])
//   - the name is invalid, or the Mutex is the zero Mutex
//
// Its Unlock panics if the lock is not locked, like sync.Mutex. It logs a lock that was lost or a release that is not
// confirmed. A lost lock must be unlocked as well. Of the holds of one Locker, Unlock ends a lost one first, so a
// later holder keeps the lock.
func (m Mutex) Locker() sync.Locker { return &locker{mutex: m} }

// acquireMode contains the differences between the methods that acquire a lock. The zero value is that of Lock. It
// belongs to one call.
type acquireMode struct {
	once   bool
	async  bool
	within time.Duration // longest time of a call that tries once; 0: until its reply
	trace  *TracedCall   // receives HandedOff; nil: not traced
	note   *actor.Note   // what the hold is for, of one of several locks; nil: what the context says
}

// lock acquires the lock and waits for the result.
func (m Mutex) lock(ctx context.Context, opts []Option, mode acquireMode) (*Hold, error) {
	call, hold, err := m.request(ctx, opts, mode)
	if err != nil {
		return nil, err
	}
	done := ctx.Done()
	if !m.engine.loop.Post(call) {
		return nil, m.fail(ErrClosed, nil)
	}
	cause := m.engine.await(ctx, done, call)
	err, why := call.Err, call.Cause
	hold.setToken(call.Token)
	if mode.trace != nil {
		mode.trace.HandedOff = err == nil && cause == nil && call.WasLocked
	}
	if cause != nil {
		// Given up. The loop releases a grant that came first and still uses the call, so the call is not freed.
		if err == nil {
			err, why = ErrNotAcquired, cause
		}
		return nil, m.fail(err, why)
	}
	m.engine.loop.Free(call)
	if err != nil {
		return nil, m.fail(err, why)
	}
	return hold.orLost()
}

// request returns a call that acquires the lock.
func (m Mutex) request(ctx context.Context, opts []Option, mode acquireMode) (*engine.Call, *Hold, error) {
	if err := m.validate(ctx); err != nil {
		return nil, nil, err
	}
	if ctx.Err() != nil {
		return nil, nil, m.fail(ErrNotAcquired, context.Cause(ctx))
	}
	lease, wait, once, err := applyOptions(opts, mode.once)
	if err != nil {
		return nil, nil, m.fail(err, nil)
	}
	if once {
		wait = mode.within
	}
	hold := &Hold{engine: m.engine, name: m.name, parent: ctx}
	if mode.note == nil {
		mode.note = m.engine.noteOf(ctx)
	}
	hold.setNote(mode.note)
	c := m.newCall(mode)
	c.Op = actor.Acquire
	c.Name, c.Key, c.Kind = m.name, m.key(), m.kind
	c.Owner = ownerFromContext(ctx, m.engine, m.name)
	c.Lease, c.Wait, c.Once = lease, wait, once
	c.Hold = &hold.grant
	return c, hold, nil
}

func (m Mutex) newCall(mode acquireMode) *engine.Call {
	if mode.async {
		return engine.NewAsync()
	}
	return m.engine.loop.NewCall()
}

// applyOptions collects the options of a call. If an option is given twice, the last one counts.
func applyOptions(opts []Option, try bool) (lease, wait time.Duration, once bool, err error) {
	once = try
	for _, o := range opts {
		switch o.kind {
		case leaseOption:
			lease = o.d
			if err := checkRange("Lease", lease, minDuration, maxDuration); err != nil {
				return 0, 0, false, err
			}
		case waitOption:
			if once, wait = o.d <= 0, max(o.d, 0); once {
				continue
			}
			wait = max(wait, minDuration) // less can be what is left of a budget
			if err := checkRange("Wait", wait, minDuration, maxDuration); err != nil {
				return 0, 0, false, fmt.Errorf("%w, or 0 to try once", err)
			}
		}
	}
	return lease, wait, once, nil
}

// query sends a request other than an acquire. It returns the call if that succeeded.
func (m Mutex) query(ctx context.Context, what actor.Op) (*engine.Call, error) {
	if err := m.validate(ctx); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, m.fail(errNotSent, context.Cause(ctx))
	}
	call := m.engine.loop.NewCall()
	call.Op = what
	call.Name, call.Key, call.Kind = m.name, m.key(), m.kind
	call.Owner = ownerFromContext(ctx, m.engine, m.name)
	done := ctx.Done()
	if !m.engine.loop.Post(call) {
		return nil, m.fail(ErrClosed, nil)
	}
	m.engine.await(ctx, done, call)
	if call.Err != nil {
		return nil, m.fail(call.Err, call.Cause)
	}
	return call, nil
}

func (m Mutex) key() string { return m.engine.options.Prefix + m.name }

// errZeroEngine is the cause of ErrClosed for an engine that was never opened.
var errZeroEngine = errors.New("a zero Engine, make one with Open or Dial")

// validate rejects a call that can never succeed, before anything is sent.
func (m Mutex) validate(ctx context.Context) error {
	if err := m.validateOpenOrClosed(ctx); err != nil {
		return err
	}
	if m.engine.zero() {
		return m.fail(ErrClosed, errZeroEngine)
	}
	return nil
}

// validateOpenOrClosed is validate for a lock that may belong to a closed or zero engine.
func (m Mutex) validateOpenOrClosed(ctx context.Context) error {
	switch {
	case m.engine == nil:
		return errors.New("lockwheel: a zero Mutex or RWMutex: make one with a method of Engine")
	case m.name == "":
		return errors.New("lockwheel: lock \"\": a name must not be empty")
	case len(m.name)+len(m.engine.options.Prefix) > maxNameLen:
		return fmt.Errorf("lockwheel: lock %s: a name must not be longer than %d bytes with its prefix", quoted(m.name), maxNameLen)
	case m.engine.cluster.Load() && !slot.FitsCluster(m.key()):
		return fmt.Errorf("lockwheel: lock %s: in a cluster a name with a brace must have something between { and }: its channel would lie in another slot", quoted(m.name))
	case ctx == nil:
		return errNilContext(fmt.Sprintf("lock %s", quoted(m.name)))
	}
	return nil
}

func (m Mutex) fail(err, cause error) error { return &lockError{name: m.name, err: err, cause: cause} }

// do runs f while the lock is held, and then unlocks it, even if f panics or calls runtime.Goexit.
func (h *Hold) do(ctx context.Context, f func(context.Context) error) (err error) {
	defer func() {
		err = h.besides(err, h.Unlock(context.WithoutCancel(ctx)))
	}()
	return f(h.Context())
}

// besides joins the errors of f and of Unlock. It omits Unlock's error if f returned the same loss or end of the
// engine, which f has from its context.
func (h *Hold) besides(err, unlocked error) error {
	if unlocked == nil {
		return err
	}
	var returned *lockError
	if errors.As(err, &returned) && returned.name == h.name && (returned.err == ErrLost || returned.err == ErrClosed) && errors.Is(unlocked, returned.err) {
		return err
	}
	if !errors.Is(unlocked, ErrLost) || errors.Is(unlocked, ErrUnavailable) { // of a Quorum's servers some can differ
		unlocked = unlockFailure{cmp.Or(h.found(), h), unlocked} // a handle has no label
	}
	return errors.Join(err, unlocked)
}

// locker is a Mutex with the holds of callers that have not unlocked yet: one hold or any number of readers, and lost
// holds. Without holds it is not locked. It is safe for concurrent use; mutex is immutable. Mutex.Locker makes one; the
// Lock of the zero value panics.
type locker struct {
	mutex Mutex
	holds atomic.Pointer[lockerHold]
}

// lockerHold is an element of the list of a locker's holds, newest first. Each Lock creates one; it is immutable and
// never reused.
type lockerHold struct {
	hold *Hold
	next *lockerHold
}

// maxRetryPause is the maximum pause before a Locker retries after a temporary rejection: it cannot return an error.
const maxRetryPause = 100 * time.Millisecond

func (l *locker) Lock() {
	hold, err := l.mutex.Lock(context.Background())
	for pause := time.Millisecond; isTransient(err); pause = min(2*pause, maxRetryPause) {
		time.Sleep(pause/2 + rand.N(pause))
		hold, err = l.mutex.Lock(context.Background())
	}
	if err != nil {
		panic(err.Error())
	}
	l.keep(hold)
}

// isTransient reports whether a failed Lock may soon succeed and left nothing behind. That is so if too many callers
// wait, replicas were briefly away, or the process was paused for longer than the lease just granted.
func isTransient(err error) bool {
	return errors.Is(err, ErrTooManyWaiters) || errors.Is(err, ErrNotReplicated) || errors.Is(err, ErrLost)
}

func (l *locker) keep(hold *Hold) {
	for top := (&lockerHold{hold: hold}); ; {
		top.next = l.holds.Load()
		if l.holds.CompareAndSwap(top.next, top) {
			return
		}
	}
}

func (l *locker) Unlock() {
	hold := l.take()
	if hold == nil {
		panic("lockwheel: lock " + quoted(l.mutex.name) + ": unlock of an unlocked lock")
	}
	if err := hold.Unlock(context.Background()); err != nil {
		if log := l.mutex.engine.listeners.log; log != nil {
			log.Error("lockwheel: a Locker's lock was not unlocked as it should", "error", err)
		}
	}
}

// take removes and returns a hold that has ended, or the newest hold if none has ended; it returns nil if there is no
// hold. It examines all current holds.
//
// A sync.Locker does not identify the caller that unlocks, so take assumes that a lost hold is the caller's.
// Otherwise it could release the lock for a caller that lost it before another caller acquired it.
func (l *locker) take() *Hold {
	for {
		newest := l.holds.Load()
		if newest == nil {
			return nil
		}
		taken := newest
		for h := newest; h != nil; h = h.next {
			if h.hold.hasEnded() {
				taken = h
				break
			}
		}
		if l.holds.CompareAndSwap(newest, newest.remove(taken)) {
			return taken.hold
		}
	}
}

// remove returns the list without one of its holds. It shares the rest of the list behind that hold.
func (h *lockerHold) remove(taken *lockerHold) *lockerHold {
	if h == taken {
		return h.next
	}
	rest := &lockerHold{hold: h.hold}
	for last := rest; ; last = last.next {
		if h = h.next; h == taken {
			last.next = h.next
			return rest
		}
		last.next = &lockerHold{hold: h.hold}
	}
}
