package actor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/wheel"
)

// A release that was queued twice, so that it leaves sooner, leaves once, also if its tenure is an orphan by then.
func TestOrphan_ReleaseQueuedTwice_LeavesOnce(t *testing.T) {
	timers, err := wheel.New[TimerTarget](time.Millisecond, wheel.Config{})
	require.NoError(t, err)
	fx := NewEffects(Config{ID: "e", Lease: time.Minute, CallTimeout: time.Second}, timers)
	l := NewLock("n", Plain)
	l.addOrphan(time.Second, 7, time.Minute, fx)
	l.releaseOrphans(time.Second, fx)
	require.Len(t, fx.Commands, 1)
	first, second := fx.Commands[0], fx.Commands[0]
	require.True(t, l.TryDispatch(&first))
	require.False(t, l.StillWants(&second))
	require.False(t, l.TryDispatch(&second))
	l.onRequeued(time.Second, &first, fx)
	require.True(t, l.TryDispatch(&second), "the first was not executed")
}
