package api_test

import (
	"context"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// exiting is a context that ends the goroutine that asks for its cause.
type exiting struct {
	context.Context
	done chan struct{}
}

func (c *exiting) Done() <-chan struct{} { return c.done }

func (c *exiting) Value(any) any { return nil }

func (c *exiting) Err() error {
	select {
	case <-c.done:
		runtime.Goexit()
	default:
	}
	return nil
}

// A context that ends its goroutine leaves no lock behind, whichever call uses it.
func TestGoexitContext_Lock_LeavesNothing(t *testing.T) {
	t.Parallel()
	for what, ask := range map[string]func(e *lockwheel.Engine, ctx context.Context){
		"Lock":                func(e *lockwheel.Engine, ctx context.Context) { e.Mutex("n").Lock(ctx) },
		"LockAsync":           func(e *lockwheel.Engine, ctx context.Context) { e.Mutex("n").LockAsync(ctx) },
		"a Multi":             func(e *lockwheel.Engine, ctx context.Context) { e.Multi(e.Mutex("m"), e.Mutex("n")).Lock(ctx) },
		"a Multi, one by one": func(e *lockwheel.Engine, ctx context.Context) { e.Multi(e.FairMutex("m"), e.Mutex("n")).Lock(ctx) },
		"a quorum":            func(e *lockwheel.Engine, ctx context.Context) { lockwheel.Quorum(e.Mutex("n")).Lock(ctx) },
		"LockAsync beside LockAsync": func(e *lockwheel.Engine, ctx context.Context) {
			e.Mutex("n").LockAsync(ctx)
			e.Mutex("o").LockAsync(ctx)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := locktest.AnyServer(t)
			e := s.Open(lockwheel.Options{Lease: 2 * locktest.ShortLease})
			hold := locktest.Lock(t, e.Mutex("n"))
			ctx := &exiting{context.Background(), make(chan struct{})}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				ask(e, ctx)
				if what == "LockAsync" || what == "LockAsync beside LockAsync" {
					<-ctx.done
				}
			}()
			locktest.Eventually(t, "the call", func() bool { return e.Stats().Waiting >= 1 })
			close(ctx.done)
			locktest.Receive(t, ended)
			locktest.Unlock(t, hold)
			locktest.Eventually(t, "all to be free", func() bool { return s.Do("DBSIZE") == int64(0) })
			locktest.RequireIdle(t, e)
		})
	}
}

// manyErrors cannot be compared.
type manyErrors []error

func (m manyErrors) Error() string { return "many" }

func (m manyErrors) Unwrap() []error { return m }

// Unlock accepts a context with a cause that cannot be compared.
func TestUnlock_IncomparableCause_NoPanic(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	other := locktest.Lock(t, e.Mutex("other"))
	locktest.Unlock(t, other)
	for what, m := range map[string]interface {
		Lock(context.Context, ...lockwheel.Option) (*lockwheel.Hold, error)
	}{"one": e.Mutex("n"), "several": e.Multi(e.Mutex("m"), e.Mutex("n"))} {
		ctx, cancel := context.WithCancelCause(t.Context())
		hold, err := m.Lock(ctx)
		require.NoError(t, err, what)
		inner := hold.Context()
		cancel(manyErrors{other.Err()})
		if err := hold.Unlock(inner); err != nil { // the context has ended: the release is sent nevertheless
			require.ErrorIs(t, err, lockwheel.ErrNotHeld, what)
		}
		locktest.Eventually(t, "the release", func() bool { return !s.Exists("n") })
	}
}

// ForceUnlock with the context of another lock's hold ends its wait when that hold is lost by force.
func TestForceUnlock_OtherContextEnds_Ends(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	e := s.OpenAt(p.Addr(), lockwheel.Options{Lease: time.Minute, CallTimeout: 20 * time.Second})
	of := locktest.Lock(t, e.Mutex("a")).Context()
	p.Set(proxy.Both, proxy.Hold)
	forced := make(chan error, 1)
	go func() {
		_, err := e.Mutex("b").ForceUnlock(of)
		forced <- err
	}()
	locktest.Eventually(t, "the force under way", func() bool { return e.Stats().InFlight == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go e.Mutex("a").ForceUnlock(ctx)
	require.ErrorIs(t, locktest.Receive(t, forced), lockwheel.ErrUnavailable)
	require.NoError(t, p.Heal())
}

// If the context belongs to another hold, its end ends the wait, even if that hold was unlocked.
func TestUnlock_OtherContextEnds_Ends(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	e := s.OpenAt(p.Addr(), lockwheel.Options{Lease: time.Minute, CallTimeout: 20 * time.Second})
	a, b := locktest.Lock(t, e.Mutex("a")), locktest.Lock(t, e.Mutex("b"))
	of := a.Context()
	b.Context()
	p.Set(proxy.Both, proxy.Hold)
	ofB := locktest.Unlocking(of, b)
	locktest.Eventually(t, "the release under way", func() bool { return e.Stats().InFlight == 1 })
	ofA := locktest.Unlocking(t.Context(), a)
	require.ErrorIs(t, locktest.Receive(t, ofB), lockwheel.ErrUnavailable)
	require.NoError(t, p.Heal())
	require.NoError(t, locktest.Receive(t, ofA))
}

// A copy of an ended hold has the state of the next owner's hold, which received the lock without a release.
func TestHoldCopy_Ended_NextHolderKeepsLock(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	hold := locktest.Lock(t, e.Mutex("n"))
	copied := new(lockwheel.Hold)
	reflect.ValueOf(copied).Elem().Set(reflect.ValueOf(hold).Elem()) // go vet would find a plain copy; no renewal is under way yet
	next := locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.Queued(t, e, 1)
	locktest.Unlock(t, hold)
	other := locktest.Granted(t, next)
	require.ErrorIs(t, copied.Unlock(t.Context()), lockwheel.ErrNotHeld)
	require.Error(t, copied.Extend(t.Context(), time.Minute))
	require.NoError(t, other.Err())
	require.True(t, s.Exists("n"))
	locktest.Unlock(t, other)
}

// A Locker waits while too few replicas reply.
func TestLocker_TooFewReplicas_Waits(t *testing.T) {
	t.Parallel()
	master, replica := locktest.WithReplica(t)
	e := master.Open(lockwheel.Options{Replicas: lockwheel.Replicas{Min: 1, Timeout: 50 * time.Millisecond}})
	require.NoError(t, replica.Real.Pause())
	l, locked := e.Mutex("n").Locker(), make(chan struct{})
	go func() {
		l.Lock()
		close(locked)
	}()
	locktest.Eventually(t, "a refusal", func() bool { return e.Stats().Failed >= 2 })
	require.NoError(t, replica.Real.Continue())
	locktest.Receive(t, locked)
	l.Unlock()
}
