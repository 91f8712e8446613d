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
	e := s.open(lockwheel.Options{})
	require.NoError(t, uuid.Validate(e.ID()))
	m := e.Mutex("n")
	require.Equal(t, "n", m.Name())
	hold := lock(t, m)
	require.Equal(t, "n", hold.Name())
	require.True(t, strings.HasPrefix(hold.ID(), e.ID()+":"))
	require.Equal(t, map[string]string{hold.ID(): "1"}, s.hash("n"))
	require.Zero(t, hold.Token())
	require.NoError(t, hold.Err())
	require.Greater(t, time.Until(hold.Deadline()), 20*time.Second)
	require.LessOrEqual(t, time.Until(hold.Deadline()), 30*time.Second)
	requireNoReply(t, hold.Done(), 0)
	require.NoError(t, hold.Context().Err())
	unlock(t, hold)
}

func TestAnUnlockedHoldSaysSo(t *testing.T) {
	t.Parallel()
	m := AnyServer(t).open(lockwheel.Options{}).Mutex("n")
	for _, asked := range []bool{false, true} { // before the end, for its channel and context
		hold := lock(t, m)
		var ctx context.Context
		if asked {
			requireNoReply(t, hold.Done(), 0)
			ctx = hold.Context()
			require.Equal(t, ctx, hold.Context())
		}
		unlock(t, hold)
		receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrNotHeld)
		require.NotErrorIs(t, hold.Err(), lockwheel.ErrLost)
		if ctx == nil {
			ctx = hold.Context()
		}
		receive(t, ctx.Done())
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
			unlock(t, hold)
		}, lockwheel.ErrNotHeld, lockwheel.ErrNotHeld},
		"forced": {func(t *testing.T, _ *Server, e *lockwheel.Engine, _ *lockwheel.Hold, _ context.CancelCauseFunc) {
			forceUnlock(t, e.Mutex("n"))
		}, lockwheel.ErrLost, lockwheel.ErrLost},
		"key deleted": {func(t *testing.T, s *Server, _ *lockwheel.Engine, _ *lockwheel.Hold, _ context.CancelCauseFunc) {
			s.do("DEL", "n")
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
			e := s.open(lockwheel.Options{Lease: shortLease})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			hold := lockWith(t, ctx, e.Mutex("n"))
			held := hold.Context()
			done := hold.Done()
			c.end(t, s, e, hold, cancel)
			receive(t, held.Done())
			require.ErrorIs(t, context.Cause(held), c.want)
			if c.hold == nil {
				require.NoError(t, hold.Err())
				unlock(t, hold)
				return
			}
			receive(t, done)
			require.ErrorIs(t, hold.Err(), c.hold)
			require.ErrorContains(t, context.Cause(held), `"n"`)
		})
	}
}

func TestInnerContextsEndWithTheOuterOnes(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.open(lockwheel.Options{})
	m := e.Mutex("n")
	outer := lock(t, m)
	inner := lockWith(t, outer.Context(), m)
	unlock(t, outer)
	receive(t, inner.Context().Done())
	require.ErrorIs(t, context.Cause(inner.Context()), lockwheel.ErrNotHeld)
	require.NoError(t, inner.Err(), "the inner hold itself goes on")
	stateFailed(t, s.open(lockwheel.Options{}).Mutex("n"))
	eventually(t, "the count of one", func() bool { return s.hash("n")[inner.ID()] == "1" })
	unlock(t, inner)
	require.False(t, s.exists("n"))
}

// All holds of an owner are lost together, and each is notified.
func TestEveryHoldOfALostLockIsTold(t *testing.T) {
	t.Parallel()
	m := AnyServer(t).open(lockwheel.Options{}).Mutex("n")
	me := lockwheel.WithOwner(t.Context())
	holds := []*lockwheel.Hold{lockWith(t, me, m), lockWith(t, me, m), lockWith(t, me, m)}
	forceUnlock(t, m)
	for _, hold := range holds {
		receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	}
}

// a hold belongs to no goroutine.
func TestAHoldCanBeUnlockedByAnotherGoroutine(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.open(lockwheel.Options{}).Mutex("n")
	holds := make(chan *lockwheel.Hold)
	go func() {
		hold, _ := m.Lock(t.Context())
		holds <- hold
	}()
	hold := receive(t, holds)
	crowd(t, 8, func(int) error { // one of them is first
		if err := hold.Unlock(t.Context()); err != nil && !errors.Is(err, lockwheel.ErrNotHeld) {
			return err
		}
		return nil
	})
	require.False(t, s.exists("n"))
}

// Done stays the same channel when another goroutine asks for the context.
func TestAHoldHasOneDone(t *testing.T) {
	t.Parallel()
	hold := lock(t, AnyServer(t).open(lockwheel.Options{}).Mutex("n"))
	done := hold.Done()
	ctx := hold.Context()
	require.Equal(t, done, hold.Done())
	require.Equal(t, ctx, hold.Context())
	unlock(t, hold)
	receive(t, done)
}

// Many goroutines may use a hold while it ends.
func TestAHoldCanBeWatchedFromManyGoroutines(t *testing.T) {
	t.Parallel()
	m := AnyServer(t).open(lockwheel.Options{}).Mutex("n")
	for range 20 {
		hold := lock(t, m)
		crowd(t, 9, func(i int) error {
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
