package lockwheel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/internal/async"
	"github.com/lockwheel/lockwheel/internal/dial"
	"github.com/lockwheel/lockwheel/internal/redisurl"
)

// Engine acquires, renews and releases locks on one Redis or Valkey server or cluster. Open one per process and
// server. All methods are safe for concurrent use. The zero Engine is closed: the errors of its locks match
// ErrClosed.
type Engine struct {
	loop       *engine.Engine
	config     actor.Config
	options    Options
	servers    serverNames
	link       atomic.Pointer[link] // nil until there was a connection, with Options.Lazy
	connecting connecting
	cluster    atomic.Bool // the server is a cluster, or may be one as long as there is no link
	listeners  *listeners
	contexts   callerContexts
	closing    atomic.Bool
	multis     async.Count               // calls of Multi.Lock and the like that have not returned, and began before Close
	quorums    async.Count               // the same of a Quorum
	waits      context.Context           // ends when Close or Shutdown begins, and with it what a Quorum waits for
	endWaits   context.CancelFunc        // safe for concurrent use
	notices    async.Count               // what calls of a Quorum have registered at waits
	ping       atomic.Pointer[pingRound] // the last one
	lookups    lookups
	closed     chan struct{} // closed when Close has done its work
}

// Open connects to a server and starts the engine. On failure it leaves no connection; goroutines of the Redis client
// can take some seconds more.
//
// ctx bounds Open only. In a cluster, at least one node must reply and know the slots. Open fails:
//
//   - if an option is invalid
//   - if the server cannot be reached, does not reply, or is not ready (LOADING). The error matches ErrUnavailable, and
//     the context's cause if that ended the attempt
//   - if the server rejects the engine for good, for example its password: the error is a [ServerError], for errors.As
//   - if the server does not speak RESP3. The error then wraps its reply, if that is an error
//   - if Options.Client speaks RESP2
//
// With [Options].Lazy only the first and the last of these are errors, and the end of ctx. In the other cases
// Open returns an engine that keeps connecting.
//
// A function of Options.Redis that dials, returns credentials or checks certificates may hang. Open stops waiting for
// it when ctx ends, and after Options.CallTimeout. The function keeps its goroutine, and a connection that it makes
// later is closed.
func Open(ctx context.Context, opts Options) (*Engine, error) {
	if ctx == nil {
		return nil, errNilContext("open")
	}
	options, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("lockwheel: open: %w", err)
	}
	limits := dial.NewLimits()
	connected, server, err := connect(ctx, &options, limits)
	if err != nil && (!options.Lazy || endOf(ctx) != nil || errors.Is(err, errClientRESP2)) {
		return nil, fmt.Errorf("lockwheel: open: %w", openError(ctx, err))
	}
	e := &Engine{options: options, config: options.config(), closed: make(chan struct{})}
	e.waits, e.endWaits = context.WithCancel(context.Background())
	e.servers = options.serverNames()
	e.options.Redis = rueidis.ClientOption{} // an engine that is printed has no password in it
	e.listeners = newListeners(&e.options)
	e.contexts.init(e)
	e.lookups = newLookups()
	about := e.identity()
	if err != nil {
		e.cluster.Store(true)
		e.loop = engine.StartUnconnected(err, e.config, about, e.hooks(), e.listeners.log)
		e.keepConnecting(options, limits, err)
		return e, nil
	}
	e.adopt(connected, server)
	e.loop = engine.Start(server, e.config, about, e.hooks(), e.listeners.log)
	return e, nil
}

// Dial calls [Open] with default options and the server that the URL names. [ParseURL] describes the form:
// redis://user:password@127.0.0.1:6379/0, or rediss:// for TLS. Further nodes of a cluster follow as
// ?addr=host:port&addr=…. With &master_set=name the addresses are those of sentinels; with rediss:// the connections
// to the sentinels use TLS too.
func Dial(ctx context.Context, url string) (*Engine, error) {
	redis, err := redisurl.Parse(url)
	if err != nil {
		return nil, fmt.Errorf("lockwheel: dial: the URL: %w", err)
	}
	return Open(ctx, Options{Redis: redis})
}

