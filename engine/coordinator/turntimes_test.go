package coordinator

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A turn is counted in the first bucket with a bound that it does not exceed.
func TestTurnTimesCountByBounds(t *testing.T) {
	var times TurnTimes
	require.Zero(t, times.Quantile(0.5), "no turns yet")
	require.True(t, slices.IsSorted(turnBounds[:]))
	for i := range times {
		bound := times.Bound(i)
		times.note(bound)
		require.EqualValues(t, 1, times[i], bound)
		if i+1 < len(times) {
			times.note(bound + 1)
			require.EqualValues(t, 1, times[i+1])
			times[i+1]--
		}
	}
	require.EqualValues(t, len(times), times.Turns())
	require.Equal(t, time.Duration(math.MaxInt64), times.Quantile(1))
}

func TestTurnTimesQuantileIsTheBoundOfSoManyTurns(t *testing.T) {
	var times TurnTimes
	for range 999 {
		times.note(15 * time.Microsecond)
	}
	times.note(7 * time.Millisecond)
	require.Equal(t, 20*time.Microsecond, times.Quantile(0))
	require.Equal(t, 20*time.Microsecond, times.Quantile(0.5))
	require.Equal(t, 20*time.Microsecond, times.Quantile(0.999))
	require.Equal(t, 10*time.Millisecond, times.Quantile(0.9991))
	require.Equal(t, 10*time.Millisecond, times.Quantile(1))
}
