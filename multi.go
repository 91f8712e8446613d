package lockwheel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/wire"
)

// maxMultiLocks is the maximum number of locks of a Multi. A caller that needs more should use one lock for all of
// them.
const maxMultiLocks = 100_000

// Multi is several locks that are acquired and released as one: all of them ([Engine.Multi]), or a majority
// ([Quorum]). It is immutable, free to copy, and safe for concurrent use. The methods of the zero Multi return an
// error. There is no LockAsync: the caller's goroutine waits.
type Multi struct {
	locks  []Mutex // in the order in which they are acquired sequentially; immutable
	name   string
	quorum bool
	err    error // why it can never succeed; nil if it can
}

// Multi returns several locks of this engine as one, all or none: Redisson's getMultiLock. On the wire they are the
// individual locks, so other clients see plain locks.
//
// Plain locks are acquired atomically, by one script in one round trip. In a cluster this requires names in one slot,
// such as names with the same text in braces. A waiting Multi holds none of its locks. It waits in the queue of one
// lock that is held. When its turn comes there, it requests all of them, and moves on to the next lock that is held.
// So overlapping Multis never deadlock, whatever their order, and one of them always succeeds.
//
// While another of its locks is held, callers that want only one lock can acquire that lock first. If that goes on
// for more than 25 ms, and a round trip for each of its locks, the Multi acquires them sequentially.
//
// More than 1000 locks are acquired in atomic groups of up to 500, one group after the other. More than 100 000 are
// rejected.
//
// The locks are acquired sequentially from the beginning if one of these applies:
//
//   - not all of them are plain locks
//   - in a cluster, they are in different slots
//   - the engine has [Options.Replicas]
//   - ctx carries a hold of one of them
//   - they are more than 1000: then group after group
//
// So are those of a call that waits while the owner in ctx is granted one of them.
//
// Sequential acquisition goes in the order of the names, so that Multis do not block one another. The locks acquired so
// far are held meanwhile, for 250 ms or half of the time waited before, whichever is longer. For a Multi that is not
// sequential from the beginning this is at most 10 s. If a lock cannot be acquired by then, the Multi releases all
// locks and waits for that one alone. Once it has that lock, it has 50 ms, or a quarter of the holding time if that is
// longer, for the others. Then it starts again.
//
// So the owner of one of these locks that waits for another is not blocked for ever. A lock that is lost before all
// are acquired is no loss for the caller: the Multi requests all of them again.
//
// The hold is lost as soon as one of its locks is lost; the others are released then. With [Lease] that lease begins
// when all locks are held: locks acquired sequentially are renewed until then, and one more round trip sets it.
//
// [Hold.Token] of the hold is 0, also with fenced locks, because each has its own token. To get it, lock the fenced
// lock again with the hold's context: it re-enters, and Token of that hold returns the token.
//
// The locks must be of this engine and have different names. Fair locks among them must not share a queue
// ([Engine.FairMutex]: "a" and "{a}" do). Otherwise, and without any lock or with too many, the methods of the Multi
// return an error that says so, and nothing is sent.
func (e *Engine) Multi(locks ...Mutex) Multi {
	if len(locks) > maxMultiLocks {
		return Multi{err: fmt.Errorf("lockwheel: a Multi of %d locks: at most %d can be taken as one", len(locks), maxMultiLocks)}
	}
	m := Multi{locks: slices.Clone(locks), name: joinNames(locks)}
	for _, l := range locks {
		if l.engine != e && l.engine != nil {
			m.err = fmt.Errorf("lockwheel: lock %s: it belongs to another engine than the Multi", quoted(l.name))
		}
	}
	slices.SortStableFunc(m.locks, func(a, b Mutex) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(m.locks); i++ {
		if m.locks[i].name == m.locks[i-1].name {
			m.err = fmt.Errorf("lockwheel: lock %s: it is twice in one Multi", quoted(m.locks[i].name))
		}
	}
	if m.err == nil {
		m.err = checkFairQueues(m.locks)
	}
	return m
}

// checkFairQueues returns an error for two fair locks that share a queue. Each caller that waits for one of them would
// be queued before those that want the other, so two of them would deadlock.
func checkFairQueues(locks []Mutex) error {
	var names map[string]string
	for _, l := range locks {
		if l.kind != actor.Fair || l.engine == nil {
			continue
		}
		if names == nil {
			names = make(map[string]string)
		}
		queue := wire.FairQueue(l.key())
		if other, shared := names[queue]; shared {
			return fmt.Errorf("lockwheel: locks %s and %s: fair locks of these names share one queue in the server, so a Multi cannot have both", quoted(other), quoted(l.name))
		}
		names[queue] = l.name
	}
	return nil
}

// joinNames returns the names of several locks, joined with commas and without adjacent repetitions.
func joinNames(locks []Mutex) string {
	names := make([]string, len(locks))
	for i, l := range locks {
		names[i] = l.name
	}
	return strings.Join(slices.Compact(names), ",")
}

// Name returns the names of the locks in the order given, joined with commas, or one name if all are the same.
func (m Multi) Name() string { return m.name }

// Lock waits until it holds the locks, or until ctx or a [Wait] ends. It blocks.
//
// On success the caller has one hold for all of them, to be unlocked once. It behaves like a hold of [Mutex.Lock],
// with [Lease] and without. [Engine.Multi] and [Quorum] describe when it is lost. Its context carries the owner of
// each of the locks: a call that locks one of them with it re-enters.
//
// On failure nothing is held. The locks acquired meanwhile are being released when Lock returns. They can appear held
// for another round trip; on servers that do not reply, until these reply or the lease expires. Locks that are
// acquired sequentially are also acquired and released if a later one is then rejected with [ErrKindMismatch] or
// [ErrUpgrade]. The errors are those of Mutex.Lock, and name the lock if they concern only one.
func (m Multi) Lock(ctx context.Context, opts ...Option) (*Hold, error) {
	return m.lockTraced(ctx, "lock", opts, false)
}

// TryLock acquires the locks if they are free, and waits for other holders only if it is given a [Wait]. It blocks
// for one round trip, or for one per lock if they are acquired sequentially. Otherwise it behaves like Lock.
func (m Multi) TryLock(ctx context.Context, opts ...Option) (*Hold, error) {
	return m.lockTraced(ctx, "try lock", opts, true)
}

// opened returns the first lock with an engine that was opened, or the first lock if there is none. That engine decides
// how calls are traced and if call sites are recorded. A zero Engine in a quorum has no options.
func (m Multi) opened() Mutex {
	for _, l := range m.locks {
		if l.engine != nil && !l.engine.zero() {
			return l
		}
	}
	return m.locks[0]
}

// lockTraced is lock, with the tracer of the first engine that was opened.
func (m Multi) lockTraced(ctx context.Context, op string, opts []Option, try bool) (*Hold, error) {
	if len(m.locks) == 0 {
		return m.lock(ctx, opts, try)
	}
	tracer := m.opened().tracer(ctx)
	if tracer == nil {
		return m.forCaller(m.lock(ctx, opts, try))
	}
	call := TracedCall{Op: op, Name: m.name, Kind: "multi"}
	if m.quorum {
		call.Kind = "quorum"
	}
	return traceLock(ctx, tracer, &call, func(ctx context.Context) (*Hold, error) { return m.forCaller(m.lock(ctx, opts, try)) })
}

// forCaller returns what the caller of a Lock has of its hold.
func (m Multi) forCaller(hold *Hold, err error) (*Hold, error) {
	if err != nil {
		return nil, err
	}
	for _, l := range m.locks {
		if l.engine.options.FindLeaks { // a quorum can have engines with and without
			return l.engine.handleOf(hold), nil
		}
	}
	return hold, nil
}

// Do runs f while it holds the locks; see [Mutex.Do].
func (m Multi) Do(ctx context.Context, f func(context.Context) error, opts ...Option) error {
	hold, err := m.Lock(ctx, opts...)
	if err != nil {
		return err
	}
	return hold.do(ctx, f)
}

// multiRequest is one call for several locks. It belongs to the goroutine of the caller. The zero value tries nothing:
// it has no ctx.
type multiRequest struct {
	ctx      context.Context
	done     <-chan struct{} // of ctx, obtained before anything is posted: see Engine.await
	lease    time.Duration   // 0: watched
	deadline time.Time       // end of the wait; zero: the end of ctx
	once     bool
	backoff  time.Duration // the last pause after a lock was lost before all were acquired

	// note says what the hold is for; nil: not told. It is taken once, near the caller: where the single locks are
	// requested, the stack may have more functions of the library than a call site has entries.
	note *actor.Note
}

// lock acquires the locks in the way that suits them.
func (m Multi) lock(ctx context.Context, opts []Option, try bool) (*Hold, error) {
	if err := m.check(ctx); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, m.fail(ErrNotAcquired, context.Cause(ctx))
	}
	lease, wait, once, err := applyOptions(opts, try)
	if err != nil {
		return nil, m.fail(err, nil)
	}
	call := multiRequest{ctx: ctx, done: ctx.Done(), lease: lease, once: once, note: m.opened().engine.noteOf(ctx)}
	if wait > 0 {
		call.deadline = time.Now().Add(wait)
	}
	defer m.begin()()
	switch {
	case m.quorum:
		return m.lockQuorum(call)
	case m.canLockAtomic() && !m.needsSlices():
		return m.lockAtomic(call)
	}
	return m.lockSequential(call)
}

