package wheel

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Code that compares Due with a new deadline must be able to tell an earlier one from the same tick.
func TestDue_IsFiringTick(t *testing.T) {
	o := newOwner(t, 5*ms, Config{})
	o.advance(12 * ms)
	for _, at := range []time.Duration{12*ms + 1, 15 * ms, 16 * ms, 20 * ms, time.Hour + 1, endOfTime} {
		timer := o.after(at-o.now, nothing)
		due := o.Due(timer)
		assert.GreaterOrEqual(t, due, at)
		next, ok := o.Next()
		require.True(t, ok)
		assert.Equal(t, next, due)
		o.Cancel(timer)
	}
	assert.LessOrEqual(t, o.Due(o.after(-1, nothing)), o.now, "overdue")
}

// A timer that FiresBy says to leave where it is fires no later than it would after Schedule; any other would fire
// earlier.
func TestFiresBy_AsSchedule(t *testing.T) {
	const tick = 5 * ms
	for _, start := range startingPoints(tick) {
		o := newOwner(t, tick, Config{})
		o.advance(start)
		for _, first := range delays(tick) {
			if first < 0 || first > endOfTime-start {
				continue
			}
			timer := o.after(first, nothing)
			for _, second := range delays(tick) {
				if second <= 0 || second > endOfTime-start {
					continue
				}
				other := o.after(second, nothing)
				assert.Equal(t, o.Due(timer) <= o.Due(other), o.FiresBy(timer, start+second), "at %d: %d, and %d", start, first, second)
				o.Cancel(other)
			}
			o.Cancel(timer)
		}
	}
}
