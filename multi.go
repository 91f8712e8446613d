package lockwheel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

// mostLocks is how many locks a Multi has at most: who wants to be alone with more wants one lock for all of them.
const mostLocks = 100_000

// Multi is several locks that are taken and released as one: all of them ([Engine.Multi]), or a majority
// ([Quorum]). It is immutable, free to copy, and safe for concurrent use. The zero Multi gives an error. There is no
// LockAsync: the caller's goroutine waits.
type Multi struct {
	locks  []Mutex // in the order in which they are taken in turn; not to be changed
	name   string
	quorum bool
	wrong  error // why it can never work
}

// Multi returns several locks of this engine as one, all or none: Redisson's getMultiLock. On the wire they
// are the locks themselves, so everybody else sees plain locks.
//
// Plain locks are taken together, in one script and one round trip; in a cluster if their names lie in one
// slot, as those do that have the same text in braces. Who waits for them holds none meanwhile:
// it stands in the queue of one of them that is taken, and when its turn comes there it asks for all, and
// goes on to the next that is taken. So overlapping Multis never wait for each other in a circle, whatever
// their order, and one of them always comes through. If callers who want only one of the locks come first while
// another one is taken, for longer than 25 ms, it takes the locks one after the other.
//
// Of more than 1000 locks each 500 are taken so, one after the other. More than 100 000 are refused.
//
// Locks of other kinds or slots, locks of an engine with [Options.Replicas], and locks of which ctx carries a
// hold, are taken one after the other from the beginning.
//
// One after the other they are taken in the order of their names, which keeps Multis out of each other's way; meanwhile
// those that were taken are held: for 250 ms, or half as long as was waited before, but plain ones of one slot for 10 s at
// most. If one cannot be had by then, all are given back, that one is waited for alone, and when it comes the others
// have 50 ms, or a quarter of that time. Then it begins again. So an owner of one of them who waits for another is not
// kept from it for ever, and a part that is lost before all are had is no loss: they are asked for again.
//
// [Hold.Token] of the hold is 0, also with fenced locks among them, as each has a token of its own: lock that one again
// with the hold's context. It re-enters, and that hold's Token is the token.
//
// The locks must be of this engine and have different names, and the queues of fair locks among them too
// ([Engine.FairMutex]: "a" and "{a}" share one); otherwise, and without any lock or with too many, the methods of
// the Multi return an error that says so, and nothing is sent.
func (e *Engine) Multi(locks ...Mutex) Multi {
	if len(locks) > mostLocks {
		return Multi{wrong: fmt.Errorf("lockwheel: a Multi of %d locks: at most %d can be taken as one", len(locks), mostLocks)}
	}
	m := Multi{locks: slices.Clone(locks), name: nameOf(locks)}
	for _, l := range locks {
		if l.engine != e && l.engine != nil {
			m.wrong = fmt.Errorf("lockwheel: lock %s: it belongs to another engine than the Multi", quoted(l.name))
		}
	}
	slices.SortStableFunc(m.locks, func(a, b Mutex) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(m.locks); i++ {
		if m.locks[i].name == m.locks[i-1].name {
			m.wrong = fmt.Errorf("lockwheel: lock %s: it is twice in one Multi", quoted(m.locks[i].name))
		}
	}
	if m.wrong == nil {
		m.wrong = oneQueue(m.locks)
	}
	return m
}

// oneQueue is why two fair locks that share a queue cannot be had together: each caller who waits for one of them stands
// before those who want the other one, so that two of them wait for each other for ever.
func oneQueue(locks []Mutex) error {
	var names map[string]string
	for _, l := range locks {
		if l.kind != actor.Fair || l.engine == nil {
			continue
		}
		if names == nil {
			names = make(map[string]string)
		}
		queue := engine.FairQueue(l.key())
		if other, shared := names[queue]; shared {
			return fmt.Errorf("lockwheel: locks %s and %s: fair locks of these names share one queue in the server, so a Multi cannot have both", quoted(other), quoted(l.name))
		}
		names[queue] = l.name
	}
	return nil
}

// nameOf is the name of several locks: theirs, or that of all of them.
func nameOf(locks []Mutex) string {
	names := make([]string, len(locks))
	for i, l := range locks {
		names[i] = l.name
	}
	return strings.Join(slices.Compact(names), ",")
}

// Name is the names of the locks, as they were given, with commas; one name if all have the same.
func (m Multi) Name() string { return m.name }

// Lock waits until it has the locks, or until ctx or a [Wait] ends. It blocks.
//
// On success the hold is for all of them, to be unlocked once. It is as one of [Mutex.Lock], with [Lease] and
// without; see [Engine.Multi] and [Quorum] for what it means that it is lost. Its context carries the owner of
// each of the locks: whoever locks one of them with it re-enters.
//
// On failure nothing is held: what was taken already is being released when Lock returns, so that for a round trip it may
// still seem taken; on servers that do not answer that goes on until they do, or until the lease ends. Locks that are taken
// in turn are taken and given back one after the other also where a later one is then refused with [ErrKind] or
// [ErrUpgrade]. The error is as of Mutex.Lock and names one of the locks where it is about one.
func (m Multi) Lock(ctx context.Context, opts ...Option) (*Hold, error) {
	return m.lock(ctx, opts, false)
}

// TryLock takes the locks if they are to be had, and does not wait for others unless it is given a [Wait]. It
// blocks for the round trip, or for one a lock when they are taken in turn; otherwise it is as Lock.
func (m Multi) TryLock(ctx context.Context, opts ...Option) (*Hold, error) {
	return m.lock(ctx, opts, true)
}

// Do runs f while it holds the locks, as [Mutex.Do] does.
func (m Multi) Do(ctx context.Context, f func(context.Context) error, opts ...Option) error {
	hold, err := m.Lock(ctx, opts...)
	if err != nil {
		return err
	}
	return hold.do(ctx, f)
}

// errand is one call for several locks.
type errand struct {
	ctx   context.Context
	done  <-chan struct{} // ctx's, asked for before anything is posted: see Engine.await
	lease time.Duration   // 0: watched
	until time.Time       // when the wait ends; zero: as long as ctx lasts
	once  bool
	pause time.Duration // the last, after a part was lost
}

// lock takes the locks in the way that fits them.
func (m Multi) lock(ctx context.Context, opts []Option, try bool) (*Hold, error) {
	if err := m.check(ctx); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, m.fail(ErrNotAcquired, context.Cause(ctx))
	}
	lease, wait, once, err := read(opts, try)
	if err != nil {
		return nil, m.fail(err, nil)
	}
	call := errand{ctx: ctx, done: ctx.Done(), lease: lease, once: once}
	if wait > 0 {
		call.until = time.Now().Add(wait)
	}
	switch {
	case m.quorum:
		return m.majority(call)
	case m.together() && !m.long():
		return m.jointly(call)
	}
	return m.inTurn(call)
}

// check refuses what can never work: nothing is sent for it.
func (m Multi) check(ctx context.Context) error {
	if m.wrong != nil {
		return m.wrong
	}
	if len(m.locks) == 0 {
		return errors.New("lockwheel: a Multi of no locks: make one with Engine.Multi or Quorum")
	}
	check := Mutex.check
	if m.quorum {
		check = Mutex.checkAnyhow // it may do without a lock whose engine is closed
	}
	for _, l := range m.locks {
		if err := check(l, ctx); err != nil {
			return err
		}
	}
	return nil
}

func (m Multi) fail(err, cause error) error { return &lockError{name: m.name, err: err, cause: cause} }
