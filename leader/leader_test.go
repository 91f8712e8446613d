package leader_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/leader"
	"github.com/lockwheel/lockwheel/lockwheeltest"
)

var errTest = errors.New("a reason of the test's own")

// untilEnd is work that goes on until its context ends.
func untilEnd(ctx context.Context, _ *lockwheel.Hold) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// run starts leader.Run and returns a channel with its error.
func run(ctx context.Context, lock leader.Lock, work func(context.Context, *lockwheel.Hold) error, opts leader.Options) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- leader.Run(ctx, lock, work, opts) }()
	return ended
}

// stop ends a call of run and requires that it says why.
func stop(t *testing.T, cancel context.CancelCauseFunc, ended <-chan error) {
	t.Helper()
	cancel(errTest)
	require.ErrorIs(t, <-ended, errTest)
}

// The leader's context ends: it unlocks, and the other process leads at once, long before the lease would have ended.
func TestRun_ContextEnds_SuccessorLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lockwheeltest.New(t)
		first, endFirst := context.WithCancelCause(t.Context())
		var events []string
		firstEnded := run(first, s.Engine().Mutex("n"), untilEnd, leader.Options{
			Gained: func(h *lockwheel.Hold) { require.NoError(t, h.Err()); events = append(events, "first leads") },
			Ended: func(err error) {
				require.ErrorIs(t, err, errTest)
				require.NotErrorIs(t, err, lockwheel.ErrUnavailable, "the release is confirmed although the context has ended")
				events = append(events, "first ended")
			},
		})
		synctest.Wait()
		second, endSecond := context.WithCancelCause(t.Context())
		leads := make(chan time.Time, 1)
		secondEnded := run(second, s.Open(lockwheel.Options{}).Mutex("n"), untilEnd, leader.Options{
			Gained: func(*lockwheel.Hold) { leads <- time.Now() },
		})
		time.Sleep(time.Hour) // in the bubble: costs no time
		require.Empty(t, leads, "two leaders")

		begin := time.Now()
		stop(t, endFirst, firstEnded)
		require.Less(t, (<-leads).Sub(begin), time.Second)
		require.Equal(t, []string{"first leads", "first ended"}, events)
		stop(t, endSecond, secondEnded)
	})
}

// The lock is lost: the context of the work ends, what the work returns does not end Run, and Run leads again.
func TestRun_LockLost_LeadsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lockwheeltest.New(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		gained, lost := make(chan time.Time, 2), make(chan error, 2)
		ended := run(ctx, s.Engine().Mutex("n"), untilEnd, leader.Options{
			Gained: func(*lockwheel.Hold) { gained <- time.Now() },
			Ended:  func(err error) { lost <- err },
			Pause:  3 * time.Second,
		})
		<-gained
		begin := time.Now()
		s.Lose("n")
		require.ErrorIs(t, <-lost, lockwheel.ErrLost)
		require.GreaterOrEqual(t, (<-gained).Sub(begin), 3*time.Second, "others come first")
		stop(t, cancel, ended)
	})
}

// The work returns why its context or its hold ended: Ended is told of it once.
func TestRun_WorkReturnsLoss_ToldOnce(t *testing.T) {
	for name, why := range map[string]func(context.Context, *lockwheel.Hold) error{
		"of its context": func(ctx context.Context, _ *lockwheel.Hold) error { return context.Cause(ctx) },
		"of its hold":    func(_ context.Context, hold *lockwheel.Hold) error { return hold.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := lockwheeltest.New(t)
				ctx, cancel := context.WithCancelCause(t.Context())
				gained, lost := make(chan bool, 2), make(chan error, 2)
				ended := run(ctx, s.Engine().Mutex("n"), func(ctx context.Context, hold *lockwheel.Hold) error {
					<-ctx.Done()
					return fmt.Errorf("stopped: %w", why(ctx, hold))
				}, leader.Options{Gained: func(*lockwheel.Hold) { gained <- true }, Ended: func(err error) { lost <- err }})
				<-gained
				s.Lose("n")
				err := <-lost
				require.ErrorIs(t, err, lockwheel.ErrLost)
				require.Equal(t, 1, strings.Count(err.Error(), "lock lost"), err)
				<-gained
				stop(t, cancel, ended)
			})
		})
	}
}

// The work returns nil: another process that waits leads, and later this one again.
func TestRun_WorkReturnsNil_StepsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lockwheeltest.New(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		gained, down := make(chan bool, 2), make(chan bool)
		ended := run(ctx, s.Engine().Mutex("n"), func(ctx context.Context, _ *lockwheel.Hold) error {
			select {
			case <-down:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}, leader.Options{Gained: func(*lockwheel.Hold) { gained <- true }, Ended: func(err error) {
			if ctx.Err() == nil {
				require.NoError(t, err)
			}
		}})
		<-gained
		begin := time.Now()
		down <- true
		hold, err := s.Engine().Mutex("n").Lock(ctx) // of the same engine, which would hand the lock back without a pause
		require.NoError(t, err)
		require.Empty(t, gained)
		require.NoError(t, hold.Unlock(ctx))
		<-gained
		require.GreaterOrEqual(t, time.Since(begin), time.Second, "the default Pause")
		stop(t, cancel, ended)
	})
}

