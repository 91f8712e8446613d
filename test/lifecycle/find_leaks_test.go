package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/lockwheeltest"
)

// waysToLock lock a name and return what the caller has then, which is all that keeps the hold from being a leak.
var waysToLock = map[string]func(ctx context.Context, e *lockwheel.Engine, name string) (any, error){
	"plain": func(ctx context.Context, e *lockwheel.Engine, name string) (any, error) {
		return e.Mutex(name).Lock(ctx)
	},
	"try": func(ctx context.Context, e *lockwheel.Engine, name string) (any, error) {
		return e.Mutex(name).TryLock(ctx)
	},
	"fenced": func(ctx context.Context, e *lockwheel.Engine, name string) (any, error) {
		return e.FencedMutex(name).Lock(ctx)
	},
	"fair": func(ctx context.Context, e *lockwheel.Engine, name string) (any, error) {
		return e.FairMutex(name).Lock(ctx)
	},
	"reader": func(ctx context.Context, e *lockwheel.Engine, name string) (any, error) {
		return e.RWMutex(name).RLocker().Lock(ctx)
	},
	"writer": func(ctx context.Context, e *lockwheel.Engine, name string) (any, error) {
		return e.RWMutex(name).Lock(ctx)
	},
	"multi": func(ctx context.Context, e *lockwheel.Engine, name string) (any, error) {
		return e.Multi(e.Mutex(name)).Lock(ctx)
	},
	"several": func(ctx context.Context, e *lockwheel.Engine, name string) (any, error) {
		return e.Multi(e.Mutex(name), e.FencedMutex(name+"-fenced"), e.RWMutex(name+"-read").RLocker()).Lock(ctx)
	},
	"quorum": func(ctx context.Context, e *lockwheel.Engine, name string) (any, error) {
		return lockwheel.Quorum(e.Mutex(name)).Lock(ctx)
	},
	"locker": func(_ context.Context, e *lockwheel.Engine, name string) (any, error) {
		l := e.Mutex(name).Locker()
		l.Lock()
		return l, nil
	},
	"reader's locker": func(_ context.Context, e *lockwheel.Engine, name string) (any, error) {
		l := e.RWMutex(name).RLocker().Locker()
		l.Lock()
		return l, nil
	},
	"taken": func(ctx context.Context, e *lockwheel.Engine, name string) (any, error) {
		p := e.Mutex(name).LockAsync(ctx)
		<-p.Done()
		_, err := p.Hold()
		return p, err
	},
	"pending": func(ctx context.Context, e *lockwheel.Engine, name string) (any, error) {
		p := e.Mutex(name).LockAsync(ctx)
		<-p.Done()
		return p, nil
	},
}

// waysToKeep turn a hold into something else that its caller keeps.
var waysToKeep = map[string]func(hold *lockwheel.Hold) any{
	"hold":      func(hold *lockwheel.Hold) any { return hold },
	"context":   func(hold *lockwheel.Hold) any { return hold.Context() },
	"both":      func(hold *lockwheel.Hold) any { hold.Context(); return hold },
	"value":     func(hold *lockwheel.Hold) any { return lockwheel.WithLabel(hold.Context(), "child") },
	"without":   func(hold *lockwheel.Hold) any { return lockwheel.WithoutOwner(hold.Context()) },
	"uncancel":  func(hold *lockwheel.Hold) any { return context.WithoutCancel(hold.Context()) },
	"unlocking": func(hold *lockwheel.Hold) any { return hold.Unlock },
	"function":  func(hold *lockwheel.Hold) any { return func() error { return hold.Unlock(context.Background()) } },
	"channel": func(hold *lockwheel.Hold) any {
		c := make(chan *lockwheel.Hold, 1)
		c <- hold
		return c
	},
	"grandchild": func(hold *lockwheel.Hold) any {
		return lockwheel.WithLabel(lockwheel.WithOwner(context.WithoutCancel(hold.Context())), "grandchild")
	},
	"cause": func(hold *lockwheel.Hold) any {
		ctx, cancel := context.WithCancelCause(hold.Context())
		cancel(nil)
		return ctx
	},
	"child": func(hold *lockwheel.Hold) any {
		ctx, cancel := context.WithCancel(hold.Context())
		return []any{ctx, cancel}
	},
	"canceled": func(hold *lockwheel.Hold) any {
		ctx, cancel := context.WithTimeout(hold.Context(), time.Hour)
		cancel()
		return ctx
	},
}