// begin counts the call for Close of the engines, and returns a function that ends that.
func (m Multi) begin() (end func()) {
	if !m.quorum {
		e := m.locks[0].engine
		if e.closing.Load() {
			return func() {}
		}
		e.multis.Add()
		return e.multis.Done
	}
	var counted []*Engine
	for _, l := range m.locks {
		if !l.engine.closing.Load() {
			l.engine.quorums.Add()
			counted = append(counted, l.engine)
		}
	}
	return func() {
		for _, e := range counted {
			e.quorums.Done()
		}
	}
}

// check rejects a call that can never succeed, before anything is sent.
func (m Multi) check(ctx context.Context) error {
	if m.err != nil {
		return m.err
	}
	if len(m.locks) == 0 {
		return errors.New("lockwheel: a Multi of no locks: make one with Engine.Multi or Quorum")
	}
	check := Mutex.validate
	if m.quorum {
		check = Mutex.validateOpenOrClosed // a minority of the engines may be closed
	}
	for _, l := range m.locks {
		if err := check(l, ctx); err != nil {
			return err
		}
	}
	return nil
}

func (m Multi) fail(err, cause error) error { return &lockError{name: m.name, err: err, cause: cause} }

const (
	// maxAtomic is the maximum number of locks of a Multi that one command acquires, all or none.
	maxAtomic = 1000
	// sliceSize is the maximum number that one command acquires if there are more, and that is released or extended
	// at a time. A script blocks the server while it runs, so other clients wait for at most this many locks.
	sliceSize = 500
)

