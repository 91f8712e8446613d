// Package lockwheel takes locks that processes share through a Redis or Valkey server: exclusive or
// shared by readers, fair, fenced, several as one; re-entrant, leased, and renewed for as long as they are
// held. On the wire they are Redisson's locks, so a Go and a Java program can share one.
//
//	locks, err := lockwheel.Dial(ctx, "redis://127.0.0.1:6379")
//	if err != nil {
//		return err
//	}
//	defer locks.Close()
//
//	hold, err := locks.Mutex("orders/7").Lock(ctx)
//	if err != nil {
//		return err
//	}
//	defer hold.Unlock(ctx)
//	return charge(hold.Context()) // ends if the lock is lost
//
// A lock taken without [Lease] is watched: it is renewed until it is unlocked, and if its process dies it
// is free within Options.Lease. A lock can be lost: its key is deleted, somebody takes it away by force,
// or the server is gone for longer than the lease. [Hold.Context], [Hold.Done] and [Hold.Err] say so;
// when a lease ends, they say so before anybody else can be granted the lock. A lease is not a proof,
// though: a process that is suspended between looking and writing cannot know. What must never happen
// twice needs a check where it is written.
//
// An [Engine] is one connection for commands and one for messages (to each master of a cluster; with
// [Options.Replicas] two more), one event loop and any number of locks. Neither a held lock nor a waiting
// [Mutex.LockAsync] costs a goroutine, with contexts that package context made.
package lockwheel

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

// Engine takes, renews and releases locks on one Redis or Valkey server or cluster. Open one per process
// and server; all its methods are safe for concurrent use. The zero Engine is a closed one: the errors of
// its locks match ErrClosed.
type Engine struct {
	loop     *engine.Engine
	config   actor.Config
	options  Options
	client   rueidis.Client
	cluster  bool
	ends     *closing // its connections
	tells    *audience
	contexts contexts
	closing  atomic.Bool
	closed   chan struct{} // closed when Close has done its work
}

// Open connects to a server and starts the engine. On failure nothing is left running.
//
// ctx bounds Open only. Open fails if an option does not make sense, and if the server cannot be
// reached or refuses the credentials. One node of a cluster has to answer, and to know of slots. Where a function of
// Options.Redis hangs that dials, has credentials or looks at certificates, it is left behind when ctx ends, and after Options.Timeout,
// and what it connects then is closed.
func Open(ctx context.Context, opts Options) (*Engine, error) {
	if ctx == nil {
		return nil, errNilContext("open")
	}
	options, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("lockwheel: open: %w", err)
	}
	client, server, closing, err := connect(ctx, &options)
	if err != nil {
		return nil, fmt.Errorf("lockwheel: open: %w", err)
	}
	options.Redis = rueidis.ClientOption{} // an engine that is printed has no password in it
	e := &Engine{options: options, client: client, cluster: server.Cluster(), config: options.config(), ends: closing, closed: make(chan struct{})}
	e.tells = newAudience(&e.options)
	e.contexts.begin(e)
	e.loop = engine.Start(server, e.config, e.hooks(), e.tells.log)
	return e, nil
}

// Dial is Open with default options on the server that the URL names, in the form that [ParseURL] reads:
// redis://user:password@127.0.0.1:6379/0, or rediss:// for TLS. Further nodes of a cluster
// follow as ?addr=host:port&addr=…; with &master_set=name the addresses are those of sentinels, with rediss:// spoken to in TLS as well.
func Dial(ctx context.Context, url string) (*Engine, error) {
	redis, err := parseURL(url)
	if err != nil {
		return nil, fmt.Errorf("lockwheel: dial: the URL: %w", err)
	}
	return Open(ctx, Options{Redis: redis})
}

// zero reports whether an engine was never open.
func (e *Engine) zero() bool { return e != nil && e.loop == nil }

// ID is the engine's client id on the wire, a UUID made by Open. The id of every hold begins with it.
func (e *Engine) ID() string { return e.config.ID }

// Mutex returns the lock of that name: Redisson's getLock. It is a small value, made without asking the
// server; a name that cannot be used is an error of the methods: empty, over 64 KiB, and in a cluster
// with braces but nothing between the first { and the next }, whose channel would lie in another slot.
func (e *Engine) Mutex(name string) Mutex { return Mutex{engine: e, name: name} }

