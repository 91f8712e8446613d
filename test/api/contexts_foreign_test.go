package api_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// foreignContext is a context with custom code, which runs at the beginning of every lookup.
type foreignContext struct {
	context.Context
	done chan struct{} // its own Done; nil: that of Context
	does atomic.Pointer[func()]
}

func (c *foreignContext) Done() <-chan struct{} {
	if c.done != nil {
		return c.done
	}
	return c.Context.Done()
}

func (c *foreignContext) Value(key any) any {
	if f := c.does.Load(); f != nil {
		(*f)()
	}
	return c.Context.Value(key)
}

// foreignContexts returns one context that ends with a context of package context, and one with its own channel.
func foreignContexts(t *testing.T) map[string]*foreignContext {
	return map[string]*foreignContext{
		"wrapped": {Context: t.Context()},
		"its own": {Context: t.Context(), done: make(chan struct{})},
	}
}

// blocking makes all lookups of a context block until the test ends.
func blocking(t *testing.T, c *foreignContext) {
	gate := make(chan struct{})
	t.Cleanup(func() {
		c.does.Store(nil)
		close(gate)
	})
	block := func() { <-gate }
	c.does.Store(&block)
}

// A context that blocks when it is used delays neither other callers nor the end of its own hold.
func TestBlockingContext_HoldEnds_NoDelay(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	for what, end := range map[string]func(t *testing.T, e *lockwheel.Engine, hold *lockwheel.Hold) error{
		"unlocked": func(t *testing.T, e *lockwheel.Engine, hold *lockwheel.Hold) error {
			locktest.Unlock(t, hold)
			return lockwheel.ErrNotHeld
		},
		"lost": func(t *testing.T, e *lockwheel.Engine, hold *lockwheel.Hold) error {
			locktest.ForceUnlock(t, e.Mutex("n"))
			return lockwheel.ErrLost
		},
		"closed": func(t *testing.T, e *lockwheel.Engine, hold *lockwheel.Hold) error {
			return lockwheel.ErrClosed
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			for which, ctx := range foreignContexts(t) {
				e := s.Open(lockwheel.Options{CallTimeout: 2 * time.Second, Prefix: what + which})
				hold := locktest.LockWith(t, ctx, e.Mutex("n"))
				done, inner := hold.Done(), hold.Context()
				other := locktest.Lock(t, e.Mutex("m"))
				blocking(t, ctx)
				cause := end(t, e, hold)
				if cause != lockwheel.ErrClosed {
					locktest.Receive(t, done)
					locktest.Unlock(t, locktest.Lock(t, e.Mutex("n"))) // the loop is not blocked
					locktest.Unlock(t, other)
				}
				closed := startClose(e)
				locktest.Receive(t, closed)
				locktest.Receive(t, done)
				locktest.Receive(t, inner.Done())
				require.ErrorIs(t, context.Cause(inner), cause, which)
				require.ErrorIs(t, hold.Err(), cause)
			}
		})
	}
}

func startClose(e *lockwheel.Engine) <-chan struct{} {
	closed := make(chan struct{})
	go func() {
		_ = e.Close()
		close(closed)
	}()
	return closed
}

// Many contexts that block delay other callers as little as one does.
func TestBlockingContexts_Many_NoDelay(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{CallTimeout: 6 * time.Second})
	const many = 200
	ctx := &foreignContext{Context: t.Context()}
	inner := make([]context.Context, many)
	for i := range inner {
		inner[i] = locktest.LockWith(t, ctx, e.Mutex(checkNumber(i))).Context()
	}
	plain := locktest.Lock(t, e.Mutex("plain")).Context()
	blocking(t, ctx)
	for i := range inner {
		locktest.ForceUnlock(t, e.Mutex(checkNumber(i)))
	}
	locktest.ForceUnlock(t, e.Mutex("plain"))
	for _, c := range append(inner, plain) {
		locktest.Receive(t, c.Done())
		require.ErrorIs(t, context.Cause(c), lockwheel.ErrLost)
	}
	locktest.Receive(t, startClose(e))
}

