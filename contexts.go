package lockwheel

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/internal/async"
	"github.com/lockwheel/lockwheel/internal/ctxwatch"
)

// errLeaseExpired is the cause of a loss that a hold itself finds by the clock, if the lock was to be renewed.
var errLeaseExpired = errors.New("the lease ended before it was renewed")

type (
	holdKey  struct{} // the innermost *Hold of a context, nil behind WithoutOwner
	ownerKey struct{} // the owner number of WithOwner
	noteKey  struct{} // the *actor.Note of WithLabel
)

// Value returns the hold for holdKey, and otherwise what the parent context carries.
func (c *holdContext) Value(key any) any {
	if key == (holdKey{}) {
		return c.hold
	}
	return c.Context.Value(key)
}

var threadOwners atomic.Uint64

// WithOwner returns a context with its own owner for all names, like the thread of a Java program. If a lock is
// acquired with this context, or with one derived from it, all other calls with such a context re-enter it. This
// includes calls that are already waiting.
//
// It is for code that was written for threads. All goroutines that receive the context are the same owner, so two of
// them can hold one lock at the same time without noticing. Prefer [Hold.Context], which carries the owner of one
// lock only. For a name that the context already holds through a Hold, that hold's owner counts.
func WithOwner(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownerKey{}, actor.ThreadOwner|threadOwners.Add(1))
}

// WithoutOwner returns a context without an owner: a call with it waits like any other caller. Use it for work that a
// holder hands to other goroutines.
func WithoutOwner(ctx context.Context) context.Context {
	return context.WithValue(context.WithValue(ctx, holdKey{}, (*Hold)(nil)), ownerKey{}, uint64(0))
}

// maxLabelLen is the maximum length of a label in bytes.
const maxLabelLen = 128

// WithLabel returns a context with a label that says what holds are for: that of a job, a request, a user. The label is
// in [LockInfo], on the page of package debug, in the errors of a hold, and in what [Options].Logger receives of holds.
// It counts for each lock that is requested with the context, or with one made from it, as that of a hold is. An inner
// WithLabel replaces it. It is not sent to the server.
//
// A label longer than 128 bytes is cut there, at a character. An empty one removes the label. The holds of one context
// share their label in memory, and each takes about 100 bytes more than a hold without.
func WithLabel(ctx context.Context, label string) context.Context {
	if len(label) > maxLabelLen {
		cut := maxLabelLen
		for cut > maxLabelLen-utf8.UTFMax && !utf8.RuneStart(label[cut]) {
			cut--
		}
		label = strings.Clone(label[:cut])
	}
	if label == "" {
		return context.WithValue(ctx, noteKey{}, (*actor.Note)(nil))
	}
	return context.WithValue(ctx, noteKey{}, &actor.Note{Label: label})
}

// noteOf returns what a context says that holds are for, with the call site if the engine records it, or nil.
func (e *Engine) noteOf(ctx context.Context) *actor.Note {
	note, _ := ctx.Value(noteKey{}).(*actor.Note)
	if !e.options.CallSites {
		return note
	}
	here := &struct {
		actor.Note
		site callSite
	}{}
	if note != nil {
		here.Label = note.Label
	}
	runtime.Callers(2, here.site[:])
	here.Site = &here.site
	return &here.Note
}

// callSite is the innermost part of the stack of a call. It is resolved when it is read.
type callSite [12]uintptr

// String returns file and line of the first caller outside the library and the runtime. It is empty if there is none,
// because a go statement calls the library.
func (s *callSite) String() string {
	depth := max(slices.Index(s[:], 0), 0)
	if depth == 0 {
		depth = len(s)
	}
	for frames := runtime.CallersFrames(s[:depth]); ; {
		frame, more := frames.Next()
		if !isSkipped(frame.Function) {
			return frame.File + ":" + strconv.Itoa(frame.Line)
		}
		if !more {
			return ""
		}
	}
}

// skippedPackages begin the names of functions that are no caller's. They are those of this module that lock for a
// caller, and of the runtime, which runs deferred calls and begins goroutines.
var skippedPackages = [...]string{
	"github.com/lockwheel/lockwheel.", "github.com/lockwheel/lockwheel/leader.", "github.com/lockwheel/lockwheel/lockwheeltest.", "runtime.",
}

func isSkipped(function string) bool {
	return slices.ContainsFunc(skippedPackages[:], func(begin string) bool { return strings.HasPrefix(function, begin) })
}