// findsLeaks are the options of an engine that looks for leaks, and of which a lease also ends.
var findsLeaks = func() lockwheel.Options {
	opts := locktest.SteadyOptions
	opts.FindLeaks = true
	return opts
}()

// A hold is never taken for a leak while its caller has the hold, its context or anything made of these. The test has
// random nests of every kind of lock.
func TestFindLeaks_Reachable_NeverReported(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	opts := locktest.ShortLeaseOptions
	opts.FindLeaks, opts.CallTimeout = true, 10*time.Second
	e := s.Open(opts)
	var kept []any
	var names []string
	n := 0
	for _, lock := range waysToLock {
		for _, keep := range waysToKeep {
			name := fmt.Sprintf("n%d", n)
			n++
			names = append(names, name)
			got, err := lock(t.Context(), e, name)
			require.NoError(t, err)
			hold, is := got.(*lockwheel.Hold)
			if !is {
				kept = append(kept, got)
				continue
			}
			if rand.N(2) == 0 { // its owner locks another one, of which alone something is kept
				inner := name + "-inner"
				hold, err = e.Mutex(inner).Lock(hold.Context())
				require.NoError(t, err)
				names = append(names, inner)
			}
			if rand.N(2) == 0 { // re-entry: each hold is one of its own
				again, err := e.Mutex(hold.Name()).TryLock(hold.Context())
				if err == nil {
					kept = append(kept, again)
				}
			}
			kept = append(kept, keep(hold))
		}
	}
	runtime.GC()
	for until := time.Now().Add(2 * locktest.ShortLease); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		runtime.GC()
	}
	require.Zero(t, e.Stats().Leaked)
	require.Zero(t, e.Stats().Lost)
	for _, name := range names {
		assert.True(t, s.Exists(name), name)
	}
	runtime.KeepAlive(kept)
}

// A hold that no caller can reach is found by two garbage collections, reported, and ends with its lease. Another
// engine gets the lock.
func TestFindLeaks_Unreachable_EndsWithLease(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	var log locktest.LogBuffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	e := s.Open(lockwheel.Options{Lease: locktest.ShortLease, FindLeaks: true, CallSites: true, Logger: logger})
	other := s.Open(lockwheel.Options{Lease: locktest.ShortLease})
	// Of engines with a lease that a busy machine does not outlast: what is lost before it is found is no leak.
	longer := locktest.ShortLeaseOptions
	longer.FindLeaks = true
	keeper, counter := s.Open(longer), s.Open(longer)
	kept := locktest.Lock(t, keeper.Mutex("kept"))
	ctx := lockwheel.WithLabel(context.Background(), "forgetful")
	for prefix, e := range map[string]*lockwheel.Engine{"": e, "counted/": counter} {
		for kind, lock := range waysToLock {
			_, err := lock(ctx, e, prefix+kind)
			require.NoError(t, err)
		}
		for kept, keep := range waysToKeep {
			if kept == "child" {
				continue // is found when the child context is canceled
			}
			hold, err := e.Mutex(prefix + kept).Lock(ctx)
			require.NoError(t, err)
			keep(hold)
		}
	}
	leaked := uint64(len(waysToLock) + 2 + len(waysToKeep) - 1) // several locks held as one count each
	runtime.GC()
	runtime.GC()
	locktest.Eventually(t, "found", func() bool { return counter.Stats().Leaked == leaked })
	for name := range waysToLock {
		locktest.Unlock(t, locktest.Granted(t, locktest.Locking(t.Context(), other.Mutex(name))))
	}
	require.Contains(t, log.String(), "a hold was not unlocked and cannot be reached")
	require.Contains(t, log.String(), "label=forgetful")
	require.Contains(t, log.String(), "find_leaks_test.go:")
	locktest.Eventually(t, "ended", func() bool { return e.Stats().Held == 0 })
	// Of two locks held as one, one is lost, and the other may be released because of that.
	require.GreaterOrEqual(t, e.Stats().Lost, leaked-2)
	require.LessOrEqual(t, e.Stats().Lost, leaked)
	require.NoError(t, kept.Err())
	require.Equal(t, leaked, counter.Stats().Leaked)
	require.Zero(t, keeper.Stats().Leaked)
	locktest.Unlock(t, kept)
}

