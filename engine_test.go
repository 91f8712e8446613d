package lockwheel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

func TestMain(m *testing.M) { locktest.RunTests(m) }

// An engine opens, locks, keeps others out, unlocks, and closes. All other tests from outside are in test/.
func TestEngine_LocksAndUnlocks(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	ctx := t.Context()
	engine, err := lockwheel.Dial(ctx, "redis://"+s.Addr)
	require.NoError(t, err)
	hold, err := engine.Mutex("orders:42").Lock(ctx)
	require.NoError(t, err)
	_, err = engine.Mutex("orders:42").TryLock(ctx)
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.NoError(t, hold.Unlock(ctx))
	require.ErrorIs(t, hold.Unlock(ctx), lockwheel.ErrNotHeld)
	again, err := engine.Mutex("orders:42").Lock(ctx, lockwheel.Wait(time.Second))
	require.NoError(t, err)
	require.NoError(t, again.Unlock(ctx))
	require.NoError(t, engine.Shutdown(ctx))
	_, err = engine.Mutex("orders:42").Lock(ctx)
	require.ErrorIs(t, err, lockwheel.ErrClosed)
}
