package lifecycle_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// The end of a program whose context was canceled: Unlock gives up its wait at once, and then Close stops the engine. The
// lock that was unlocked is free when Close returns, and not only when its lease ends.
func TestClose_AfterUnlock_LockIsFree(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	for name, unlock := range map[string]func(*lockwheel.Hold, context.Context){
		"unlock with an ended context": func(h *lockwheel.Hold, ctx context.Context) { h.Unlock(ctx) },
		"unlock without waiting":       func(h *lockwheel.Hold, _ context.Context) { h.UnlockAsync() },
	} {
		for range 30 {
			e := s.Open(lockwheel.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			one := locktest.LockWith(t, ctx, e.Mutex("n"))
			several, err := e.Multi(e.Mutex("a"), e.Mutex("b")).Lock(ctx)
			require.NoError(t, err)
			cancel()
			unlock(several, ctx)
			unlock(one, ctx)
			require.NoError(t, e.Close())
			require.False(t, s.Exists("n"), name)
			require.False(t, s.Exists("a") || s.Exists("b"), "several: "+name)
		}
	}
}

// A grant of LockAsync that was canceled before the close is given back.
func TestClose_AfterCancel_GrantReleased(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	pending := e.Mutex("n").LockAsync(t.Context())
	locktest.Receive(t, pending.Done())
	pending.Cancel()
	require.NoError(t, e.Close())
	require.False(t, s.Exists("n"))
}