// zero reports whether the engine was never opened.
func (e *Engine) zero() bool { return e != nil && e.loop == nil }

// ID returns the engine's client id on the wire, a UUID that Open creates. The id of every hold begins with it.
func (e *Engine) ID() string { return e.config.ID }

// Name returns [Options].Name, or its default: program, host and process. It is empty if the engine was never opened.
func (e *Engine) Name() string { return e.options.Name }

// Mutex returns the lock with that name: Redisson's getLock. The result is a small value, and the server is not
// contacted. The methods of the Mutex return an error for an invalid name:
//
//   - an empty name
//   - a name longer than 64 KiB, including Options.Prefix
//   - in a cluster, a name with braces but nothing between the first { and the next }: its channel would be in
//     another slot
func (e *Engine) Mutex(name string) Mutex { return Mutex{engine: e, name: name} }

// FencedMutex returns the lock with that name and with fencing tokens: Redisson's getFencedLock. It behaves like Mutex.
// Each grant has a number that is greater than that of every earlier grant of that name to any client: [Hold.Token]. A
// store that remembers the greatest token can reject late writes of a holder that lost the lock without noticing.
//
// Re-entry keeps the hold's token. Tokens strictly increase as long as the server keeps its data. The key that counts
// them has no expiry.
func (e *Engine) FencedMutex(name string) Mutex {
	return Mutex{engine: e, name: name, kind: actor.Fenced}
}

// FairMutex returns the lock with that name that is granted in the order in which callers started to wait, across all
// processes: Redisson's getFairLock. Otherwise it behaves like Mutex. Each waiting call has its own place in a queue
// on the server, so the engine never hands the lock off locally. A call that ends without the lock gives up its
// place. TryLock without a [Wait] acquires the lock only if the queue is empty.
//
// The engine keeps the places of its callers alive. The places of a process that died block all callers behind them for
// at most [Options.FairWaitTimeout], by default one lease, or longer if more callers of that engine waited than
// Options.FairWaitTimeout says. The server's clock decides. A place of a Redisson client lasts five minutes, and its
// dead waiters expire one at a time, by the wall clocks of the callers. These clocks should then agree. An acquire that
// reaches the server more than two [Options.CallTimeout] after it was sent does nothing.
//
// A name and the same name in braces, such as "a" and "{a}", share one queue, because Redisson gives both queues the
// same key. While callers wait for one of the two locks, the other may be unavailable although it is free. Callers of
// both can deadlock. Use only one of the two names.
func (e *Engine) FairMutex(name string) Mutex { return Mutex{engine: e, name: name, kind: actor.Fair} }

// Stats returns a snapshot. It waits for one turn of the loop. After Close it returns the last counters, and 0 for
// the gauges.
func (e *Engine) Stats() Stats {
	if e.loop == nil {
		return Stats{}
	}
	s := Stats(e.loop.Stats())
	events, panics := e.listeners.events.Counts()
	records, more := e.listeners.records.Counts()
	s.DroppedEvents, s.Panics = events+records, panics+more+e.contexts.detaching.Panics.Load()
	return s
}

// LockInfo describes a lock that callers of an engine hold or wait for, for [Engine.Locks].
type LockInfo struct {
	Name string // without the engine's prefix
	Kind string // "plain", "fenced", "fair", "reader" or "writer"

	// Of the owner in this engine. Holds is 0 if callers only wait; then the other four are zero, too.
	Holds    int       // how many holds of the owner are not unlocked: more than 1 after re-entries
	HolderID string    // as [Hold.ID]
	Since    time.Time // when the owner was granted the lock
	Deadline time.Time // as [Hold.Deadline]; of several holds the latest
	Watched  bool      // the engine renews the lock; otherwise all holds have leases of their own

	// Label is that of the owner's oldest hold that is not unlocked ([WithLabel]), or if callers only wait that of the
	// first of them. Empty without a label. CallSite is where that hold was requested, as file:line, with
	// [Options].CallSites: the first caller outside of the library. It is empty if a go statement called the library.
	Label, CallSite string

	// Of the callers of this engine that wait for the lock.
	Waiting      int
	WaitingSince time.Time // when the first of them came; zero if none waits
}

