package embedded

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

// The server's time keeps up with the clock, however long its steps take.
func TestEmbeddedClock_SlowSteps_KeepsUp(t *testing.T) {
	for _, takes := range []time.Duration{ms / 10, 3 * ms, time.Second} {
		start := time.Unix(1000, 0)
		c := startClock(start)
		now := start
		var behind []time.Duration
		for i := range 100 {
			now = now.Add(c.gap + time.Duration(i%9)*ms) // a timer is a little late
			c.advance(now)
			now = now.Add(takes)
			c.finish(now)
			behind = append(behind, now.Sub(c.server))
		}
		require.Equal(t, behind[10], behind[99], "it loses nothing once it knows how long they take")
		require.Less(t, behind[99], takes*7)
		if takes <= stallTolerance {
			require.Equal(t, takes, behind[99], "only the last step is not counted yet")
		}
	}
}

// A stall between two steps stops the server's time, which does not catch up afterwards.
func TestEmbeddedClock_Stall_Stops(t *testing.T) {
	start := time.Unix(1000, 0)
	c := startClock(start)
	require.Equal(t, minGap+stallTolerance, c.advance(start.Add(time.Hour)))
	require.Equal(t, start.Add(minGap+stallTolerance), c.server)
	require.Equal(t, 3*ms, c.advance(start.Add(time.Hour+3*ms)), "and it does not catch up")
}

// A stall within a step stops the server's time.
func TestEmbeddedClock_StallInStep_Stops(t *testing.T) {
	start := time.Unix(1000, 0)
	c := startClock(start)
	c.advance(start)
	now := start.Add(time.Hour)
	c.finish(now)
	require.Equal(t, 2*stallTolerance+c.gap, c.advance(now.Add(time.Hour)))
}

// The longer a step takes, the longer is the gap to the next one, within bounds.
func TestEmbeddedClock_CostlySteps_Rarer(t *testing.T) {
	for _, step := range []struct{ takes, gap time.Duration }{
		{0, minGap}, {ms / 10, minGap}, {ms, 8 * ms}, {5 * ms, 40 * ms}, {time.Second, maxGap},
	} {
		start := time.Unix(1000, 0)
		c := startClock(start)
		c.advance(start)
		c.finish(start.Add(step.takes))
		require.Equal(t, step.gap, c.gap)
	}
}