// The work fails while it leads: Run releases the lock and returns that error.
func TestRun_WorkFails_ReturnsItsError(t *testing.T) {
	s := lockwheeltest.New(t)
	err := leader.Run(t.Context(), s.Engine().Mutex("n"), func(context.Context, *lockwheel.Hold) error { return errTest }, leader.Options{})
	require.ErrorIs(t, err, errTest)
	require.False(t, s.Held("n"))
}

// Work that cannot finish when ctx ends says so: Run returns both errors.
func TestRun_WorkFailsAtTheEnd_BothErrors(t *testing.T) {
	s := lockwheeltest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := leader.Run(ctx, s.Engine().Mutex("n"), func(ctx context.Context, _ *lockwheel.Hold) error {
		cancel()
		<-ctx.Done()
		return errTest
	}, leader.Options{})
	require.ErrorIs(t, err, errTest)
	require.ErrorIs(t, err, context.Canceled)
}

// The work panics: the lock is released on the way out.
func TestRun_WorkPanics_Unlocks(t *testing.T) {
	s := lockwheeltest.New(t)
	require.PanicsWithError(t, errTest.Error(), func() {
		_ = leader.Run(t.Context(), s.Engine().Mutex("n"), func(context.Context, *lockwheel.Hold) error { panic(errTest) }, leader.Options{})
	})
	require.False(t, s.Held("n"))
}

// Two calls with a context of one owner would both re-enter the lock. Run does not take the owner into account.
func TestRun_OneOwnerTwice_OneLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lockwheeltest.New(t)
		ctx, cancel := context.WithCancelCause(lockwheel.WithOwner(t.Context()))
		gained := make(chan bool, 2)
		opts := leader.Options{Gained: func(*lockwheel.Hold) { gained <- true }}
		one := run(ctx, s.Engine().Mutex("n"), untilEnd, opts)
		two := run(ctx, s.Engine().Mutex("n"), untilEnd, opts)
		time.Sleep(time.Minute)
		require.Len(t, gained, 1)
		stop(t, cancel, one)
		stop(t, cancel, two)
	})
}

// A failure that can pass is tried again: after a Pause, after twice as long, and so on up to eight.
func TestRun_TooManyWaiters_TriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lockwheeltest.New(t, lockwheeltest.WithOptions(lockwheel.Options{MaxWaitingPerLock: 1}))
		release := s.HoldElsewhere("n")
		waits, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := s.Engine().Mutex("n").Lock(waits)
			left <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		var pauses []time.Duration
		tries, gained := make(chan bool), make(chan bool, 1)
		ended := run(ctx, s.Engine().Mutex("n"), untilEnd, leader.Options{
			Gained: func(*lockwheel.Hold) { gained <- true },
			Failed: func(err error, next time.Duration) {
				require.ErrorIs(t, err, lockwheel.ErrTooManyWaiters)
				pauses = append(pauses, next)
				tries <- true
			},
			Pause: time.Second,
		})
		begin := time.Now()
		for range 6 {
			<-tries
		}
		require.Equal(t, []time.Duration{1e9, 2e9, 4e9, 8e9, 8e9, 8e9}, pauses)
		require.GreaterOrEqual(t, time.Since(begin), 23*time.Second)
		leave()
		require.Error(t, <-left)
		release()
		<-gained
		stop(t, cancel, ended)
	})
}

// Each failure that can pass is tried again.
func TestRun_AnyPassingFailure_TriesAgain(t *testing.T) {
	for _, passing := range []error{
		lockwheel.ErrNotAcquired, lockwheel.ErrUnavailable, lockwheel.ErrNotReplicated, lockwheel.ErrTooManyWaiters, lockwheel.ErrLost,
	} {
		synctest.Test(t, func(t *testing.T) {
			lock := fullLock{lockwheeltest.New(t).Engine().Mutex("n"), make(chan error, 1)}
			lock.full <- fmt.Errorf("lockwheel: lock n: %w", passing)
			ctx, cancel := context.WithCancelCause(t.Context())
			gained, failures := make(chan bool, 1), 0
			ended := run(ctx, lock, untilEnd, leader.Options{
				Gained: func(*lockwheel.Hold) { gained <- true },
				Failed: func(err error, _ time.Duration) {
					require.ErrorIs(t, err, passing)
					failures++
				},
			})
			select {
			case <-gained:
			case err := <-ended:
				require.NoError(t, err, passing)
			}
			require.Equal(t, 1, failures)
			stop(t, cancel, ended)
		})
	}
}

// fullLock is a lock with requests that end with an error first: one for each value of full.
type fullLock struct {
	lockwheel.Mutex
	full chan error
}