func checkNumber(i int) string { return string(rune('a'+i%26)) + string(rune('a'+i/26)) }

// A rejected request uses nothing of its context on the loop: a context that blocks does not stop the engine.
func TestBlockingContext_Rejected_LoopRuns(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	s.HoldAsOther("taken", time.Hour)
	for _, ctx := range foreignContexts(t) {
		e := s.Open(lockwheel.Options{CallTimeout: 2 * time.Second})
		p := e.Mutex("taken").LockAsync(ctx, lockwheel.Wait(50*time.Millisecond))
		blocking(t, ctx)
		locktest.Receive(t, p.Done())
		locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
		locktest.Receive(t, startClose(e))
	}
}

// A context that panics when it is used is counted in Stats and stops nothing.
func TestPanickingContext_HoldEnds_Counted(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	s.HoldAsOther("taken", time.Hour)
	e := s.Open(lockwheel.Options{})
	for _, ctx := range foreignContexts(t) {
		before := e.Stats().Panics
		lost, unlocked := locktest.LockWith(t, ctx, e.Mutex("lost")), locktest.LockWith(t, ctx, e.Mutex("unlocked"))
		lost.Context()
		inner := unlocked.Context()
		p := e.Mutex("taken").LockAsync(ctx, lockwheel.Wait(50*time.Millisecond))
		panics := func() { panic("this context is broken") }
		ctx.does.Store(&panics)
		locktest.Unlock(t, unlocked)
		require.ErrorIs(t, context.Cause(inner), lockwheel.ErrNotHeld)
		locktest.ForceUnlock(t, e.Mutex("lost"))
		locktest.Receive(t, lost.Context().Done())
		locktest.Receive(t, p.Done())
		locktest.Eventually(t, "counted, but for the wait, which calls nothing of its context", func() bool { return e.Stats().Panics == before+2 })
		ctx.does.Store(nil)
	}
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
}

// The end of a context cancels a LockAsync even if its cause is not available.
func TestPanickingContext_Ends_WaitCanceled(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	s.HoldAsOther("taken", time.Hour)
	e := s.Open(lockwheel.Options{})
	parent, cancel := context.WithCancel(t.Context())
	ctx := &foreignContext{Context: parent}
	p := e.Mutex("taken").LockAsync(ctx)
	panics := func() { panic("this context is broken") }
	ctx.does.Store(&panics)
	cancel()
	locktest.Receive(t, p.Done())
	locktest.Eventually(t, "counted", func() bool { return e.Stats().Panics > 0 })
	ctx.does.Store(nil)
	_, err := p.Hold()
	require.ErrorIs(t, err, context.Canceled)
}

// A hold's context has ended before the lock is released, and the hold reports that.
func TestHoldContext_EndedBeforeLockIsFree(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	for _, ctx := range foreignContexts(t) {
		for range s.Amount(500, 20) {
			hold := locktest.LockWith(t, ctx, e.Mutex("n"))
			inner, done := hold.Context(), hold.Done()
			next := make(chan error, 1)
			go func() {
				<-inner.Done()
				if hold.Err() == nil {
					next <- errors.New("the hold goes on when its context has ended")
					return
				}
				<-done
				next <- nil
			}()
			freed := make(chan error, 1)
			go func() {
				second, err := other.Mutex("n").Lock(context.Background())
				if err == nil && inner.Err() == nil {
					err = errors.New("the lock was released before the context of its hold ended")
				}
				if second != nil {
					_ = second.Unlock(context.Background())
				}
				freed <- err
			}()
			locktest.Unlock(t, hold)
			require.Error(t, inner.Err())
			require.NoError(t, locktest.Receive(t, next))
			require.NoError(t, locktest.Receive(t, freed))
		}
	}
}

