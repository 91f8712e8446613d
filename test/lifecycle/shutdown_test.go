package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// No second holder is granted the lock while a holder runs during a Shutdown.
func TestShutdown_HolderRuns_NoSecondHolder(t *testing.T) {
	t.Parallel()
	t.Run("waiting for the holder", func(t *testing.T) {
		t.Parallel()
		s := locktest.AnyServer(t)
		here, elsewhere := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
		hold := locktest.Lock(t, here.Mutex("n"))
		local, other := locktest.Locking(t.Context(), here.Mutex("n")), locktest.Locking(t.Context(), elsewhere.Mutex("n"))
		locktest.Queued(t, here, 1)
		locktest.RequireWaiting(t, elsewhere, 1, 1)
		done := make(chan error, 1)
		go func() { done <- here.Shutdown(t.Context()) }()
		require.ErrorIs(t, locktest.Receive(t, local).Err, lockwheel.ErrClosed)
		locktest.RequireNoReply(t, done, 100*time.Millisecond)
		locktest.RequireNoReply(t, other, 0)
		require.NoError(t, hold.Err())
		require.NoError(t, hold.Context().Err())
		locktest.Unlock(t, hold)
		locktest.Unlock(t, locktest.Granted(t, other))
		require.NoError(t, locktest.Receive(t, done))
	})
	t.Run("not waiting any longer", func(t *testing.T) {
		t.Parallel()
		s := locktest.AnyServer(t)
		here, elsewhere := s.Open(locktest.SteadyOptions), s.Open(lockwheel.Options{})
		hold := locktest.Lock(t, here.Mutex("n"))
		other := locktest.Locking(t.Context(), elsewhere.Mutex("n"))
		locktest.RequireWaiting(t, elsewhere, 1, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, here.Shutdown(ctx), context.DeadlineExceeded)
		closed := time.Now()
		left := s.PTTL("n")
		require.Positive(t, left, "left to its lease")
		require.ErrorIs(t, hold.Err(), lockwheel.ErrClosed)
		// The clock of the embedded server stops while a busy machine does not run it.
		locktest.CheckRange(t, 3*locktest.TestDeadline, "the end of the lease", func() bool { return len(other) > 0 })
		locktest.Unlock(t, locktest.Granted(t, other))
		require.GreaterOrEqual(t, time.Since(closed), left-2*locktest.Skew)
	})
	t.Run("under load", func(t *testing.T) {
		t.Parallel()
		s := locktest.AnyServer(t)
		var r locktest.CriticalSection
		var visits atomic.Int32
		work := func(e *lockwheel.Engine) error {
			for {
				hold, err := e.Mutex("n").Lock(t.Context())
				if errors.Is(err, lockwheel.ErrClosed) {
					return nil
				}
				if err != nil {
					return err
				}
				visits.Add(1)
				r.Enter(locktest.ShortRun)
				if err := hold.Unlock(t.Context()); err != nil {
					return err
				}
			}
		}
		const engines, workers = 5, 4
		locktest.Crowd(t, engines, func(int) error {
			e := s.Open(lockwheel.Options{Lease: time.Minute, CallTimeout: 10 * time.Second})
			before := visits.Load()
			results := make(chan error, workers)
			for range workers {
				go func() { results <- work(e) }()
			}
			for deadline := time.Now().Add(locktest.TestDeadline); visits.Load() < before+10; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					return errors.New("no visit in time")
				}
			}
			err := e.Shutdown(t.Context())
			for range workers {
				err = errors.Join(err, <-results)
			}
			return err
		})
		r.Require(t, int(visits.Load()))
		require.False(t, s.Exists("n"), "nothing left")
	})
}

// A grant in flight when the engine begins to shut down is released before the engine is closed.
func TestShutdown_GrantInFlight_Released(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	e := s.OpenAt(p.Addr(), lockwheel.Options{})
	p.Set(proxy.Replies, proxy.Hold)
	asked := locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.Eventually(t, "taken", func() bool { return s.Exists("n") })
	done := make(chan error, 1)
	go func() { done <- e.Shutdown(t.Context()) }()
	require.ErrorIs(t, locktest.Receive(t, asked).Err, lockwheel.ErrClosed)
	locktest.RequireNoReply(t, done, 50*time.Millisecond)
	p.Set(proxy.Replies, proxy.Pass)
	require.NoError(t, locktest.Receive(t, done))
	require.False(t, s.Exists("n"))
}