// Locks lists the locks that callers of this engine hold or wait for, in no order. It does not ask the server. Each
// reader of an [RWMutex] and each caller of a [Engine.FairMutex] may be a lock of its own, so a name can occur several
// times.
//
// Locks reads the list in pages of at most 1024 locks, one turn of the loop for each. So a million locks do not stop
// the engine. Only the first page of very many locks costs more: about 15 ms for a million. The list is not of one
// instant: it lacks locks that were acquired after its first page, and those that ended before their page.
//
// If the list cannot be read to its end, its last pair has the reason: ErrClosed, or the cause of ctx. ctx bounds the
// list; the loop body may block for as long as it likes. The list is safe for concurrent use, and can be read again.
func (e *Engine) Locks(ctx context.Context) iter.Seq2[LockInfo, error] {
	return func(yield func(LockInfo, error) bool) {
		if ctx == nil {
			yield(LockInfo{}, errNilContext("locks"))
			return
		}
		if e.loop == nil {
			yield(LockInfo{}, fmt.Errorf("lockwheel: locks: %w", ErrClosed))
			return
		}
		for page := new(coordinator.Snapshot); ; {
			err := context.Cause(ctx)
			if err == nil {
				err = e.nextPage(ctx, page)
			}
			if err != nil {
				yield(LockInfo{}, fmt.Errorf("lockwheel: locks: %w", err))
				return
			}
			for i := range page.Locks {
				if !yield(e.lockInfo(&page.Locks[i]), nil) {
					return
				}
			}
			if !page.More {
				return
			}
		}
	}
}

// nextPage fills in the next page of a list. It returns ErrClosed, or the cause of ctx.
func (e *Engine) nextPage(ctx context.Context, page *coordinator.Snapshot) error {
	err := e.loop.NextPage(ctx.Done(), page)
	if err == ErrUnavailable {
		return cmp.Or(context.Cause(ctx), context.Canceled)
	}
	return err
}

// kindNames are the names of the kinds in a LockInfo.
var kindNames = [...]string{actor.Plain: "plain", actor.Fenced: "fenced", actor.Fair: "fair", actor.Read: "reader", actor.Write: "writer"}

func (e *Engine) lockInfo(l *actor.Info) LockInfo {
	info := LockInfo{Name: l.Key[len(e.options.Prefix):], Kind: kindNames[l.Kind], Holds: l.Holds, Waiting: l.Waiting}
	if l.Note != nil {
		if info.Label = l.Note.Label; l.Note.Site != nil {
			info.CallSite = l.Note.Site.String()
		}
	}
	if l.Holds > 0 {
		info.HolderID = e.config.ID + ":" + strconv.FormatUint(l.Tenure, 10)
		info.Since, info.Deadline, info.Watched = e.loop.Time(l.Since), e.loop.Time(l.Until), l.Watched
	}
	if l.Waiting > 0 {
		info.WaitingSince = e.loop.Time(l.WaitingSince)
	}
	return info
}