// setNote says what a hold is for, before its request is sent.
func (h *Hold) setNote(note *actor.Note) {
	if note != nil {
		h.grant.Install(nil, &actor.HoldSignal{Note: note})
	}
}

// ownerFromContext returns the owner that a context carries for one name of one engine, 0 for none.
func ownerFromContext(ctx context.Context, e *Engine, name string) uint64 {
	for at := ctx; ; {
		hold, _ := at.Value(holdKey{}).(*Hold)
		if hold == nil {
			break
		}
		if owner := hold.ownerFor(e, name); owner != 0 {
			return owner
		}
		at = hold.parent
	}
	owner, _ := ctx.Value(ownerKey{}).(uint64)
	return owner
}

// ownerFor returns the hold's owner if it holds the name of the engine, 0 otherwise.
func (h *Hold) ownerFor(e *Engine, name string) uint64 {
	if r := h.found(); r != nil {
		h = r
	}
	if h.engine == e && h.name == name {
		return h.grant.Owner
	}
	if g := h.multi(); g != nil {
		return g.owner(e, name)
	}
	return 0
}

// ownerSource is a copy of all that a context carries about its owner, for requests that must not call the context. It
// is immutable once made. The zero value has no owner.
type ownerSource struct {
	holds []*Hold // innermost first
	owner uint64
}

func ownerSourceOf(ctx context.Context) (b ownerSource) {
	for at := ctx; ; {
		hold, _ := at.Value(holdKey{}).(*Hold)
		if hold == nil {
			break
		}
		b.holds, at = append(b.holds, hold), hold.parent
	}
	b.owner, _ = ctx.Value(ownerKey{}).(uint64)
	return b
}

// ownerOf returns the same as ownerFromContext.
func (b *ownerSource) ownerOf(e *Engine, name string) uint64 {
	for _, h := range b.holds {
		if owner := h.ownerFor(e, name); owner != 0 {
			return owner
		}
	}
	return b.owner
}

// endedBy reports whether the call itself ended its context: the release of that hold, or a force of the lock with that
// name. If the hold's parent context has ended, the caller gave up, and endedBy reports false.
func endedBy(op actor.Op, hold *actor.Hold, name string, cause error) bool {
	switch op {
	case actor.Force:
		return actor.IsForced(cause) && isAbout(cause, name)
	case actor.Unlock:
		s := hold.Signal()
		_, ours := cause.(*lockError) // a cause of the caller's may be of a type that cannot be compared
		return ours && s != nil && s.Context != nil && errors.Is(cause, ErrNotHeld) && context.Cause(s.Context.(context.Context)) == cause
	}
	return false
}

// isAbout reports whether an error concerns the lock with that name, alone or as one of several.
func isAbout(err error, name string) bool {
	for err != nil {
		of := ""
		switch e := err.(type) {
		case *lockError:
			of, err = e.name, e.cause
		case *memberLoss:
			of, err = e.name, e.cause
		default:
			err = errors.Unwrap(err)
		}
		if of == name {
			return true
		}
	}
	return false
}

// ignoringEnds returns the context with which the holds in ctx were locked, skipping those that ended with such a
// cause. It keeps the deadline of ctx. If ctx no longer carries such a hold, the result is based on context.Background.
func ignoringEnds(ctx context.Context, so func(cause error) bool) (context.Context, context.CancelFunc) {
	outer := ctx
	for so(context.Cause(outer)) {
		hold, _ := outer.Value(holdKey{}).(*Hold)
		if hold == nil {
			outer = context.Background()
			break
		}
		outer = hold.parent
	}
	if deadline, has := ctx.Deadline(); has {
		return context.WithDeadline(outer, deadline)
	}
	return context.WithCancel(outer)
}

// callerContexts handles the contexts of an engine's callers. A context may be a custom type with methods that block or
// panic, so the loop never calls one. init sets it up, before the engine's loop starts; from then on it is safe for
// concurrent use.
type callerContexts struct {
	ending    async.WorkerPool // ends the contexts of holds; runs no code of a caller
	detaching async.WorkerPool // unregisters from callers' contexts, and runs code of theirs
	watches   ctxwatch.Watches[Pending]
}

func (c *callerContexts) init(e *Engine) {
	c.watches = ctxwatch.New(ctxwatch.Config[Pending]{
		CauseOf:   c.causeOf,
		Canceled:  (*Pending).canceled,
		CancelAll: func(together []*actor.Request, cause error) { e.loop.CancelAll(together, cause) },
		IsStdTree: isStdTree,
	})
	c.ending.MaxWorkers, c.ending.MaxTasks = maxEndingWorkers, 1<<62 // the number of holds is the bound
	c.detaching.MaxWorkers, c.detaching.MaxTasks = maxDetachingWorkers, maxDetaching
}