// redisson#1090, redisson#6029.
func TestClose_HoldsAndWaits_EndAtOnce(t *testing.T) {
	t.Parallel()
	locktest.OnEachNotify(t, func(t *testing.T) {
		s := locktest.RealServer(t)
		e := s.Open(locktest.SteadyOptions)
		other := s.Open(lockwheel.Options{})
		const n = 100
		holds := locktest.HoldMany(t, e, n)
		s.HoldAsOther("taken", time.Hour)
		var waiting []<-chan locktest.Outcome
		for i := range n {
			waiting = append(waiting,
				locktest.Locking(t.Context(), e.Mutex(fmt.Sprint("h", i))),
				locktest.Locking(t.Context(), e.Mutex("taken"), lockwheel.Wait(time.Hour)))
		}
		pending := e.Mutex("taken").LockAsync(t.Context())
		if locktest.Polls(t) {
			locktest.Queued(t, e, 2*n+1)
			locktest.Eventually(t, "one to poll for all who want what others hold", func() bool { return e.Stats().Polling == 1 })
		} else {
			locktest.RequireWaiting(t, e, 2*n+1, n+1)
		}
		require.NotZero(t, e.Stats().Timers)

		require.NoError(t, e.Close())
		calls := s.Scripts()
		left := s.PTTL("h0")
		for _, done := range waiting {
			require.ErrorIs(t, locktest.Receive(t, done).Err, lockwheel.ErrClosed)
		}
		locktest.Receive(t, pending.Done())
		_, err := pending.Hold()
		require.ErrorIs(t, err, lockwheel.ErrClosed)
		for _, hold := range holds {
			require.ErrorIs(t, hold.Err(), lockwheel.ErrClosed)
			require.ErrorIs(t, context.Cause(hold.Context()), lockwheel.ErrClosed)
			locktest.Receive(t, hold.Done())
		}
		locktest.Eventually(t, "no channel", func() bool { return len(s.Channels()) == 0 })
		require.Zero(t, s.Subscribers())
		require.Positive(t, left, "its keys are left to their leases")
		locktest.Eventually(t, "nothing renewed", func() bool { return s.Do("DBSIZE") == int64(1) })
		require.Equal(t, calls, s.Scripts(), "no command after Close")
		require.NoError(t, other.Close())
		locktest.Eventually(t, "no connection", func() bool { return len(s.Engines()) == 0 })
	})
}

// Close and Shutdown can be called again, in any order and concurrently.
func TestClose_CalledAgain_NoError(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	for _, ways := range [][]func(*lockwheel.Engine) error{
		{shut, shut}, {(*lockwheel.Engine).Close, (*lockwheel.Engine).Close},
		{shut, (*lockwheel.Engine).Close}, {(*lockwheel.Engine).Close, shut},
	} {
		e := s.Open(lockwheel.Options{})
		for _, way := range ways {
			require.NoError(t, way(e))
		}
	}
	// All calls at once, while a lock is held. A Shutdown is interrupted, or is called when the engine is closed.
	e := s.Open(lockwheel.Options{})
	hold := locktest.Lock(t, e.Mutex("n"))
	locktest.Crowd(t, 16, func(i int) error {
		if i%2 == 0 {
			return e.Close()
		}
		if err := shut(e); !errors.Is(err, lockwheel.ErrClosed) {
			return err
		}
		return nil
	})
	require.ErrorIs(t, hold.Err(), lockwheel.ErrClosed)
}

func shut(e *lockwheel.Engine) error { return e.Shutdown(context.Background()) }

// Each call after Close returns ErrClosed.
func TestClose_LaterCalls_ErrClosed(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	m := e.Mutex("n")
	hold := locktest.Lock(t, m)
	require.NoError(t, e.Close())
	ctx := t.Context()
	for what, err := range map[string]error{
		"Unlock":      hold.Unlock(ctx),
		"Extend":      hold.Extend(ctx, time.Minute),
		"Err":         hold.Err(),
		"Lock":        locktest.Second(m.Lock(ctx)),
		"TryLock":     locktest.Second(m.TryLock(ctx)),
		"LockAsync":   locktest.Second(m.LockAsync(ctx).Hold()),
		"Do":          m.Do(ctx, func(context.Context) error { panic("run without the lock") }),
		"ForceUnlock": locktest.Second(m.ForceUnlock(ctx)),
		"State":       locktest.Second(m.State(ctx)),
		"IsLocked":    locktest.Second(m.IsLocked(ctx)),
		"TTL":         locktest.Second(m.TTL(ctx)),
		"HoldCount":   locktest.Second(m.HoldCount(ctx)),
	} {
		require.ErrorIs(t, err, lockwheel.ErrClosed, what)
		require.ErrorContains(t, err, `"n"`, what)
	}
	stats := e.Stats()
	require.EqualValues(t, 1, stats.Acquired)
	require.Zero(t, stats.Held)
	require.Equal(t, stats, e.Stats())
	require.True(t, s.Exists("n"), "left to its lease")
}