// The later work of a quorum on the loops of its engines does not use the context that it was locked with.
func TestBlockingContext_OfQuorum_EnginesRun(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{CallTimeout: 2 * time.Second, RenewInterval: 100 * time.Millisecond})
	ctx := &foreignContext{Context: t.Context()}
	hold, err := locktest.Quorum(engines, "n").Lock(ctx)
	require.NoError(t, err)
	inner := hold.Context()
	locktest.Eventually(t, "all held", func() bool {
		for _, e := range engines { // also to the engine: a grant in flight would be lost with the force
			if e.Stats().Held != 1 {
				return false
			}
		}
		return p.Holders("n") == 3
	})
	blocking(t, ctx)
	p[0].Do("DEL", "n")
	locktest.Eventually(t, "held again, or lost", func() bool { // lost, if one of the others was granted late and was not confirmed yet
		return inner.Err() != nil || engines[0].Stats().Acquired >= 2 && p.Holders("n") == 3
	})
	locktest.Eventually(t, "the quorum to be lost", func() bool {
		for _, e := range engines {
			_, _ = e.Mutex("n").ForceUnlock(t.Context())
		}
		return inner.Err() != nil
	})
	for _, e := range engines {
		locktest.Unlock(t, locktest.Lock(t, e.Mutex("other")))
	}
}

// An error of a caller can run its code, too. Here it is the cause of a context's end, which becomes part of the call's
// error.
func TestHangingError_ContextEnds_NoDelay(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{CallTimeout: 2 * time.Second})
	s.HoldAsOther("n", time.Hour)
	gate := make(chan struct{})
	t.Cleanup(func() { close(gate) })
	ctx, cancel := context.WithCancelCause(t.Context())
	pending := make([]*lockwheel.Pending, 20)
	for i := range pending {
		pending[i] = e.Mutex("n").LockAsync(ctx)
	}
	cancel(&locktest.Troubled{Gate: gate})
	for _, p := range pending {
		locktest.Receive(t, p.Done())
	}
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("m")))
}

// panickingContext is a context with methods that panic at the nth call. Its own AfterFunc does the same.
type panickingContext struct {
	context.Context
	method string
	calls  atomic.Int64
	nth    int64
	done   chan struct{}
}

func (c *panickingContext) call(method string) {
	if method == c.method && c.calls.Add(1) == c.nth {
		panic("the caller's context: " + method)
	}
}

func (c *panickingContext) Done() <-chan struct{} { c.call("Done"); return c.done }

func (c *panickingContext) Err() error { c.call("Err"); return nil }

func (c *panickingContext) Value(key any) any { c.call("Value"); return c.Context.Value(key) }

// registering is a panickingContext that registers functions itself, as package context permits.
type registering struct{ *panickingContext }

func (c registering) AfterFunc(func()) (stop func() bool) {
	c.call("AfterFunc")
	return func() bool { c.call("stop"); return true }
}