// FencedMutex returns the lock of that name with fencing tokens: Redisson's getFencedLock. It is as Mutex,
// and each grant comes with a number greater than that of every grant before, for that name, by whichever
// client: [Hold.Token]. A store that remembers the greatest it has seen can refuse what comes late from a
// holder that lost the lock without noticing. Re-entry keeps the hold's token. Tokens are strictly
// greater as long as the server keeps its data; the key that counts them has no expiry.
func (e *Engine) FencedMutex(name string) Mutex {
	return Mutex{engine: e, name: name, kind: actor.Fenced}
}

// FairMutex returns the lock of that name that is given to those who wait for it in the order in which they
// came, across all processes: Redisson's getFairLock. It is otherwise as Mutex. Each waiting call has a
// place of its own in a queue on the server, so the lock is never handed on inside the engine; a call that
// ends without the lock gives its place up. TryLock without a wait takes the lock only if nobody waits.
//
// An engine keeps up the places of its callers. Those of a process that died hold up all behind them for
// [Options.FairWait] at most, by default a lease, by the server's clock. A place that Redisson's clients hold is theirs
// for five minutes, one after the other, by the wall clocks of the callers, which should agree then. An acquire
// that comes to the server more than two [Options.Timeout] after it was sent does nothing.
//
// A name and the same in braces, as "a" and "{a}", have one queue, since Redisson names it alike for both: while callers wait for
// one of the two locks the other may not be had though it is free, and callers of both can wait for each other for ever, so use only one of them.
func (e *Engine) FairMutex(name string) Mutex { return Mutex{engine: e, name: name, kind: actor.Fair} }

// Stats returns a snapshot. It waits for one turn of the loop; after Close it returns the last counters, and gauges of 0.
func (e *Engine) Stats() Stats {
	if e.loop == nil {
		return Stats{}
	}
	s := Stats(e.loop.Stats())
	events, panics := e.tells.events.counts()
	records, more := e.tells.records.counts()
	s.Untold, s.Panics = events+records, panics+more+e.contexts.leaving.panics.Load()
	return s
}

// Shutdown refuses new locks, ends all waiting with ErrClosed, waits until every hold is unlocked and
// its release answered, and then closes the engine. A grant of LockAsync that no caller has taken is a hold like any other.
//
// When ctx ends first, it closes at once, as Close does, and returns an error that matches the context's
// cause: what was still held has ended with ErrClosed, and its keys are left to their leases. If another
// Shutdown whose context ended, or Close, cuts it short, the error matches ErrClosed. Both errors say how many holds
// were not unlocked. With nothing to wait for it returns nil, also with a context that has ended, and once the engine is closed.
func (e *Engine) Shutdown(ctx context.Context) error {
	if ctx == nil {
		return errNilContext("shutdown")
	}
	if e.loop == nil {
		return nil
	}
	call := engine.NewCall()
	call.Tag = engine.AskShutdown
	done := ctx.Done()
	if !e.loop.Post(call) {
		return e.Close()
	}
	cause := e.await(ctx, done, call)
	switch {
	case call.Err == nil, call.State == nil: // without a state it came when the engine was closed
		return e.Close()
	case call.Err == ErrClosed:
		cause = ErrClosed
	}
	what := "not everything that was sent is answered"
	if n := call.State.Count; n > 0 {
		what = fmt.Sprintf("not every lock was released (%d holds not unlocked)", n)
	}
	return errors.Join(fmt.Errorf("lockwheel: shutdown: %s: %w", what, cause), e.Close())
}

// Close ends every hold at once, with cause ErrClosed, refuses everybody who waits with ErrClosed, and
// stops the engine. [Observer] and Logger are told of that before Close returns, unless it takes them longer than
// Options.Timeout. Keys of locks that were held are left to their leases, so that nobody else is let in
// beside work that is still being wound up, and places in the queues of fair locks to their FairWait. When it returns, no goroutine of the engine is left and no
// command follows; the client's own end within some seconds more where a server is silent. On a dead connection that may take Options.Timeout, and with [Options.Client] as long as that
// client needs to notice it. A function of Options.Redis that hangs then is left behind, on its goroutine.
//
// It always returns nil. A second call waits for the first.
func (e *Engine) Close() error {
	if e.loop == nil {
		return nil
	}
	if !e.closing.CompareAndSwap(false, true) {
		<-e.closed
		return nil
	}
	call := engine.NewCall()
	call.Tag = engine.AskClose
	if e.loop.Post(call) {
		<-call.Ready
	}
	<-e.loop.Stopped()
	e.contexts.ending.wait(time.Time{})
	until := time.Now().Add(e.options.Timeout)
	e.ends.within(e.options.Timeout, func() {
		if e.options.Client == nil {
			e.client.Close()
		}
		e.loop.Wait()
	})
	e.tells.end(until)
	e.contexts.leaving.wait(until)
	close(e.closed)
	return nil
}

