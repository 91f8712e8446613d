package lockwheel

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// The context of a hold ends before its release is sent. If the engine notices a loss between the two, Unlock reports
// it.
func TestALossThatIsHeardOfWhileAHoldIsUnlockedIsReported(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	for _, test := range []struct {
		what  string
		again func(t *testing.T, m Mutex) // what happens to the lock after the loss
	}{
		{"its lock has finished", func(*testing.T, Mutex) {}},
		{"its lock is held again", func(t *testing.T, m Mutex) {
			_, err := m.Lock(t.Context())
			require.NoError(t, err)
		}},
	} {
		t.Run(test.what, func(t *testing.T) {
			m := e.Mutex(test.what)
			hold, err := m.Lock(t.Context(), Lease(time.Minute))
			require.NoError(t, err)
			ctx := hold.Context()
			hold.endByUnlock() // as Unlock does first
			require.ErrorIs(t, context.Cause(ctx), ErrNotHeld)
			_, err = m.ForceUnlock(t.Context())
			require.NoError(t, err)
			test.again(t, m)
			require.ErrorIs(t, hold.send(t.Context(), actor.Unlock, 0, true), ErrLost)
		})
	}
}

// A hold is unlocked after its lease has expired, before the engine has noticed that. Its context and Unlock both
// report the loss.
func TestTheContextOfAHoldThatIsOverWhenItIsUnlockedSaysThatItWasLost(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	over := &Hold{engine: e, name: "a", parent: t.Context()} // its deadline is zero
	ctx := over.Context()
	require.ErrorIs(t, over.Unlock(t.Context()), ErrLost)
	require.ErrorIs(t, ctx.Err(), context.Canceled)
	require.ErrorIs(t, context.Cause(ctx), ErrLost)
	require.ErrorIs(t, context.Cause(ctx), errLeaseExpired)
	require.ErrorIs(t, over.Err(), ErrLost)
}

// A grant that has expired when its caller is woken is not returned. The lock is released: otherwise a renewal
// confirmed at this moment would keep it without a holder.
func TestAHoldThatIsOverWhenItsCallerWakesIsReleased(t *testing.T) {
	t.Parallel()
	e, s := realEngine(t)
	hold, err := e.Mutex("a").Lock(t.Context())
	require.NoError(t, err)
	until := hold.grant.Until()
	same, err := hold.orLostAt(until - 1)
	require.NoError(t, err)
	require.Same(t, hold, same)
	none, err := hold.orLostAt(until)
	require.Nil(t, none)
	require.ErrorIs(t, err, ErrLost)
	require.ErrorIs(t, err, errLeaseExpired)
	requireFree(t, s, "a")
}

// The engine may be closed between the end of a hold's context and the request to release it. That is not a second
// unlock.
func TestAnEngineThatIsClosedWhileAHoldIsUnlockedIsReported(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	first, err := e.Mutex("a").Lock(t.Context())
	require.NoError(t, err)
	second, err := e.Mutex("b").Lock(t.Context())
	require.NoError(t, err)
	ctx := first.Context()
	left := first.endByUnlock() // as Unlock does first
	require.ErrorIs(t, context.Cause(ctx), ErrNotHeld)
	require.NoError(t, e.Close())
	err = first.send(t.Context(), actor.Unlock, 0, left)
	require.ErrorIs(t, err, ErrClosed)
	require.NotErrorIs(t, err, ErrNotHeld)
	require.ErrorIs(t, first.Unlock(t.Context()), ErrNotHeld, "a second one")

	// A hold that Close has ended is not lost, and was not unlocked.
	second.Context()
	require.ErrorIs(t, second.Unlock(t.Context()), ErrClosed)
}
