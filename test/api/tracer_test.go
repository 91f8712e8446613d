package api_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

type spanKey struct{}

// recordingTracer numbers calls and puts their numbers into their contexts.
type recordingTracer struct {
	mu    sync.Mutex
	calls []string
	onEnd func(*lockwheel.Hold)

	panicsAt string // the call at the start of which it panics
}

func (r *recordingTracer) CallStart(ctx context.Context, call lockwheel.TracedCall) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	if call.Op == r.panicsAt {
		panic("broken")
	}
	r.calls = append(r.calls, fmt.Sprintf("%s %s %s", call.Op, call.Kind, call.Name))
	return context.WithValue(ctx, spanKey{}, len(r.calls))
}

func (r *recordingTracer) CallEnd(ctx context.Context, call lockwheel.TracedCall, hold *lockwheel.Hold, err error) {
	r.mu.Lock()
	r.calls = append(r.calls, fmt.Sprintf("%s of %v: hold %t, error %t", call.Op, ctx.Value(spanKey{}), hold != nil, err != nil))
	r.mu.Unlock()
	if r.onEnd != nil {
		r.onEnd(hold)
	}
}

func (r *recordingTracer) take() (calls []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls, r.calls = r.calls, nil
	return calls
}

// Each call has a start and an end, with the context of its start.
func TestTracer_EachCall_StartAndEnd(t *testing.T) {
	t.Parallel()
	tracer := &recordingTracer{}
	e := locktest.AnyServer(t).Open(lockwheel.Options{Tracer: tracer})
	ctx := t.Context()
	hold := locktest.Lock(t, e.FencedMutex("n"))
	require.Equal(t, []string{"lock fenced n", "lock of 1: hold true, error false"}, tracer.take())
	require.Equal(t, 1, hold.Context().Value(spanKey{}), "the span is the parent of the hold's context")
	_, err := e.FencedMutex("n").TryLock(ctx)
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.Equal(t, []string{"try lock fenced n", "try lock of 1: hold false, error true"}, tracer.take())
	require.NoError(t, hold.Extend(ctx, time.Minute))
	require.Equal(t, []string{"extend  n", "extend of 1: hold true, error false"}, tracer.take())
	locktest.Unlock(t, hold)
	require.Equal(t, []string{"unlock  n", "unlock of 1: hold true, error false"}, tracer.take())
	require.ErrorIs(t, hold.Unlock(ctx), lockwheel.ErrNotHeld)
	require.Equal(t, []string{"unlock  n", "unlock of 1: hold true, error true"}, tracer.take())
	_, err = e.Mutex("n").ForceUnlock(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"force unlock plain n", "force unlock of 1: hold false, error false"}, tracer.take())
	require.NoError(t, e.Mutex("n").Do(ctx, func(ctx context.Context) error {
		require.Equal(t, 1, ctx.Value(spanKey{}))
		return nil
	}))
	require.Len(t, tracer.take(), 4)
}

// Several locks are one call, and none for each of them.
func TestTracer_Multi_OneCall(t *testing.T) {
	t.Parallel()
	tracer := &recordingTracer{}
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{Tracer: tracer})
	both := e.Multi(e.Mutex("a"), e.Mutex("b"))
	hold, err := both.Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, hold.Extend(t.Context(), time.Minute))
	locktest.Unlock(t, hold)
	calls := tracer.take()
	require.Len(t, calls, 6)
	require.Equal(t, "lock multi "+both.Name(), calls[0])
	mixed := e.Multi(e.Mutex("a"), e.FencedMutex("f"))
	hold, err = mixed.TryLock(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"try lock multi " + mixed.Name(), "try lock of 1: hold true, error false"}, tracer.take())
	locktest.Unlock(t, hold)
	elsewhere := func() *lockwheel.Engine { return locktest.AnyServer(t).Open(lockwheel.Options{}) }
	quorum := lockwheel.Quorum(e.Mutex("q"), elsewhere().Mutex("r"), elsewhere().Mutex("s"))
	tracer.take()
	hold, err = quorum.Lock(t.Context())
	require.NoError(t, err)
	require.Equal(t, "lock quorum "+quorum.Name(), tracer.take()[0])
	locktest.Unlock(t, hold)
}