// Shutdown closes the engine in an orderly way. It rejects new locks and ends all waiting calls with ErrClosed. It
// waits until every hold is unlocked and the server has confirmed its release, or the lease has ended. Then it closes
// the engine. A grant of LockAsync that its caller has not taken counts as a hold. It waits as well until the places of
// callers that waited for a FairMutex are given up, for at most as long as these live (Options.FairWaitTimeout).
//
// If ctx ends first, Shutdown closes the engine as Close does, and returns an error that matches the context's cause.
// The remaining holds have then ended with ErrClosed, and their keys expire with their leases. If Close, or another
// Shutdown with an ended context, interrupts this one, the error matches ErrClosed. Both errors contain the number of
// holds that were not unlocked; of several locks held as one, each counts. The first names some of them, at most eight,
// with their labels.
//
// Close takes up to Options.CallTimeout beside a server that does not reply, or an [Observer] that does not return. The
// time that Shutdown has waited is part of that, except for the last tenth.
//
// Shutdown returns nil if there is nothing to wait for, even if ctx has ended, and if the engine is closed already. It
// does not wait for requests that a server which is known to be down has of callers that gave up: if it still grants
// one, that lock stays until its lease ends.
func (e *Engine) Shutdown(ctx context.Context) error {
	if ctx == nil {
		return errNilContext("shutdown")
	}
	if e.loop == nil {
		return nil
	}
	until := time.Now().Add(e.options.CallTimeout)
	call := e.loop.NewCall()
	call.Op = coordinator.AskShutdown
	done := ctx.Done()
	if !e.loop.Post(call) {
		return e.Close()
	}
	e.endWaits()
	cause := e.await(ctx, done, call)
	switch {
	case call.Err == nil, call.State == nil: // without a state it came when the engine was closed
		return e.closeSoon(until)
	case call.Err == ErrClosed:
		cause = ErrClosed
	}
	what := "not everything that was sent has a reply"
	if n := call.State.Count; n > 0 {
		holds := "holds"
		if n == 1 {
			holds = "hold"
		}
		what = fmt.Sprintf("not every lock was released (%d %s not unlocked%s)", n, holds, e.someHeld())
	}
	return errors.Join(fmt.Errorf("lockwheel: shutdown: %s: %w", what, cause), e.closeSoon(until))
}

// closeSoon is closeBy for a Shutdown, which has waited for what was sent. If it is past that time, a healthy server
// still replies to what was sent last within a tenth of CallTimeout.
func (e *Engine) closeSoon(until time.Time) error {
	if last := time.Now().Add(e.options.CallTimeout / 10); until.Before(last) {
		until = last
	}
	return e.closeBy(until)
}

// maxHeldNames is how many locks an error names at most.
const maxHeldNames = 8

// someHeld names some of the locks that are held, for an error, with what their holds are for. It returns an empty
// text if the engine is closed.
func (e *Engine) someHeld() string {
	var b strings.Builder
	count := 0
	for lock, err := range e.Locks(context.Background()) {
		switch {
		case err != nil || lock.Holds == 0:
			continue
		case count == maxHeldNames:
			b.WriteString(", …")
			return b.String()
		case count == 0:
			b.WriteString(": ")
		default:
			b.WriteString(", ")
		}
		count++
		b.WriteString(named(lock.Name, lock.Label))
	}
	return b.String()
}

// Close ends all waiting calls and all holds with ErrClosed, without waiting for the holds, and stops the engine. It
// always returns nil. A second call waits for the first.
//
// [Observer] and Logger receive these events before Close returns, unless that takes longer than Options.CallTimeout.
// Events beyond the 8192 that may wait for an Observer are dropped, and Stats.DroppedEvents counts them.
//
// Close first ends all waiting calls. It then waits, for at most Options.CallTimeout, for what was sent before it.
// That is each release that Unlock, [Hold.UnlockAsync] or the end of a wait requested. It is also each lock that may
// be granted after its caller gave up, to release it, and each command that lowers a TTL to what the holds of a lock
// need: after an inner hold with a longer lease was unlocked, Close sends it at once. A call for several locks that is
// going on returns the locks that it has, or releases them: Close waits for it for at most half of that time, and for
// one of a [Quorum] for a quarter of a second. So an unlocked lock does not stay because its engine is closed. Very
// many releases, or a slow server, can take longer; [Engine.Shutdown] waits as long as its context. New lock requests
// are rejected meanwhile, and holds are still valid. Close does not wait for a server that is known to be down.
//
// The keys of held locks stay until their leases expire, so that no other caller acquires them while the work under
// them is still stopping. So does the key of a grant of [Mutex.LockAsync] if its context, of a type of the caller's
// own, ended only just before Close. Places in the queues of fair locks are given up like releases. One that a server
// does not confirm in time stays until its FairWaitTimeout expires, or longer if very many wait (docs/limits.md).
//
// When Close returns, no goroutine of the engine is left and no command follows. Goroutines of the Redis client can
// take some seconds more if a server does not reply. On a dead connection Close may block for Options.CallTimeout, and
// with [Options.Client] until that client notices. A function of Options.Redis that hangs keeps its goroutine.
func (e *Engine) Close() error {
	if e.loop == nil {
		return nil
	}
	return e.closeBy(time.Now().Add(e.options.CallTimeout))
}