// await waits for the verdict of a posted call. If ctx ends first, the call is given up, its verdict taken, and the context's cause
// returned; such a call must not be freed. done is what ctx.Done returned before the call was posted: a context may be of any make, and
// after a panic of its methods nobody would have what is granted.
func (e *Engine) await(ctx context.Context, done <-chan struct{}, call *engine.Call) (cause error) {
	if done == nil {
		<-call.Ready
		return nil
	}
	return e.awaitEither(ctx, done, call)
}

// awaitEither is apart so that await has a small frame: whoever waits is woken with a cold stack.
func (e *Engine) awaitEither(ctx context.Context, done <-chan struct{}, call *engine.Call) (cause error) {
	select {
	case <-call.Ready:
		return nil
	case <-done:
		return e.leave(ctx, call)
	}
}

// leave gives up a call when its context has ended, unless the call is what ended it, and takes its verdict.
func (e *Engine) leave(ctx context.Context, call *engine.Call) (cause error) {
	asked := false
	defer func() {
		if !asked { // the context has ended this goroutine
			e.loop.Cancel(call, context.Canceled)
		}
	}()
	cause = e.contexts.cause(ctx)
	asked = true
	if ends(call.Tag, call.Hold, call.Name, cause) {
		return e.awaitBeyond(ctx, call)
	}
	e.loop.Cancel(call, cause)
	<-call.Ready
	return cause
}

// awaitBeyond goes on waiting when the call itself has ended the context, as that of a hold that it ends.
func (e *Engine) awaitBeyond(ctx context.Context, call *engine.Call) (cause error) {
	ctx, cancel := beyond(ctx, func(end error) bool { return ends(call.Tag, call.Hold, call.Name, end) })
	defer cancel()
	return e.awaitEither(ctx, ctx.Done(), call)
}

// hooks connect the loop to observers and to the holds' contexts.
func (e *Engine) hooks() engine.Hooks {
	observer := &e.options.Observer
	hooks := engine.Hooks{Ended: func(end *actor.Ended) { e.ended(end) }}
	if observer.Late != nil {
		hooks.Late = e.tells.late
	}
	if observer.Acquired != nil || observer.Refused != nil || observer.Lost != nil {
		hooks.Verdict = func(r *actor.Request, waited time.Duration) { e.verdict(r, waited) }
	}
	return hooks
}

// ended publishes the end of a hold, on the loop.
func (e *Engine) ended(end *actor.Ended) {
	observer := &e.options.Observer
	if end.Err == actor.ErrNotHeld && observer.Released == nil && !end.Hold.Asked() {
		if untold := end.Hold.End(end.Err, nil, 0); untold != nil { // a context was asked for at this moment
			e.contexts.endBeside(untold, &lockError{name: end.Key[len(e.options.Prefix):], err: end.Err})
		}
		return
	}
	name := end.Key[len(e.options.Prefix):]
	err := &lockError{name: name, err: end.Err, cause: end.Cause}
	var told <-chan struct{}
	if untold := end.Hold.End(end.Err, end.Cause, end.Known); untold != nil {
		told = untold.Done
		e.contexts.endBeside(untold, err)
	}
	if end.Err == actor.ErrNotHeld {
		e.tells.released(name, end.Held, told)
	} else {
		e.tells.lost(name, err, told)
	}
}

// verdict tells observers, on the loop. Of a request for several locks it tells of each.
func (e *Engine) verdict(r *actor.Request, waited time.Duration) {
	if r.Err == engine.ErrReenters || r.Err == actor.ErrOvertaken {
		return // they are asked for one by one now, and told of then
	}
	if r.Joint != nil {
		for i := range r.Joint.Parts {
			e.verdict(&actor.Request{Tag: r.Tag, Name: r.Joint.Parts[i].Name, Err: r.Err, Cause: r.Cause}, waited)
		}
		return
	}
	switch {
	case r.Tag == actor.Unlock && r.Err == actor.ErrLost && actor.ToldBefore(r.Cause): // so were the observers
	case r.Tag == actor.Unlock && r.Err == actor.ErrLost: // it ended as if unlocked in time
		e.tells.lost(r.Name, &lockError{name: r.Name, err: r.Err, cause: r.Cause}, nil)
	case r.Tag != actor.Acquire:
	case r.Err == nil:
		e.tells.acquired(r.Name, waited)
	default:
		e.tells.refused(r.Name, waited, &lockError{name: r.Name, err: r.Err, cause: r.Cause})
	}
}

// newID makes the client id of an engine.
func newID() string { return uuid.NewString() }