// needsSlices reports whether there are too many locks for one command.
func (m Multi) needsSlices() bool { return len(m.locks) > maxAtomic }

// sliceEnd returns the end of the locks that one command acquires together with the first. That is the first alone,
// unless inSlices: one script can acquire all, and they are too many for one command. A lock that is held already is
// its own slice.
func (m Multi) sliceEnd(first, has int, inSlices bool) (last int) {
	if first == has || !inSlices {
		return first + 1
	}
	last = min(first+sliceSize, len(m.locks))
	if first < has && has < last {
		last = has
	}
	return last
}

// acquireSlice acquires the locks from first to last that are not held yet. at is the index of the lock that an error
// concerns.
func (m Multi) acquireSlice(e multiRequest, first, last int, until time.Time, holds []*Hold) (at int, err error) {
	if last-first > 1 {
		if first > 0 && e.waitEnded() {
			return first, m.fail(ErrUnavailable, errNotAllRequested)
		}
		at, err = m.acquireSliceAtomic(e, first, last, until, holds)
		if err != actor.ErrReentry && err != actor.ErrOvertaken {
			return at, err
		}
	}
	for i := first; i < last; i++ {
		if holds[i] != nil {
			continue
		}
		if i > 0 && e.waitEnded() {
			return i, m.fail(ErrUnavailable, errNotAllRequested)
		}
		if holds[i], err = m.acquireSingle(e, m.locks[i], until); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// acquireSingle acquires one of the locks within the time for all. That time bounds the wait for other holders. If it
// ends while a command is in flight, the reply is still waited for: a server far away would otherwise never give all.
// A lock that the caller has held for MaxHold is re-entered with the caller's own lease.
func (m Multi) acquireSingle(e multiRequest, l Mutex, until time.Time) (*Hold, error) {
	wait := e.waitOption(until)
	hold, err := l.lock(e.ctx, []Option{wait}, acquireMode{within: e.timeLeft(), note: e.note})
	if isMaxHold(err) && e.lease != 0 {
		return l.lock(e.ctx, []Option{wait, Lease(e.lease)}, acquireMode{within: e.timeLeft(), note: e.note})
	}
	if errors.Is(err, ErrUnavailable) && wait != Wait(0) && !e.expired() && time.Until(until) <= 0 {
		return l.lock(e.ctx, []Option{Wait(0)}, acquireMode{within: e.timeLeft(), note: e.note})
	}
	return hold, err
}

// acquireSliceAtomic acquires some of the locks with one command, and holds none of these while it waits.
func (m Multi) acquireSliceAtomic(e multiRequest, first, last int, until time.Time, holds []*Hold) (at int, err error) {
	var keeping actor.PartKeeper
	some, within := Multi{locks: m.locks[first:last], name: m.name}, e.within(until)
	taken, at, err := some.acquireAtomic(within, keeping.WaitTime())
	if errors.Is(err, ErrUnavailable) && !within.once && !e.expired() {
		// The limit ended while the command was in flight. It bounds the wait for other holders, not that for a reply.
		taken, at, err = some.acquireAtomic(e.within(time.Now()), keeping.WaitTime())
	}
	copy(holds[first:last], taken)
	return first + at, err
}

// within returns the request for some of the locks, if all must be acquired by the given time. The caller's own lease
// begins when all are held.
func (e multiRequest) within(until time.Time) multiRequest {
	limit := e.deadline
	e.lease = 0
	if e.deadline.IsZero() || until.Before(e.deadline) {
		e.deadline = until
	}
	if e.once = e.once || time.Until(e.deadline) < minDuration; e.once {
		e.deadline = limit // a single try is bounded by its reply, and by the end of the caller's wait
	}
	return e
}
