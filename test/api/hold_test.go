package api_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// A hold reports the name, the id, the deadline and the context of its grant.
func TestHold_Properties_OfItsGrant(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	require.NoError(t, uuid.Validate(e.ID()))
	m := e.Mutex("n")
	require.Equal(t, "n", m.Name())
	hold := locktest.Lock(t, m)
	require.Equal(t, "n", hold.Name())
	require.True(t, strings.HasPrefix(hold.ID(), e.ID()+":"))
	require.Equal(t, map[string]string{hold.ID(): "1"}, s.Hash("n"))
	require.Zero(t, hold.Token())
	require.NoError(t, hold.Err())
	require.Greater(t, time.Until(hold.Deadline()), 20*time.Second)
	require.LessOrEqual(t, time.Until(hold.Deadline()), 30*time.Second)
	locktest.RequireNoReply(t, hold.Done(), 0)
	require.NoError(t, hold.Context().Err())
	locktest.Unlock(t, hold)
}

// A hold that finds its end by the clock says why as the engine does a moment later. Its own lease, and
// Options.MaxHold, are no renewal that did not come.
func TestHold_EndFoundByClock_CauseAsTold(t *testing.T) {
	t.Parallel()
	const lease = 10 * time.Millisecond
	s := locktest.AnyServer(t)
	e, limited := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{MaxHold: lease})
	outer := locktest.Lock(t, e.Mutex("r"))
	for name, test := range map[string]struct {
		cause string
		lock  func() *lockwheel.Hold
	}{
		"its own lease": {"its lease ended", func() *lockwheel.Hold {
			return locktest.LockBriefly(t, t.Context(), e.Mutex("n"), lockwheel.Lease(lease))
		}},
		"of an inner hold": {"its lease ended", func() *lockwheel.Hold {
			return locktest.LockBriefly(t, outer.Context(), e.Mutex("r"), lockwheel.Lease(lease))
		}},
		"MaxHold": {"held for Options.MaxHold", func() *lockwheel.Hold {
			return locktest.LockBriefly(t, t.Context(), limited.Mutex("m"))
		}},
	} {
		for i := range 10 {
			hold := test.lock()
			for hold.Err() == nil { // without a pause: so it is quicker than the engine
			}
			found := hold.Err().Error()
			require.Contains(t, found, test.cause, name)
			if i%2 == 0 {
				require.EqualError(t, hold.Unlock(t.Context()), found, name)
				require.EqualError(t, context.Cause(hold.Context()), found, name)
			}
			locktest.Receive(t, hold.Done())
			require.EqualError(t, hold.Err(), found, name)
		}
	}
}

// An unlocked hold has closed Done, ended its context and returns ErrNotHeld, which is no loss.
func TestHold_Unlocked_ErrNotHeld(t *testing.T) {
	t.Parallel()
	m := locktest.AnyServer(t).Open(lockwheel.Options{}).Mutex("n")
	for _, asked := range []bool{false, true} { // before the end, for its channel and context
		hold := locktest.Lock(t, m)
		var ctx context.Context
		if asked {
			locktest.RequireNoReply(t, hold.Done(), 0)
			ctx = hold.Context()
			require.Equal(t, ctx, hold.Context())
		}
		locktest.Unlock(t, hold)
		locktest.Receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrNotHeld)
		require.NotErrorIs(t, hold.Err(), lockwheel.ErrLost)
		if ctx == nil {
			ctx = hold.Context()
		}
		locktest.Receive(t, ctx.Done())
		require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrNotHeld)
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
		require.ErrorIs(t, hold.Extend(t.Context(), time.Minute), lockwheel.ErrNotHeld)
	}
}

