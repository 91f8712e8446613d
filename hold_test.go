package lockwheel_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// The state that a hold reports, and the end of its context.

func TestAHoldSaysWhatItIs(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.Open(lockwheel.Options{})
	require.NoError(t, uuid.Validate(e.ID()))
	m := e.Mutex("n")
	require.Equal(t, "n", m.Name())
	hold := Lock(t, m)
	require.Equal(t, "n", hold.Name())
	require.True(t, strings.HasPrefix(hold.ID(), e.ID()+":"))
	require.Equal(t, map[string]string{hold.ID(): "1"}, s.Hash("n"))
	require.Zero(t, hold.Token())
	require.NoError(t, hold.Err())
	require.Greater(t, time.Until(hold.Deadline()), 20*time.Second)
	require.LessOrEqual(t, time.Until(hold.Deadline()), 30*time.Second)
	RequireNoReply(t, hold.Done(), 0)
	require.NoError(t, hold.Context().Err())
	Unlock(t, hold)
}

func TestAnUnlockedHoldSaysSo(t *testing.T) {
	t.Parallel()
	m := AnyServer(t).Open(lockwheel.Options{}).Mutex("n")
	for _, asked := range []bool{false, true} { // before the end, for its channel and context
		hold := Lock(t, m)
		var ctx context.Context
		if asked {
			RequireNoReply(t, hold.Done(), 0)
			ctx = hold.Context()
			require.Equal(t, ctx, hold.Context())
		}
		Unlock(t, hold)
		Receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrNotHeld)
		require.NotErrorIs(t, hold.Err(), lockwheel.ErrLost)
		if ctx == nil {
			ctx = hold.Context()
		}
		Receive(t, ctx.Done())
		require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrNotHeld)
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
		require.ErrorIs(t, hold.Extend(t.Context(), time.Minute), lockwheel.ErrNotHeld)
	}
}

// The ways in which a hold can end, and the resulting state of its context, its channel and its error.
func TestTheCauseOfAHoldsContextIsHowItEnded(t *testing.T) {
	t.Parallel()
	reason := errors.New("enough")
	for name, c := range map[string]struct {
		end  func(t *testing.T, s *Server, e *lockwheel.Engine, hold *lockwheel.Hold, cancel context.CancelCauseFunc)
		want error // of the context
		hold error // of the hold; nil: it goes on
	}{
		"unlocked": {func(t *testing.T, _ *Server, _ *lockwheel.Engine, hold *lockwheel.Hold, _ context.CancelCauseFunc) {
			Unlock(t, hold)
		}, lockwheel.ErrNotHeld, lockwheel.ErrNotHeld},
		"forced": {func(t *testing.T, _ *Server, e *lockwheel.Engine, _ *lockwheel.Hold, _ context.CancelCauseFunc) {
			ForceUnlock(t, e.Mutex("n"))
		}, lockwheel.ErrLost, lockwheel.ErrLost},
		"key deleted": {func(t *testing.T, s *Server, _ *lockwheel.Engine, _ *lockwheel.Hold, _ context.CancelCauseFunc) {
			s.Do("DEL", "n")
		}, lockwheel.ErrLost, lockwheel.ErrLost},
		"closed": {func(t *testing.T, _ *Server, e *lockwheel.Engine, _ *lockwheel.Hold, _ context.CancelCauseFunc) {
			require.NoError(t, e.Close())
		}, lockwheel.ErrClosed, lockwheel.ErrClosed},
		"its parent ended": {func(t *testing.T, _ *Server, _ *lockwheel.Engine, _ *lockwheel.Hold, cancel context.CancelCauseFunc) {
			cancel(reason)
		}, reason, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := AnyServer(t)
			e := s.Open(lockwheel.Options{Lease: ShortLease})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			hold := LockWith(t, ctx, e.Mutex("n"))
			held := hold.Context()
			done := hold.Done()
			c.end(t, s, e, hold, cancel)
			Receive(t, held.Done())
			require.ErrorIs(t, context.Cause(held), c.want)
			if c.hold == nil {
				require.NoError(t, hold.Err())
				Unlock(t, hold)
				return
			}
			Receive(t, done)
			require.ErrorIs(t, hold.Err(), c.hold)
			require.ErrorContains(t, context.Cause(held), `"n"`)
		})
	}
}

func TestInnerContextsEndWithTheOuterOnes(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.Open(lockwheel.Options{})
	m := e.Mutex("n")
	outer := Lock(t, m)
	inner := LockWith(t, outer.Context(), m)
	Unlock(t, outer)
	Receive(t, inner.Context().Done())
	require.ErrorIs(t, context.Cause(inner.Context()), lockwheel.ErrNotHeld)
	require.NoError(t, inner.Err(), "the inner hold itself goes on")
	StateFailed(t, s.Open(lockwheel.Options{}).Mutex("n"))
	Eventually(t, "the count of one", func() bool { return s.Hash("n")[inner.ID()] == "1" })
	Unlock(t, inner)
	require.False(t, s.Exists("n"))
}

// All holds of an owner are lost together, and each is notified.
func TestEveryHoldOfALostLockIsTold(t *testing.T) {
	t.Parallel()
	m := AnyServer(t).Open(lockwheel.Options{}).Mutex("n")
	me := lockwheel.WithOwner(t.Context())
	holds := []*lockwheel.Hold{LockWith(t, me, m), LockWith(t, me, m), LockWith(t, me, m)}
	ForceUnlock(t, m)
	for _, hold := range holds {
		Receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	}
}

// a hold belongs to no goroutine.
func TestAHoldCanBeUnlockedByAnotherGoroutine(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.Open(lockwheel.Options{}).Mutex("n")
	holds := make(chan *lockwheel.Hold)
	go func() {
		hold, _ := m.Lock(t.Context())
		holds <- hold
	}()
	hold := Receive(t, holds)
	Crowd(t, 8, func(int) error { // one of them is first
		if err := hold.Unlock(t.Context()); err != nil && !errors.Is(err, lockwheel.ErrNotHeld) {
			return err
		}
		return nil
	})
	require.False(t, s.Exists("n"))
}

// Done stays the same channel when another goroutine asks for the context.
func TestAHoldHasOneDone(t *testing.T) {
	t.Parallel()
	hold := Lock(t, AnyServer(t).Open(lockwheel.Options{}).Mutex("n"))
	done := hold.Done()
	ctx := hold.Context()
	require.Equal(t, done, hold.Done())
	require.Equal(t, ctx, hold.Context())
	Unlock(t, hold)
	Receive(t, done)
}

// Many goroutines may use a hold while it ends.
func TestAHoldCanBeWatchedFromManyGoroutines(t *testing.T) {
	t.Parallel()
	m := AnyServer(t).Open(lockwheel.Options{}).Mutex("n")
	for range 20 {
		hold := Lock(t, m)
		Crowd(t, 9, func(i int) error {
			if i == 0 {
				return hold.Unlock(t.Context())
			}
			ctx := hold.Context()
			<-ctx.Done()
			<-hold.Done()
			if !errors.Is(hold.Err(), lockwheel.ErrNotHeld) {
				return hold.Err()
			}
			if !errors.Is(context.Cause(ctx), lockwheel.ErrNotHeld) {
				return context.Cause(ctx)
			}
			return nil
		})
	}
}