func (l fullLock) Lock(ctx context.Context, opts ...lockwheel.Option) (*lockwheel.Hold, error) {
	select {
	case err := <-l.full:
		return nil, err
	default:
		return l.Mutex.Lock(ctx, opts...)
	}
}

// The pauses after failures begin anew after a leadership: the failures before it say nothing about the next.
func TestRun_FailsAgainAfterLeading_PausesBeginAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lockwheeltest.New(t)
		lock := fullLock{s.Engine().Mutex("n"), make(chan error, 3)}
		fail := func() {
			for range cap(lock.full) {
				lock.full <- lockwheel.ErrTooManyWaiters
			}
		}
		fail()
		var pauses []time.Duration
		terms := 0
		err := leader.Run(t.Context(), lock, func(context.Context, *lockwheel.Hold) error {
			if terms++; terms == 2 {
				return errTest
			}
			fail()
			return nil
		}, leader.Options{Failed: func(_ error, next time.Duration) { pauses = append(pauses, next) }})
		require.ErrorIs(t, err, errTest)
		require.Equal(t, []time.Duration{1e9, 2e9, 4e9, 1e9, 2e9, 4e9}, pauses)
	})
}

// An error that no later try changes ends Run: here the name is in use as another kind of lock.
func TestRun_OtherKind_ReturnsError(t *testing.T) {
	s := lockwheeltest.New(t)
	hold, err := s.Engine().FencedMutex("n").Lock(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, leader.Run(t.Context(), s.Engine().Mutex("n"), untilEnd, leader.Options{}), lockwheel.ErrKindMismatch)
	require.NoError(t, hold.Unlock(t.Context()))
}

// The engine is closed under a leader: its work ends without an error, and Run says why without a pause.
func TestRun_EngineClosed_ReturnsErrClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lockwheeltest.New(t, lockwheeltest.AllowLeftovers())
		gained := make(chan bool, 1)
		ended := run(t.Context(), s.Engine().Mutex("n"), func(ctx context.Context, _ *lockwheel.Hold) error {
			<-ctx.Done()
			return nil
		}, leader.Options{Gained: func(*lockwheel.Hold) { gained <- true }})
		<-gained
		begin := time.Now()
		require.NoError(t, s.Engine().Close())
		require.ErrorIs(t, <-ended, lockwheel.ErrClosed)
		require.Less(t, time.Since(begin), time.Second)
	})
}

// The engine is closed under a leader with an error of its own: neither error is lost. If the context ended as well,
// that is why Run ends.
func TestRun_EngineClosed_WorksErrorKept(t *testing.T) {
	full := errors.New("disk full")
	for _, cancels := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := lockwheeltest.New(t, lockwheeltest.AllowLeftovers())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := leader.Run(ctx, s.Engine().Mutex("n"), func(context.Context, *lockwheel.Hold) error {
				if cancels {
					cancel()
				}
				require.NoError(t, s.Engine().Close())
				return full
			}, leader.Options{})
			require.ErrorIs(t, err, full)
			if cancels {
				require.ErrorIs(t, err, context.Canceled)
				require.NotErrorIs(t, err, lockwheel.ErrClosed)
			} else {
				require.ErrorIs(t, err, lockwheel.ErrClosed)
			}
		})
	}
}

// A shutdown during the pause after a leadership does not wait for its end.
func TestRun_ContextEndsInPause_Returns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lockwheeltest.New(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		down := make(chan bool, 1)
		ended := run(ctx, s.Engine().Mutex("n"), func(context.Context, *lockwheel.Hold) error { return nil }, leader.Options{
			Ended: func(error) { down <- true },
			Pause: time.Hour,
		})
		<-down
		synctest.Wait()
		begin := time.Now()
		stop(t, cancel, ended)
		require.Less(t, time.Since(begin), time.Minute)
	})
}

// A candidate that is shut down while another process leads has not failed to request the lock.
func TestRun_ContextEndsWhileWaiting_IsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lockwheeltest.New(t)
		release := s.HoldElsewhere("n")
		defer release()
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := run(ctx, s.Engine().Mutex("n"), untilEnd, leader.Options{
			Gained: func(*lockwheel.Hold) { t.Error("it leads beside the leader") },
			Failed: func(err error, _ time.Duration) { t.Errorf("a failure: %v", err) },
		})
		time.Sleep(time.Minute)
		begin := time.Now()
		stop(t, cancel, ended)
		require.Zero(t, time.Since(begin))
	})
}

func TestRun_NegativePause_IsAnError(t *testing.T) {
	s := lockwheeltest.New(t)
	err := leader.Run(t.Context(), s.Engine().Mutex("n"), untilEnd, leader.Options{Pause: -1})
	require.EqualError(t, err, `leader: "n": Options.Pause is negative: -1ns`)
}

func TestRun_NilContext_IsAnError(t *testing.T) {
	var none context.Context
	err := leader.Run(none, lockwheeltest.New(t).Engine().Mutex("n"), untilEnd, leader.Options{})
	require.EqualError(t, err, `leader: "n": nil context`)
}