// The ways in which a hold can end, and the resulting state of its context, its channel and its error.
func TestHoldContext_Cause_HowHoldEnded(t *testing.T) {
	t.Parallel()
	reason := errors.New("enough")
	for name, c := range map[string]struct {
		end  func(t *testing.T, s *locktest.Server, e *lockwheel.Engine, hold *lockwheel.Hold, cancel context.CancelCauseFunc)
		want error // of the context
		hold error // of the hold; nil: it goes on
	}{
		"unlocked": {func(t *testing.T, _ *locktest.Server, _ *lockwheel.Engine, hold *lockwheel.Hold, _ context.CancelCauseFunc) {
			locktest.Unlock(t, hold)
		}, lockwheel.ErrNotHeld, lockwheel.ErrNotHeld},
		"forced": {func(t *testing.T, _ *locktest.Server, e *lockwheel.Engine, _ *lockwheel.Hold, _ context.CancelCauseFunc) {
			locktest.ForceUnlock(t, e.Mutex("n"))
		}, lockwheel.ErrLost, lockwheel.ErrLost},
		"key deleted": {func(t *testing.T, s *locktest.Server, _ *lockwheel.Engine, _ *lockwheel.Hold, _ context.CancelCauseFunc) {
			s.Do("DEL", "n")
		}, lockwheel.ErrLost, lockwheel.ErrLost},
		"closed": {func(t *testing.T, _ *locktest.Server, e *lockwheel.Engine, _ *lockwheel.Hold, _ context.CancelCauseFunc) {
			require.NoError(t, e.Close())
		}, lockwheel.ErrClosed, lockwheel.ErrClosed},
		"its parent ended": {func(t *testing.T, _ *locktest.Server, _ *lockwheel.Engine, _ *lockwheel.Hold, cancel context.CancelCauseFunc) {
			cancel(reason)
		}, reason, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.AnyServer(t)
			e := s.Open(locktest.ShortLeaseOptions)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			hold := locktest.LockWith(t, ctx, e.Mutex("n"))
			held := hold.Context()
			done := hold.Done()
			c.end(t, s, e, hold, cancel)
			locktest.Receive(t, held.Done())
			require.ErrorIs(t, context.Cause(held), c.want)
			if c.hold == nil {
				require.NoError(t, hold.Err())
				locktest.Unlock(t, hold)
				return
			}
			locktest.Receive(t, done)
			require.ErrorIs(t, hold.Err(), c.hold)
			require.ErrorContains(t, context.Cause(held), `"n"`)
		})
	}
}

// The context of an inner hold ends with the outer hold; the inner hold itself continues.
func TestHoldContext_OuterUnlocked_InnerEnds(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	m := e.Mutex("n")
	outer := locktest.Lock(t, m)
	inner := locktest.LockWith(t, outer.Context(), m)
	locktest.Unlock(t, outer)
	locktest.Receive(t, inner.Context().Done())
	require.ErrorIs(t, context.Cause(inner.Context()), lockwheel.ErrNotHeld)
	require.NoError(t, inner.Err(), "the inner hold itself goes on")
	locktest.StateFailed(t, s.Open(lockwheel.Options{}).Mutex("n"))
	locktest.Eventually(t, "the count of one", func() bool { return s.Hash("n")[inner.ID()] == "1" })
	locktest.Unlock(t, inner)
	require.False(t, s.Exists("n"))
}

// All holds of an owner are lost together, and each is notified.
func TestLostLock_SeveralHolds_AllNotified(t *testing.T) {
	t.Parallel()
	m := locktest.AnyServer(t).Open(lockwheel.Options{}).Mutex("n")
	me := lockwheel.WithOwner(t.Context())
	holds := []*lockwheel.Hold{locktest.LockWith(t, me, m), locktest.LockWith(t, me, m), locktest.LockWith(t, me, m)}
	locktest.ForceUnlock(t, m)
	for _, hold := range holds {
		locktest.Receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	}
}

// a hold belongs to no goroutine.
func TestHold_OtherGoroutine_Unlocks(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(locktest.SlowTimeouts).Mutex("n")
	holds := make(chan *lockwheel.Hold)
	go func() {
		hold, _ := m.Lock(t.Context())
		holds <- hold
	}()
	hold := locktest.Receive(t, holds)
	locktest.Crowd(t, 8, func(int) error { // one of them is first
		if err := hold.Unlock(t.Context()); err != nil && !errors.Is(err, lockwheel.ErrNotHeld) {
			return err
		}
		return nil
	})
	require.False(t, s.Exists("n"))
}

// Done stays the same channel when another goroutine asks for the context.
func TestHold_Done_SameChannel(t *testing.T) {
	t.Parallel()
	hold := locktest.Lock(t, locktest.AnyServer(t).Open(lockwheel.Options{}).Mutex("n"))
	done := hold.Done()
	ctx := hold.Context()
	require.Equal(t, done, hold.Done())
	require.Equal(t, ctx, hold.Context())
	locktest.Unlock(t, hold)
	locktest.Receive(t, done)
}

// Many goroutines may use a hold while it ends.
func TestHold_ManyGoroutines_SeeItsEnd(t *testing.T) {
	t.Parallel()
	m := locktest.AnyServer(t).Open(locktest.SlowTimeouts).Mutex("n")
	for range 20 {
		hold := locktest.Lock(t, m)
		locktest.Crowd(t, 9, func(i int) error {
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