// holdContext is a hold's context: it carries the hold as the owner of its lock. It is a child of Lock's context. If
// that is a custom context, there is one of package context between them, so that the child ends without calling the
// custom one. newHoldContext makes it; it is immutable.
type holdContext struct {
	context.Context
	hold   *Hold
	cancel context.CancelCauseFunc
	detach context.CancelCauseFunc // unregisters from Lock's context; nil if cancel does so without code of the caller
}

func newHoldContext(h *Hold) *holdContext {
	c, parent := &holdContext{hold: h}, h.parent
	if !isStdContext(parent) {
		parent, c.detach = context.WithCancelCause(parent)
	}
	c.Context, c.cancel = context.WithCancelCause(parent)
	return c
}

var (
	cancelType = reflect.TypeOf(canceledCtx)
	timerType  = func() reflect.Type {
		ctx, cancel := context.WithTimeout(context.Background(), 0)
		cancel()
		return reflect.TypeOf(ctx)
	}()
	valueType = reflect.TypeOf(context.WithValue(context.Background(), holdKey{}, nil))
)

// isStdContext reports whether a child can be removed from a context without running code of the caller.
func isStdContext(ctx context.Context) bool {
	for {
		switch c := ctx.(type) {
		case *tokenContext:
			ctx = c.Context
		case *multiHold:
			ctx = c.Context
		case *foundHold:
			ctx = c.Context
		case *holdContext:
			return true
		default:
			is := reflect.TypeOf(ctx)
			return is == cancelType || is == timerType || ctx == context.Background()
		}
	}
}

// isStdTree reports whether a context consists only of contexts of package context, so that none of its methods is
// code of a caller.
func isStdTree(ctx context.Context) bool {
	for !isStdContext(ctx) {
		switch c := ctx.(type) {
		case *tokenContext:
			ctx = c.Context
		case *multiHold:
			ctx = c.Context
		case *foundHold:
			ctx = c.Context
		default:
			if reflect.TypeOf(ctx) != valueType {
				return false
			}
			ctx = reflect.ValueOf(ctx).Elem().FieldByName("Context").Interface().(context.Context)
		}
	}
	return true
}

// discard ends a context that was never returned to a caller.
func (c *holdContext) discard(reason error) {
	c.cancel(reason)
	if c.detach != nil {
		c.detach(nil)
	}
}

// end ends the context of a hold that has ended, on the goroutine of its caller, and then closes Done.
func (c *callerContexts) end(remaining *actor.HoldSignal, reason error) {
	ctx := remaining.Context.(*holdContext)
	ctx.cancel(reason)
	close(remaining.Done)
	c.detach(ctx)
}

// endAsync does the same without waiting for it. A context with very many children can take long to end, and Done
// does not wait for them.
func (c *callerContexts) endAsync(remaining *actor.HoldSignal, reason error) {
	c.ending.Submit(func() {
		ctx, ended := remaining.Context.(*holdContext), make(chan struct{})
		go func() {
			ctx.cancel(reason)
			close(ended)
		}()
		<-ctx.Context.Done()
		close(remaining.Done)
		<-ended
		c.detach(ctx)
	})
}

func (c *callerContexts) detach(ctx *holdContext) {
	if ctx.detach != nil {
		c.detaching.Submit(func() { ctx.detach(nil) })
	}
}

// causeOf returns the cause of a context's end. It returns context.Canceled if the context panics or does not report
// its end.
func (c *callerContexts) causeOf(ctx context.Context) error {
	return cmp.Or(c.endCause(ctx), context.Canceled)
}

// endCause returns the cause of a context's end, or nil if the context does not report its end. A panic counts as
// context.Canceled.
func (c *callerContexts) endCause(ctx context.Context) (cause error) {
	defer func() {
		if recover() != nil {
			c.detaching.Panics.Add(1)
			cause = context.Canceled
		}
	}()
	return context.Cause(ctx)
}

const (
	// maxEndingWorkers is the maximum number of an engine's goroutines that end contexts of holds. They never block, but
	// very many children take long.
	maxEndingWorkers = 4
	// maxDetachingWorkers is the maximum number of goroutines that unregister from callers' contexts, where each may hang
	// in code of the caller. maxDetaching is the maximum number of contexts that wait while all of these hang. Further
	// ones stay registered until they end themselves.
	maxDetachingWorkers, maxDetaching = 64, 1 << 20
)