// A quorum is traced by its first engine that was opened, in all calls, and its call sites are recorded if that engine
// does so. A zero Engine stands for a server that was away at the start, and its options say nothing.
func TestTracer_QuorumFirstAway_SameForAllCalls(t *testing.T) {
	t.Parallel()
	tracer, s := &recordingTracer{}, locktest.AnyServer(t)
	first := s.Open(lockwheel.Options{Tracer: tracer, CallSites: true})
	other := func() *lockwheel.Engine { return locktest.AnyServer(t).Open(lockwheel.Options{CallSites: true}) }
	second, third, none := other(), other(), new(lockwheel.Engine)
	s.HoldAsOther("taken", time.Minute)
	for _, name := range []string{"free", "taken"} {
		quorum := lockwheel.Quorum(none.Mutex(name), none.Mutex(name), first.Mutex(name), second.Mutex(name), third.Mutex(name))
		if name == "taken" { // a majority of three without the first
			quorum = lockwheel.Quorum(first.Mutex(name), second.Mutex(name), third.Mutex(name))
		}
		_, file, line, _ := runtime.Caller(0)
		hold, err := quorum.Lock(t.Context())
		require.NoError(t, err)
		for lock := range second.Locks(t.Context()) {
			require.Equal(t, fmt.Sprintf("%s:%d", file, line+1), lock.CallSite)
		}
		require.NoError(t, hold.Extend(t.Context(), time.Minute))
		locktest.Unlock(t, hold)
		require.Equal(t, []string{
			"lock quorum " + name, "lock of 1: hold true, error false",
			"extend  " + name, "extend of 3: hold true, error false",
			"unlock  " + name, "unlock of 5: hold true, error false",
		}, tracer.take())
	}
}

// A tracer that panics at the end of a Lock leaves no lock behind.
func TestTracer_EndPanics_LockReleased(t *testing.T) {
	t.Parallel()
	tracer := &recordingTracer{}
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{Tracer: tracer})
	for name, lock := range map[string]func(){
		"one":     func() { e.Mutex("n").Lock(t.Context()) },
		"several": func() { e.Multi(e.Mutex("n"), e.Mutex("m")).Lock(t.Context()) },
	} {
		tracer.onEnd = func(*lockwheel.Hold) { panic("broken") }
		require.PanicsWithValue(t, "broken", lock, name)
		tracer.onEnd = nil
		locktest.Eventually(t, "released: "+name, func() bool { return !s.Exists("n") && !s.Exists("m") })
	}
	locktest.RequireIdle(t, e)
}

// A tracer that panics at the start of an Unlock keeps no lock: Do, and a deferred Unlock, do not try again.
func TestTracer_StartOfUnlockPanics_LockReleased(t *testing.T) {
	t.Parallel()
	for _, find := range []bool{false, true} {
		tracer := &recordingTracer{panicsAt: "unlock"}
		s := locktest.AnyServer(t)
		e := s.Open(lockwheel.Options{Tracer: tracer, FindLeaks: find})
		require.PanicsWithValue(t, "broken", func() { e.Mutex("d").Do(t.Context(), locktest.Nothing) })
		locktest.Eventually(t, "released by Do", func() bool { return !s.Exists("d") })
		hold, err := e.Multi(e.Mutex("n"), e.Mutex("m")).Lock(t.Context())
		require.NoError(t, err)
		require.PanicsWithValue(t, "broken", func() { hold.Unlock(t.Context()) })
		locktest.Eventually(t, "released", func() bool { return !s.Exists("n") && !s.Exists("m") })
		require.ErrorIs(t, hold.Err(), lockwheel.ErrNotHeld)
		locktest.RequireIdle(t, e)
	}
}

// When an Unlock has panicked because its tracer did, the hold and its context have ended, whatever the kind.
func TestTracer_StartOfUnlockPanics_HoldEndedAtOnce(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{Tracer: &recordingTracer{panicsAt: "unlock"}})
	for name, m := range map[string]interface {
		Lock(context.Context, ...lockwheel.Option) (*lockwheel.Hold, error)
	}{
		"one":     e.Mutex("n"),
		"several": e.Multi(e.Mutex("a"), e.Mutex("b")),
		"mixed":   e.Multi(e.Mutex("c"), e.FairMutex("f")),
		"quorum":  lockwheel.Quorum(e.Mutex("q")),
	} {
		for range 30 {
			hold, err := m.Lock(t.Context())
			require.NoError(t, err, name)
			ctx := hold.Context()
			require.PanicsWithValue(t, "broken", func() { hold.Unlock(t.Context()) }, name)
			require.Error(t, ctx.Err(), name)
			require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrNotHeld, name)
			require.ErrorIs(t, hold.Err(), lockwheel.ErrNotHeld, name)
			require.True(t, locktest.IsClosed(hold.Done()), name)
		}
	}
	for _, key := range []string{"n", "a", "b", "c", "f", "q"} {
		locktest.Eventually(t, "released: "+key, func() bool { return !s.Exists(key) })
	}
	locktest.RequireIdle(t, e)
}