// A leaked hold is not renewed once it was found, but for a renewal that is under way. So it ends within a lease and
// another engine gets the lock.
func TestFindLeaks_Found_NotRenewed(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(findsLeaks)
	hold, err := e.Mutex("n").Lock(t.Context())
	require.NoError(t, err)
	next := locktest.Locking(t.Context(), s.Open(lockwheel.Options{}).Mutex("n"))
	locktest.Eventually(t, "renewed while it is not known to leak", func() bool { return e.Stats().Renewed > 0 })
	runtime.KeepAlive(hold)
	runtime.GC()
	runtime.GC()
	locktest.Eventually(t, "found", func() bool { return e.Stats().Leaked == 1 })
	renewed := e.Stats().Renewed
	locktest.Unlock(t, locktest.ReceiveWithin(t, locktest.LongDeadline, next).Hold)
	require.LessOrEqual(t, e.Stats().Renewed, renewed+1)
}

// A hold of a quorum is found if any of its engines looks for leaks, not only the first.
func TestFindLeaks_LastEngineOfQuorum_Found(t *testing.T) {
	t.Parallel()
	servers := locktest.NewServerSet(t, 3)
	engines := servers.Client(lockwheel.Options{})
	engines[2] = servers[2].Open(lockwheel.Options{FindLeaks: true})
	hold, err := locktest.Quorum(engines, "n").Lock(t.Context())
	require.NoError(t, err)
	locktest.Eventually(t, "the slowest", func() bool { return engines[2].Stats().Held == 1 })
	require.NoError(t, hold.Err())
	locktest.Eventually(t, "found", func() bool { runtime.GC(); return engines[2].Stats().Leaked == 1 })
}

// The members of a leaked quorum are lost one after the other, as their leases end. None is acquired again, and so the
// quorum is lost within a lease, also if a member was missing when the leak was found.
func TestFindLeaks_Quorum_EndsWithLease(t *testing.T) {
	t.Parallel()
	for _, missing := range []bool{false, true} {
		servers := locktest.NewServerSet(t, 3)
		engines := servers.Client(findsLeaks)
		hold, err := locktest.Quorum(engines, "n").Lock(t.Context())
		require.NoError(t, err)
		for _, e := range engines {
			locktest.Eventually(t, "renewed, each at a time of its own", func() bool { return e.Stats().Renewed > 2 })
		}
		if missing {
			servers[0].Do("DEL", "n")
			servers[0].HoldAsOther("n", time.Hour)
			locktest.CheckRange(t, locktest.LongDeadline, "one is lost, and asked for again", func() bool { return engines[0].Stats().Waiting == 1 })
		}
		require.NoError(t, hold.Err())
		locktest.Eventually(t, "found", func() bool { runtime.GC(); return engines[2].Stats().Leaked == 1 })
		for i, e := range engines {
			locktest.CheckRange(t, locktest.LongDeadline, "all end", func() bool { return e.Stats().Held == 0 && e.Stats().Waiting == 0 })
			locktest.RequireIdle(t, e)
			if i > 0 || !missing {
				locktest.CheckRange(t, locktest.LongDeadline, "the key is gone, too", func() bool { return !servers[i].Exists("n") })
			}
		}
	}
}