// closeBy implements Close. It waits until that time for releases, and for the end of connections.
func (e *Engine) closeBy(until time.Time) error {
	if !e.closing.CompareAndSwap(false, true) {
		<-e.closed
		return nil
	}
	e.contexts.watches.Settle()
	e.endWaits()
	e.awaitMultis(time.Now().Add(time.Until(until) / 2))
	call := e.loop.NewCall()
	call.Op, call.Wait = coordinator.AskClose, max(time.Until(until), minDuration)
	if e.loop.Post(call) {
		<-call.Ready
	}
	<-e.loop.Stopped()
	e.contexts.ending.Wait(time.Time{})
	e.notices.Wait(until)
	e.connecting.end()
	if l := e.link.Load(); l != nil {
		l.connections.CloseAfter(time.Until(until), func() {
			e.loop.Withdrawn()
			if e.options.Client == nil {
				l.close()
			}
			e.loop.Wait()
			e.awaitPing()
			e.lookups.end(until)
		})
	}
	e.listeners.close(until)
	e.contexts.detaching.Wait(until)
	close(e.closed)
	return nil
}

// quorumPatience is how long Close waits for calls of a Quorum, which may wait for other servers.
const quorumPatience = 250 * time.Millisecond

// awaitMultis waits for the calls for several locks, at most until the given time. They wait for no lock any more: they
// return the locks that they have, or release them, which they could not once the engine is closed.
func (e *Engine) awaitMultis(until time.Time) {
	if e.multis.Load()+e.quorums.Load() == 0 {
		return
	}
	drain := e.loop.NewCall()
	drain.Op = coordinator.AskShutdown
	if !e.loop.Post(drain) { // its result comes with that of the close at the latest
		return
	}
	e.multis.Wait(until)
	if patient := time.Now().Add(quorumPatience); patient.Before(until) {
		until = patient
	}
	e.quorums.Wait(until)
}

// await waits for the result of a posted call. If ctx ends first, it cancels the call, waits for its result, and
// returns the context's cause; the caller must not free such a call. done is what ctx.Done returned before the call
// was posted. A custom context may panic, and after the call is posted a panic would leave its grant without a
// holder.
func (e *Engine) await(ctx context.Context, done <-chan struct{}, call *engine.Call) (cause error) {
	if done == nil {
		<-call.Ready
		return nil
	}
	return e.awaitOrCancel(ctx, done, call)
}

// awaitOrCancel is separate so that await has a small frame: a waiter wakes with a cold stack. Measured with 2048
// callers, together with Hold.unlockSlow: 2 to 5 % more pairs.
func (e *Engine) awaitOrCancel(ctx context.Context, done <-chan struct{}, call *engine.Call) (cause error) {
	select {
	case <-call.Ready:
		return nil
	case <-done:
		return e.cancelCall(ctx, call)
	}
}

// cancelCall cancels a call after its context has ended and waits for the result. If the call itself ended the context,
// awaitIgnoringEnds keeps waiting instead.
func (e *Engine) cancelCall(ctx context.Context, call *engine.Call) (cause error) {
	found := false
	defer func() {
		if !found { // a method of the context has ended this goroutine
			e.loop.Cancel(call, context.Canceled)
		}
	}()
	cause = e.contexts.causeOf(ctx)
	found = true
	if endedBy(call.Op, call.Hold, call.Name, cause) {
		return e.awaitIgnoringEnds(ctx, call)
	}
	e.loop.Cancel(call, cause)
	<-call.Ready
	return cause
}