// A tracer can tell holds apart: all calls that concern a hold have what Lock returned.
func TestTracer_EachCall_SameHold(t *testing.T) {
	t.Parallel()
	for _, find := range []bool{false, true} {
		tracer := &recordingTracer{}
		var holds []*lockwheel.Hold
		tracer.onEnd = func(hold *lockwheel.Hold) { holds = append(holds, hold) }
		e := locktest.AnyServer(t).Open(lockwheel.Options{Tracer: tracer, FindLeaks: find})
		one := locktest.Lock(t, e.Mutex("n"))
		several, err := e.Multi(e.Mutex("a"), e.Mutex("b")).Lock(t.Context())
		require.NoError(t, err)
		for _, hold := range []*lockwheel.Hold{one, several} {
			holds = nil
			require.NoError(t, hold.Extend(t.Context(), time.Minute))
			locktest.Unlock(t, hold)
			require.Len(t, holds, 2)
			require.Same(t, hold, holds[0])
			require.Same(t, hold, holds[1])
		}
	}
}

// A call that is misused is not traced, and does not crash for the tracer.
func TestTracer_Misuse_NotTraced(t *testing.T) {
	t.Parallel()
	tracer := &recordingTracer{}
	e := locktest.AnyServer(t).Open(lockwheel.Options{Tracer: tracer})
	var none context.Context
	_, err := e.Mutex("n").Lock(none)
	require.Error(t, err)
	_, err = lockwheel.Mutex{}.Lock(t.Context())
	require.Error(t, err)
	_, err = lockwheel.Multi{}.Lock(t.Context())
	require.Error(t, err)
	require.ErrorIs(t, new(lockwheel.Hold).Unlock(t.Context()), lockwheel.ErrNotHeld)
	require.ErrorIs(t, new(lockwheel.Hold).Extend(t.Context(), 0), lockwheel.ErrNotHeld)
	require.Empty(t, tracer.take())
}

// handedTracer records which locks were handed off.
type handedTracer struct{ ends chan lockwheel.TracedCall }

func (h handedTracer) CallStart(ctx context.Context, _ lockwheel.TracedCall) context.Context {
	return ctx
}

func (h handedTracer) CallEnd(_ context.Context, call lockwheel.TracedCall, _ *lockwheel.Hold, _ error) {
	if call.Op == "lock" {
		h.ends <- call
	}
}

// A lock that came from another caller of the engine is told apart from one that was acquired, and from a re-entry.
func TestTracer_HandedOff_Told(t *testing.T) {
	t.Parallel()
	tracer := handedTracer{make(chan lockwheel.TracedCall, 8)}
	e := locktest.AnyServer(t).Open(lockwheel.Options{Tracer: tracer})
	first := locktest.Lock(t, e.Mutex("n"))
	require.False(t, locktest.Receive(t, tracer.ends).HandedOff)
	inner := locktest.LockWith(t, first.Context(), e.Mutex("n"))
	require.False(t, locktest.Receive(t, tracer.ends).HandedOff)
	second := locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.Queued(t, e, 1)
	locktest.Unlock(t, inner)
	locktest.Unlock(t, first)
	hold := locktest.Granted(t, second)
	require.True(t, locktest.Receive(t, tracer.ends).HandedOff)
	locktest.Unlock(t, hold)
	require.EqualValues(t, 1, e.Stats().HandedOff)
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
	require.False(t, locktest.Receive(t, tracer.ends).HandedOff)
}

// endedTracer passes on each call that ended.
type endedTracer struct{ ends chan lockwheel.TracedCall }

func (e endedTracer) CallStart(ctx context.Context, call lockwheel.TracedCall) context.Context {
	return ctx
}

func (e endedTracer) CallEnd(_ context.Context, call lockwheel.TracedCall, _ *lockwheel.Hold, _ error) {
	e.ends <- call
}

// The time of a lock is that of its wait. Each other call has a time, too.
func TestTracer_Took_TimeOfCall(t *testing.T) {
	t.Parallel()
	tracer := endedTracer{make(chan lockwheel.TracedCall, 8)}
	s := locktest.AnyServer(t)
	e, other := s.Open(lockwheel.Options{Tracer: tracer}), s.Open(lockwheel.Options{})
	first := locktest.Lock(t, other.Mutex("n"))
	began := time.Now()
	second := locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.Queued(t, e, 1)
	waits := time.Now()
	locktest.Pause(t.Context(), 50*time.Millisecond)
	atLeast := time.Since(waits)
	locktest.Unlock(t, first)
	hold := locktest.Granted(t, second)
	took := locktest.Receive(t, tracer.ends).Took
	require.GreaterOrEqual(t, took, atLeast)
	require.LessOrEqual(t, took, time.Since(began))
	for _, call := range []func() error{
		func() error { return hold.Extend(t.Context(), time.Minute) },
		func() error { return hold.Unlock(t.Context()) },
		func() error { _, err := e.Mutex("n").ForceUnlock(t.Context()); return err },
	} {
		began := time.Now()
		require.NoError(t, call())
		took := locktest.Receive(t, tracer.ends).Took
		require.Positive(t, took)
		require.LessOrEqual(t, took, time.Since(began))
	}
}
