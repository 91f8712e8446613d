package lockwheel

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// The context of a hold ends before its release is sent. A loss that the engine hears of between the two is what Unlock reports.
func TestALossThatIsHeardOfWhileAHoldIsUnlockedIsReported(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	for _, test := range []struct {
		what  string
		again func(t *testing.T, m Mutex) // what becomes of the lock after the loss
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
			hold.leave() // as Unlock does first
			require.ErrorIs(t, context.Cause(ctx), ErrNotHeld)
			_, err = m.ForceUnlock(t.Context())
			require.NoError(t, err)
			test.again(t, m)
			require.ErrorIs(t, hold.change(t.Context(), actor.Unlock, 0, true), ErrLost)
		})
	}
}

// A hold that is unlocked when its lease is over, before the engine has found that, is lost to its context and to Unlock alike.
func TestTheContextOfAHoldThatIsOverWhenItIsUnlockedSaysThatItWasLost(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	over := &Hold{engine: e, name: "a", parent: t.Context()} // its deadline was at the beginning of time
	ctx := over.Context()
	require.ErrorIs(t, over.Unlock(t.Context()), ErrLost)
	require.ErrorIs(t, ctx.Err(), context.Canceled)
	require.ErrorIs(t, context.Cause(ctx), ErrLost)
	require.ErrorIs(t, context.Cause(ctx), errOverdue)
	require.ErrorIs(t, over.Err(), ErrLost)
}

// A grant whose lease is over when its caller is woken is not returned. The lock is released: a renewal that is answered at this moment
// would keep it for nobody.
func TestAHoldThatIsOverWhenItsCallerWakesIsReleased(t *testing.T) {
	t.Parallel()
	e, s := realEngine(t)
	hold, err := e.Mutex("a").Lock(t.Context())
	require.NoError(t, err)
	until := hold.grant.Until()
	same, err := hold.checkedAt(until - 1)
	require.NoError(t, err)
	require.Same(t, hold, same)
	none, err := hold.checkedAt(until)
	require.Nil(t, none)
	require.ErrorIs(t, err, ErrLost)
	require.ErrorIs(t, err, errOverdue)
	requireFree(t, s, "a")
}

// The engine may be closed between the end of a hold's context and the request to release it. That is no second unlock.
func TestAnEngineThatIsClosedWhileAHoldIsUnlockedIsReported(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	first, err := e.Mutex("a").Lock(t.Context())
	require.NoError(t, err)
	second, err := e.Mutex("b").Lock(t.Context())
	require.NoError(t, err)
	ctx := first.Context()
	left := first.leave() // as Unlock does first
	require.ErrorIs(t, context.Cause(ctx), ErrNotHeld)
	require.NoError(t, e.Close())
	err = first.change(t.Context(), actor.Unlock, 0, left)
	require.ErrorIs(t, err, ErrClosed)
	require.NotErrorIs(t, err, ErrNotHeld)
	require.ErrorIs(t, first.Unlock(t.Context()), ErrNotHeld, "a second one")

	// One that the close has ended is no loss, and was not unlocked.
	second.Context()
	require.ErrorIs(t, second.Unlock(t.Context()), ErrClosed)
}