// awaitIgnoringEnds keeps waiting when the call itself has ended the context, such as that of a hold that it ends.
func (e *Engine) awaitIgnoringEnds(ctx context.Context, call *engine.Call) (cause error) {
	ctx, cancel := ignoringEnds(ctx, func(end error) bool { return endedBy(call.Op, call.Hold, call.Name, end) })
	defer cancel()
	return e.awaitOrCancel(ctx, ctx.Done(), call)
}

// hooks connects the loop to the observer and to the contexts of holds.
func (e *Engine) hooks() engine.Hooks {
	observer := &e.options.Observer
	hooks := engine.Hooks{HoldEnded: func(end *actor.HoldEnd) { e.onHoldEnded(end) }, PrefixLen: len(e.options.Prefix)}
	if observer.SlowTurn != nil {
		hooks.SlowTurn = e.listeners.slowTurn
	}
	if observer.Acquired != nil || observer.Rejected != nil || observer.Lost != nil {
		hooks.Result = func(r *actor.Request, waited time.Duration) { e.onResult(r, waited) }
	}
	return hooks
}

// onHoldEnded publishes the end of a hold. It runs on the loop.
func (e *Engine) onHoldEnded(end *actor.HoldEnd) {
	observer := &e.options.Observer
	if end.Err == actor.ErrNotHeld && observer.Released == nil && !end.Hold.HasContext() {
		if remaining := end.Hold.End(end.Err, nil, 0); remaining != nil { // Hold.Context was called concurrently
			e.contexts.endAsync(remaining, &lockError{name: end.Key[len(e.options.Prefix):], label: end.Hold.Label(), err: end.Err})
		}
		return
	}
	name := end.Key[len(e.options.Prefix):]
	err := &lockError{name: name, label: end.Hold.Label(), err: end.Err, cause: end.Cause}
	signal := end.Hold.Signal()
	var done <-chan struct{}
	if remaining := end.Hold.End(end.Err, end.Cause, end.HeldUntil); remaining != nil {
		done = remaining.Done
		e.contexts.endAsync(remaining, err)
	} else if end.Err != actor.ErrNotHeld && observer.Lost != nil {
		done = doneOfAll(signal)
	}
	if end.Err == actor.ErrNotHeld {
		e.listeners.released(name, end.Held, done)
	} else {
		e.listeners.lost(name, err, done)
	}
}

// onResult notifies the observer of a request's result. It runs on the loop. For a request for several locks it
// reports each lock.
func (e *Engine) onResult(r *actor.Request, waited time.Duration) {
	if r.Err == actor.ErrReentry || r.Err == actor.ErrOvertaken {
		return // the caller now requests the locks one by one, and those results are reported
	}
	if r.Multi != nil {
		for i := range r.Multi.Parts {
			e.onResult(&actor.Request{Op: r.Op, Name: r.Multi.Parts[i].Name, Err: r.Err, Cause: r.Cause}, waited)
		}
		return
	}
	switch {
	case r.Op == actor.Unlock && r.Err == actor.ErrLost && actor.IsKnownLoss(r.Cause): // the observer was notified before
	case r.Op == actor.Unlock && r.Err == actor.ErrLost: // the hold ended as if it had been unlocked in time
		e.listeners.lost(r.Name, &lockError{name: r.Name, label: r.Hold.Label(), err: r.Err, cause: r.Cause}, nil)
	case r.Op != actor.Acquire:
	case r.Err == nil:
		e.listeners.acquired(r.Name, waited)
	default:
		e.listeners.rejected(r.Name, waited, &lockError{name: r.Name, err: r.Err, cause: r.Cause})
	}
}

// newID returns a client id for an engine.
func newID() string { return uuid.NewString() }
