package lockwheel

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

// longestName is what a name may have in bytes, with the engine's prefix.
const longestName = 64 << 10

// Mutex is a lock by its name: exclusive (but [RWMutex.RLocker]), re-entrant for whoever carries the holder's context, leased.
// It is a small immutable value, free to make and to copy, and safe for concurrent use. The zero Mutex
// gives an error. Names are any bytes, as Redis keys are; see [Engine.Mutex] for those that a cluster
// cannot have.
type Mutex struct {
	engine *Engine
	name   string
	kind   actor.LockKind
}

// Name is the lock's name, without the engine's prefix.
func (m Mutex) Name() string { return m.name }

// Lock waits until it has the lock, or until ctx or a [Wait] ends. It blocks.
//
// On success the hold is the caller's, to be unlocked once. Without [Lease] it is watched: renewed until
// then. ctx bounds the wait and the hold's context, not the hold itself; to bound only the wait use Wait.
// If ctx carries a hold of the same engine and name ([Hold.Context]), the lock is re-entered at once.
//
// On failure nothing is held. The error matches ErrNotAcquired, ErrUnavailable, ErrNotReplicated, ErrTooManyWaiters, ErrKind,
// ErrUpgrade ([RWMutex.Writer] only), ErrClosed, or ErrLost if the process stood still for longer than the
// lease of the grant; and the context's cause if that ended the wait. Or it is the server's own, if that
// refuses for good.
func (m Mutex) Lock(ctx context.Context, opts ...Option) (*Hold, error) {
	return m.lock(ctx, opts, wish{})
}

// TryLock takes the lock if it is free, and does not wait for others unless it is given a [Wait]. It
// neither queues nor overtakes those who do, but for calls of LockAsync that the engine has not come to yet. It blocks for the round trip; a silent server ends it
// after Options.Timeout with ErrUnavailable, and one to which no connection can be made at once. Otherwise it is as Lock.
func (m Mutex) TryLock(ctx context.Context, opts ...Option) (*Hold, error) {
	return m.lock(ctx, opts, wish{once: true})
}

// Do runs f while it holds the lock, and unlocks, also when f panics. f's context is the hold's: it ends
// when the lock is lost. ctx does not bound the unlock, Options.Timeout does. The error is Lock's, without f
// having run; or f's, joined with ErrLost if the lock was lost meanwhile, or with Unlock's error.
func (m Mutex) Do(ctx context.Context, f func(context.Context) error, opts ...Option) error {
	hold, err := m.Lock(ctx, opts...)
	if err != nil {
		return err
	}
	return hold.do(ctx, f)
}

// ForceUnlock takes the lock away from whoever holds it, in this process or elsewhere, and wakes all who
// wait for it. wasLocked says whether anybody held it. A holder in this engine has lost it at once;
// others learn of it at their next renewal, or when their lease ends if it is one of their own.
//
// It blocks until the server answers, ctx ends or Options.Timeout is over. After ErrUnavailable it may
// still happen later: it is sent once; a holder in this engine has lost it all the same. With the context of that
// hold, which ends by this, it waits until its deadline or as long as the context goes on that the hold was locked with.
func (m Mutex) ForceUnlock(ctx context.Context) (wasLocked bool, err error) {
	call, err := m.ask(ctx, actor.Force)
	if err != nil {
		return false, err
	}
	return call.Was, nil
}

// State is a lock as it is in Redis at one instant.
type State struct {
	Locked bool          // somebody has it
	Owner  string        // the holder's id on the wire; empty if free, if several read, or if the key is no lock of this kind
	Count  int           // how many times its holder has entered it; if several read, how many
	TTL    time.Duration // until it ends without renewal; 0 if free, negative if it never does
}

// State asks the server how the lock is. It blocks until the answer, ctx's end or Options.Timeout. Without an
// answer it is ErrUnavailable, after Close ErrClosed, and otherwise the server's own error.
func (m Mutex) State(ctx context.Context) (State, error) {
	call, err := m.ask(ctx, engine.AskState)
	if err != nil {
		return State{}, err
	}
	const free = -2
	reply := call.State
	if reply.TTL == free {
		return State{}, nil
	}
	return State{Locked: true, Owner: reply.Holder, Count: reply.Count, TTL: reply.TTL}, nil
}

// IsLocked reports whether anybody holds the lock, as State does.
func (m Mutex) IsLocked(ctx context.Context) (bool, error) {
	state, err := m.State(ctx)
	return state.Locked, err
}

// TTL is how long the lock lives in Redis without renewal: 0 if it is free, negative if it is held
// without expiry. Otherwise it is as State.
func (m Mutex) TTL(ctx context.Context) (time.Duration, error) {
	state, err := m.State(ctx)
	return state.TTL, err
}

// HoldCount is how many holds the owner that ctx carries has on this lock, 0 if it carries none. The
// engine knows it: the server is not asked. It waits for a turn of the loop; after Close it is ErrClosed.
func (m Mutex) HoldCount(ctx context.Context) (int, error) {
	call, err := m.ask(ctx, engine.AskCount)
	if err != nil {
		return 0, err
	}
	return call.State.Count, nil
}

