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