// Of an owner's holds a leaked one ends, and the one that is still reachable keeps the lock.
func TestFindLeaks_ReentryLeaks_OuterKeepsLock(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(findsLeaks)
	outer := locktest.Lock(t, e.Mutex("n"))
	_, err := e.Mutex("n").Lock(outer.Context())
	require.NoError(t, err)
	runtime.GC()
	runtime.GC()
	locktest.Eventually(t, "found", func() bool { return e.Stats().Leaked == 1 })
	locktest.CheckRange(t, locktest.LongDeadline, "lost", func() bool { return e.Stats().Lost == 1 })
	time.Sleep(locktest.SteadyLease)
	require.NoError(t, outer.Err())
	locktest.RequireCount(t, outer.Context(), e.Mutex("n"), 1)
	locktest.Unlock(t, outer)
}

// Holds that were unlocked in any way are no leaks, and each method works as without FindLeaks.
func TestFindLeaks_Unlocked_NotReported(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{FindLeaks: true, Lease: time.Minute, CallTimeout: 10 * time.Second})
	for range 500 {
		hold := locktest.Lock(t, e.FencedMutex("n"))
		require.NotZero(t, hold.Token())
		require.NotEmpty(t, hold.ID())
		require.NoError(t, hold.Extend(t.Context(), time.Minute))
		require.True(t, hold.Deadline().After(time.Now()))
		inner := locktest.LockWith(t, hold.Context(), e.FencedMutex("n"))
		require.Equal(t, hold.Token(), inner.Token())
		locktest.Unlock(t, inner)
		ctx := hold.Context()
		require.NoError(t, hold.Unlock(ctx))
		require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrNotHeld)
		require.ErrorIs(t, hold.Err(), lockwheel.ErrNotHeld)
		hold = locktest.Lock(t, e.Mutex("m"))
		<-hold.UnlockAsync().Done()
		hold, err := e.Multi(e.Mutex("a"), e.Mutex("b")).Lock(t.Context())
		require.NoError(t, err)
		locktest.Unlock(t, hold)
		require.NoError(t, e.Mutex("n").Do(t.Context(), locktest.Nothing))
	}
	runtime.GC()
	runtime.GC()
	locktest.RequireIdle(t, e)
	require.Zero(t, e.Stats().Leaked)
}

// The garbage collector finds a leak on a goroutine that is in no bubble of testing/synctest. A send on a channel of a
// bubble would end the process.
func TestFindLeaks_InBubble_Reported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := lockwheel.Options{FindLeaks: true}
		e := lockwheeltest.New(t, lockwheeltest.WithOptions(options), lockwheeltest.AllowLeftovers()).Engine()
		_, err := e.Mutex("n").Lock(t.Context())
		require.NoError(t, err)
		synctest.Wait() // the loop sleeps
		locktest.Eventually(t, "found", func() bool { runtime.GC(); return e.Stats().Leaked == 1 })
		time.Sleep(time.Minute) // in the bubble: two leases
		require.EqualValues(t, 1, e.Stats().Lost)
	})
}

// The garbage collector does not wake the loop. An engine that does nothing but hold a lock with a lease of its own
// looks for leaks as often as it renews.
func TestFindLeaks_IdleEngine_Reported(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	log := make(locktest.LogLines, 100)
	e := s.Open(lockwheel.Options{Lease: locktest.ShortLease, FindLeaks: true, Logger: slog.New(slog.NewTextHandler(log, nil))})
	_, err := e.Mutex("n").Lock(t.Context(), lockwheel.Lease(locktest.Longer))
	require.NoError(t, err)
	runtime.GC()
	runtime.GC()
	require.Contains(t, locktest.Receive(t, log), "a hold was not unlocked and cannot be reached")
}