// Locker is the lock for code that needs a sync.Locker. Lock waits for as long as it takes, also while it is one too many
// ([Options].MaxWaiting) or too few replicas answer, and panics once the engine is closed, if the server refuses for good, or if the
// name is in use as another kind of lock ([ErrKind]). Unlock panics if it is not locked, like
// sync.Mutex; a lock that was lost, or whose release is not confirmed, is logged. A lock that was lost has to be
// unlocked as well, and of those that one Locker has it is the first to be: whoever has the lock since keeps it.
func (m Mutex) Locker() sync.Locker { return &locker{mutex: m} }

// wish is what the methods that take a lock differ in.
type wish struct {
	once  bool
	async bool
}

// lock takes the lock and waits for it.
func (m Mutex) lock(ctx context.Context, opts []Option, w wish) (*Hold, error) {
	call, hold, err := m.request(ctx, opts, w)
	if err != nil {
		return nil, err
	}
	done := ctx.Done()
	if !m.engine.loop.Post(call) {
		return nil, m.fail(ErrClosed, nil)
	}
	cause := m.engine.await(ctx, done, call)
	err, why := call.Err, call.Cause
	hold.fence(call.Token)
	if cause != nil {
		// Given up. A grant that came first is given back by the loop, so the call is not freed.
		if err == nil {
			err, why = ErrNotAcquired, cause
		}
		return nil, m.fail(err, why)
	}
	call.Free()
	if err != nil {
		return nil, m.fail(err, why)
	}
	return hold.checked()
}

// request fills in a call that asks for the lock.
func (m Mutex) request(ctx context.Context, opts []Option, w wish) (*engine.Call, *Hold, error) {
	if err := m.check(ctx); err != nil {
		return nil, nil, err
	}
	if ctx.Err() != nil {
		return nil, nil, m.fail(ErrNotAcquired, context.Cause(ctx))
	}
	lease, wait, once, err := read(opts, w.once)
	if err != nil {
		return nil, nil, m.fail(err, nil)
	}
	hold := &Hold{engine: m.engine, name: m.name, parent: ctx}
	call := engine.NewCall
	if w.async {
		call = engine.NewAsync
	}
	c := call()
	c.Tag = actor.Acquire
	c.Name, c.Key, c.Kind = m.name, m.key(), m.kind
	c.Owner = ownerOf(ctx, m.engine, m.name)
	c.Lease, c.Wait, c.Once = lease, wait, once
	c.Hold = &hold.grant
	return c, hold, nil
}

// read takes the options of a call together; the last of a kind counts.
func read(opts []Option, try bool) (lease, wait time.Duration, once bool, err error) {
	once = try
	for _, o := range opts {
		switch o.kind {
		case leaseOption:
			lease = o.d
			if err := within("Lease", lease, shortest, longest); err != nil {
				return 0, 0, false, err
			}
		case waitOption:
			if once, wait = o.d <= 0, max(o.d, 0); once {
				continue
			}
			if err := within("Wait", wait, shortest, longest); err != nil {
				return 0, 0, false, fmt.Errorf("%w, or 0 to try once", err)
			}
		}
	}
	return lease, wait, once, nil
}

// ask sends a request other than for the lock and returns its call when it succeeded.
func (m Mutex) ask(ctx context.Context, what actor.Kind) (*engine.Call, error) {
	if err := m.check(ctx); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, m.fail(errNotSent, context.Cause(ctx))
	}
	call := engine.NewCall()
	call.Tag = what
	call.Name, call.Key, call.Kind = m.name, m.key(), m.kind
	call.Owner = ownerOf(ctx, m.engine, m.name)
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

// errZeroEngine is why an engine is closed that was never open.
var errZeroEngine = errors.New("a zero Engine, make one with Open or Dial")

// check refuses what can never work: nothing is sent for it.
func (m Mutex) check(ctx context.Context) error {
	if err := m.checkAnyhow(ctx); err != nil {
		return err
	}
	if m.engine.zero() {
		return m.fail(ErrClosed, errZeroEngine)
	}
	return nil
}

// checkAnyhow is check without a look at whether there is an engine any more.
func (m Mutex) checkAnyhow(ctx context.Context) error {
	switch {
	case m.engine == nil:
		return errors.New("lockwheel: a zero Mutex or RWMutex: make one with a method of Engine")
	case m.name == "":
		return errors.New("lockwheel: lock \"\": a name must not be empty")
	case len(m.name)+len(m.engine.options.Prefix) > longestName:
		return fmt.Errorf("lockwheel: lock %s: a name must not be longer than %d bytes with its prefix", quoted(m.name), longestName)
	case m.engine.cluster && !engine.FitsCluster(m.key()):
		return fmt.Errorf("lockwheel: lock %s: in a cluster a name with a brace must have something between { and }: its channel would lie in another slot", quoted(m.name))
	case ctx == nil:
		return errNilContext(fmt.Sprintf("lock %s", quoted(m.name)))
	}
	return nil
}

func (m Mutex) fail(err, cause error) error { return &lockError{name: m.name, err: err, cause: cause} }
