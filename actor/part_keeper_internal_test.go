package actor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/wheel"
)

// A request for several locks waits for all at once for at least as long as to take them one after the other.
func TestOvertaken_ServerFar_LaterByRoundTrips(t *testing.T) {
	for _, c := range []struct {
		locks            int
		roundTrip, after time.Duration
	}{
		{3, 100 * time.Microsecond, minMultiWait},
		{100, 10 * time.Millisecond, time.Second},
		{2, 50 * time.Millisecond, 100 * time.Millisecond},
	} {
		timers, err := wheel.New[TimerTarget](time.Millisecond, wheel.Config{})
		require.NoError(t, err)
		fx := NewEffects(Config{ID: "id", Lease: time.Minute}, timers)
		fx.RoundTrip = c.roundTrip
		r := &Request{Op: Acquire, Multi: &MultiRequest{Parts: make([]Part, c.locks), OvertakenAfter: (&PartKeeper{}).WaitTime()}, Ready: make(chan struct{}, 1)}
		require.False(t, r.rejectOvertaken(c.after-1, fx))
		require.True(t, r.rejectOvertaken(c.after, fx))
		require.ErrorIs(t, r.Err, ErrOvertaken)
	}
}
