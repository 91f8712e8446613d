package wheel

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Netty 9710: ticks of 1 ms kept a core busy for nothing.
func TestOwner_Idle_NeverWakes(t *testing.T) {
	o := newOwner(t, 1*ms, Config{})
	_, ok := o.Next()
	assert.False(t, ok, "new")
	timer := o.after(1*s, nothing)
	o.Cancel(timer)
	_, ok = o.Next()
	assert.False(t, ok, "all canceled")
	o.after(1*s, nothing)
	o.sleepUntil(time.Hour)
	assert.Equal(t, 1, o.wakes)
	_, ok = o.Next()
	assert.False(t, ok, "all fired")
}

// As long as no timer is canceled, an owner wakes for timers only: not for ticks, and not to cascade slots.
func TestOwner_EveryWakeFires(t *testing.T) {
	o := newOwner(t, 5*ms, Config{})
	r := rand.New(rand.NewPCG(9, 9))
	for range 10_000 {
		o.after(time.Duration(r.Int64N(int64(s)<<r.IntN(24))), nothing)
	}
	o.sleepUntil(400 * 24 * time.Hour)
	assert.Zero(t, o.Len())
	assert.Zero(t, o.emptyWakes)
	assert.Positive(t, o.wakes)
}

// Trap 4: a canceled timer can leave its slot's bound behind. That wakes the owner too early, once, but never too late.
func TestOwner_EmptyWake_NeedsCancel(t *testing.T) {
	o := newOwner(t, 5*ms, Config{})
	early, late := o.after(60*s, nothing), o.after(60*s+100*ms, nothing)
	checkSameSlot(t, o, early, late)
	require.True(t, o.Cancel(early))
	at, ok := o.Next()
	assert.True(t, ok)
	assert.Equal(t, 60*s, at, "the bound stays")
	o.sleepUntil(60 * s)
	at, ok = o.Next()
	assert.True(t, ok)
	assert.Equal(t, 60*s+100*ms, at, "a look corrects it")
	o.sleepUntil(61 * s)
	assert.Equal(t, Fired, late.State())
	assert.Equal(t, 2, o.wakes)
	assert.Equal(t, 1, o.emptyWakes)

	alone := o.after(time.Hour, nothing)
	o.Cancel(alone)
	_, ok = o.Next()
	assert.False(t, ok, "an empty slot has no bound")

	moved := o.after(60*s, nothing)
	require.NoError(t, o.Schedule(moved, o.now+90*s))
	at, _ = o.Next()
	assert.Equal(t, o.now+90*s, at, "nor has one that was moved out of")
}

// checkSameSlot checks that the two timers of a test are in one slot.
func checkSameSlot(t *testing.T, o *owner, a, b *task) {
	t.Helper()
	require.Same(t, a, b.prev)
	require.Greater(t, slotFor(a.at, o.tick), slotsPerLevel)
}

// Timers beyond the last level wait in one slot, and each fires at its own time.
func TestOwner_FarTimers_WakeOnce(t *testing.T) {
	const year = 365 * 24 * time.Hour
	o := newOwner(t, 1*ms, Config{})
	var fired []time.Duration
	for _, at := range []time.Duration{10 * year, 30 * 24 * time.Hour, year, 10*year + 1, 250 * year, 1 * s} {
		o.after(at, func() { fired = append(fired, o.now) })
	}
	o.sleepUntil(endOfTime)
	assert.Equal(t, []time.Duration{1 * s, 30 * 24 * time.Hour, year, 10 * year, 10*year + 1*ms, 250 * year}, fired)
	assert.Equal(t, len(fired), o.wakes)
}