// A call with a context that panics leaves no lock behind. Otherwise the engine would renew a lock without a holder
// for ever.
func TestPanickingContext_Lock_LeavesNothing(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	calls := map[string]func(ctx context.Context, name string) (*lockwheel.Hold, error){
		"Lock":    func(ctx context.Context, name string) (*lockwheel.Hold, error) { return e.Mutex(name).Lock(ctx) },
		"TryLock": func(ctx context.Context, name string) (*lockwheel.Hold, error) { return e.Mutex(name).TryLock(ctx) },
		"RLocker": func(ctx context.Context, name string) (*lockwheel.Hold, error) {
			return e.RWMutex(name).RLocker().Lock(ctx)
		},
		"Do": func(ctx context.Context, name string) (*lockwheel.Hold, error) {
			return nil, e.Mutex(name).Do(ctx, locktest.Nothing)
		},
		"LockAsync": func(ctx context.Context, name string) (*lockwheel.Hold, error) {
			p := e.Mutex(name).LockAsync(ctx)
			locktest.Receive(t, p.Done())
			return p.Hold()
		},
		"Multi": func(ctx context.Context, name string) (*lockwheel.Hold, error) {
			return e.Multi(e.Mutex(name), e.Mutex(name+"'")).Lock(ctx)
		},
		"Multi of kinds": func(ctx context.Context, name string) (*lockwheel.Hold, error) {
			return e.Multi(e.Mutex(name), e.FairMutex(name+"'")).Lock(ctx, lockwheel.Lease(time.Minute))
		},
	}
	panics := 0
	for what, call := range calls {
		for _, method := range []string{"Done", "Err", "Value", "AfterFunc", "stop"} {
			for nth := range int64(6) {
				if method == "Done" && nth > 1 && (what == "Do" || what == "LockAsync") {
					continue // package context calls it on a separate goroutine
				}
				callers := &panickingContext{Context: t.Context(), method: method, nth: nth + 1, done: make(chan struct{})}
				ctx := context.Context(callers)
				if method == "AfterFunc" || method == "stop" {
					ctx = registering{callers}
				}
				func() {
					defer func() {
						if recover() != nil {
							panics++
						}
					}()
					if hold, err := call(ctx, fmt.Sprint(what, method, nth)); err == nil && hold != nil {
						locktest.Unlock(t, hold)
					}
				}()
			}
		}
	}
	require.Greater(t, panics, 30)
	locktest.Eventually(t, "no hold without a user", func() bool { return e.Stats().Held == 0 && e.Stats().Waiting == 0 })
}

// A context that is done without a cause ends a call with an error that has a text.
func TestContextNoCause_Ends_ErrorHasText(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	done := make(chan struct{})
	close(done)
	ctx := &panickingContext{Context: t.Context(), done: done}
	hold := locktest.Lock(t, e.Mutex("held"))
	for what, call := range map[string]func() error{
		"State":       func() error { _, err := e.Mutex("held").State(ctx); return err },
		"TTL":         func() error { _, err := e.Mutex("held").TTL(ctx); return err },
		"HoldCount":   func() error { _, err := e.Mutex("held").HoldCount(ctx); return err },
		"ForceUnlock": func() error { _, err := e.Mutex("free").ForceUnlock(ctx); return err },
		"Extend":      func() error { return hold.Extend(ctx, time.Minute) },
		"TryLock":     func() error { _, err := e.Mutex("held").TryLock(ctx); return err },
	} {
		for range 20 {
			if err := call(); err != nil {
				require.NotEmpty(t, err.Error(), what)
			}
		}
	}
	locktest.Unlock(t, hold)
}

// Unlock sends the release whatever its context does, even if a custom context panics, blocks or ends the goroutine
// when it is used. Otherwise the engine would renew the lock for ever.
func TestUnlock_BrokenContext_ReleaseSent(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	gate := make(chan struct{})
	t.Cleanup(func() { close(gate) })
	for what, f := range map[string]func(){
		"panics": func() { panic("the caller's context") },
		"blocks": func() { <-gate },
		"ends":   runtime.Goexit,
	} {
		for _, asked := range []bool{false, true} {
			hold := locktest.Lock(t, e.Mutex("n"))
			if asked {
				hold.Context()
			}
			go func() {
				defer func() { _ = recover() }()
				_ = hold.Unlock(&misbehaving{t.Context(), f})
			}()
			locktest.Eventually(t, "the release, though its context "+what, func() bool { return !s.Exists("n") })
			require.ErrorIs(t, hold.Err(), lockwheel.ErrNotHeld)
		}
	}
	locktest.RequireIdle(t, e)
}

// misbehaving is a context with a Done that does not return.
type misbehaving struct {
	context.Context
	done func()
}

func (c *misbehaving) Done() <-chan struct{} { c.done(); return nil }