// Acquires during a shutdown are rejected; calls that end a hold are not.
func TestShutdown_NewLocks_Rejected(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	m := e.Mutex("n")
	outer := locktest.Lock(t, m)
	inner := locktest.LockWith(t, outer.Context(), m)
	done := make(chan error, 1)
	go func() { done <- e.Shutdown(t.Context()) }()
	locktest.Eventually(t, "refused", func() bool {
		hold, err := e.Mutex("other").TryLock(t.Context())
		if err == nil {
			locktest.Unlock(t, hold)
		}
		return errors.Is(err, lockwheel.ErrClosed)
	})
	_, err := m.Lock(outer.Context())
	require.ErrorIs(t, err, lockwheel.ErrClosed, "a re-entry as well")
	locktest.RequireLocked(t, m, true)
	require.NoError(t, outer.Extend(t.Context(), time.Hour))
	locktest.Unlock(t, inner)
	locktest.RequireNoReply(t, done, 50*time.Millisecond)
	locktest.Unlock(t, outer)
	require.NoError(t, locktest.Receive(t, done))
	require.False(t, s.Exists("n"))
	locktest.RequireIdle(t, e)
}

// A client of the caller stays open and usable.
func TestClose_CallersClient_StaysOpen(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	client := s.Client()
	for range 2 {
		e, err := lockwheel.Open(t.Context(), lockwheel.Options{Client: client})
		require.NoError(t, err)
		locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
		require.NoError(t, e.Close())
	}
	require.NoError(t, client.Do(t.Context(), client.B().Ping().Build()).Error())
}

// A shutdown that another one, or Close, interrupts returns an error: nil means that every hold was unlocked.
func TestShutdown_Interrupted_CountsHolds(t *testing.T) {
	t.Parallel()
	for how, cut := range map[string]func(context.Context, *lockwheel.Engine) error{
		"by Close": func(_ context.Context, e *lockwheel.Engine) error { return e.Close() },
		"by one that ends sooner": func(ctx context.Context, e *lockwheel.Engine) error {
			return shutdownUntil(ctx, e, 50*time.Millisecond)
		},
		"by one that had ended already": func(ctx context.Context, e *lockwheel.Engine) error { return shutdownUntil(ctx, e, 0) },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := locktest.AnyServer(t)
			e := s.Open(lockwheel.Options{})
			locktest.Lock(t, e.Mutex("n"))
			locktest.Lock(t, e.Mutex("m"))
			refusals, done := locktest.Locking(t.Context(), e.Mutex("n")), make(chan error, 1)
			locktest.Queued(t, e, 1)
			go func() { done <- e.Shutdown(t.Context()) }()
			require.ErrorIs(t, locktest.Receive(t, refusals).Err, lockwheel.ErrClosed) // so the shutdown has begun
			if err := cut(t.Context(), e); err != nil {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorContains(t, err, "2 holds not unlocked")
			}
			err := locktest.Receive(t, done)
			require.ErrorIs(t, err, lockwheel.ErrClosed)
			require.ErrorContains(t, err, "2 holds not unlocked")
			require.NoError(t, e.Shutdown(t.Context()), "closed before")
		})
	}
}

func shutdownUntil(ctx context.Context, e *lockwheel.Engine, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	return e.Shutdown(ctx)
}

// A shutdown without anything to wait for succeeds even without any time.
func TestShutdown_NothingHeld_NeedsNoTime(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	for range 20 {
		e := s.Open(lockwheel.Options{})
		locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
		require.NoError(t, shutdownUntil(t.Context(), e, 0))
	}
}

// The error counts one hold in words that fit, and says which it is and what it is for.
func TestShutdown_OneHoldLeft_ErrorSaysSo(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	locktest.LockWith(t, lockwheel.WithLabel(t.Context(), "nightly report"), e.Mutex("n"))
	require.ErrorContains(t, shutdownUntil(t.Context(), e, 0), `(1 hold not unlocked: "n" for "nightly report")`)
}

// Of many holds the error names some.
func TestShutdown_ManyHoldsLeft_SomeAreNamed(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	locktest.HoldMany(t, e, 100)
	require.Regexp(t, `\(100 holds not unlocked: ("h\d+", ){8}…\)`, shutdownUntil(t.Context(), e, 0).Error())
}
